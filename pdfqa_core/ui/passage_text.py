"""The text of passages as the page shows it: words of the question marked, Markdown tables as tables.

Nothing else of Markdown is read: links, images and HTML in a document stay the characters that they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pdfqa_core.text import content_terms, terms, words

Marked = tuple[tuple[str, bool], ...]  # pieces of a text, each with whether it is marked

_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a passage: `text`, or a table with its `header` (empty: none) and `rows` of cells."""

    text: Marked = ()
    header: tuple[Marked, ...] = ()
    rows: tuple[tuple[Marked, ...], ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return bool(self.header or self.rows)


def marked_words(text: str, question: str) -> Marked:
    """Return the text in pieces, each with whether it is a content word of the question."""
    wanted = set(content_terms(question))
    parts: list[tuple[str, bool]] = []
    last = 0
    for start, end in words(text):
        if wanted.intersection(terms(text[start:end])):
            if start > last:
                parts.append((text[last:start], False))
            parts.append((text[start:end], True))
            last = end
    if last < len(text):
        parts.append((text[last:], False))
    return tuple(parts)


def pieces(text: str, question: str) -> tuple[Piece, ...]:
    """Return a passage's text with the question's words marked and its Markdown tables taken apart."""
    return tuple(_pieces(text.splitlines(), question))


def _pieces(lines: Sequence[str], question: str) -> Iterator[Piece]:
    for in_table, group in groupby(lines, key=lambda line: _ROW.fullmatch(line) is not None):
        run = list(group)
        if in_table:
            yield _table(run, question)
        elif text := "\n".join(run).strip("\n"):
            yield Piece(marked_words(text, question))


def _table(lines: Sequence[str], question: str) -> Piece:
    has_header = len(lines) > 1 and _RULE.fullmatch(lines[1]) is not None
    rows = [_cells(line, question) for line in lines if not _RULE.fullmatch(line)]
    return Piece(header=rows[0], rows=tuple(rows[1:])) if has_header and rows else Piece(rows=tuple(rows))


def _cells(line: str, question: str) -> tuple[Marked, ...]:
    cells = _BAR.split(line.strip())[1:-1]
    return tuple(marked_words(cell.strip().replace("\\|", "|"), question) for cell in cells)
