"""The text of passages as the page shows it: words of the question marked, Markdown tables as tables.

Nothing else of Markdown is read: links, images and HTML in a document stay the characters that they are. A card that is
folded begins with the place that matters: the quoted sentence or row, else the one that holds most words of the
question; what stands before it is its `lead`, shown when the card is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pdfqa_core.languages import ENGLISH, snowball_stem
from pdfqa_core.text import compared_terms, sentences, terms, words

Marked = tuple[tuple[str, bool], ...]  # a text in runs, each with whether it is marked

_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table; `best`: the one that a folded card shows; `quoted`: an answer cites it."""

    cells: tuple[Marked, ...]
    best: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class PassagePart:
    """A stretch of a passage: `text`, or a table with its `header` (empty: none) and `rows`.

    `lead`: it stands before the place that matters; `quoted`: an answer cites it.
    """

    text: Marked = ()
    header: tuple[Marked, ...] = ()
    rows: tuple[TableRow, ...] = ()
    lead: bool = False
    quoted: bool = False

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return bool(self.header or self.rows)


def marked_words(text: str, question: str, language: str = ENGLISH) -> Marked:
    """Return the text in runs, each with whether it is a content word of the question."""
    wanted = set(compared_terms(question, language))
    parts: list[tuple[str, bool]] = []
    last = 0
    for start, end in words(text):
        if wanted.intersection(_compared(text[start:end], language)):
            if start > last:
                parts.append((text[last:start], False))
            parts.append((text[start:end], True))
            last = end
    if last < len(text):
        parts.append((text[last:], False))
    return tuple(parts)


def passage_parts(text: str, question: str, quote: str = "", language: str = ENGLISH) -> tuple[PassagePart, ...]:
    """Return a passage's text with the question's words and the quote marked and its Markdown tables taken apart."""
    blocks = list(_blocks(text))
    chosen, start, end = _place(blocks, question, quote, language)
    found: list[PassagePart] = []
    for number, (is_table, block) in enumerate(blocks):
        if is_table:
            here = (start, end) if number == chosen else (0, 0)
            found.append(_table(block, question, here, language, quoted=bool(quote)))
        elif number == chosen:
            found += _around(block, start, end, question, language, quoted=bool(quote))
        else:
            found.append(PassagePart(marked_words(block, question, language)))
        if number < chosen:
            found[-1] = replace(found[-1], lead=True)
    return tuple(found)


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the tables and what stands between them, without blank lines around it."""
    for in_table, group in groupby(text.splitlines(), key=lambda line: _ROW.fullmatch(line) is not None):
        if block := "\n".join(group).strip("\n"):
            yield in_table, block


def _compared(word: str, language: str) -> list[str]:
    found = terms(word)
    return found if language == ENGLISH else [snowball_stem(language, term) for term in found]


def _place(blocks: Sequence[tuple[bool, str]], question: str, quote: str, language: str) -> tuple[int, int, int]:
    """Return the block that matters and its part (start, end) that does: the quote, else what answers best."""
    first = next((line for line in quote.splitlines() if line.strip()), "") if quote else ""
    if first:
        for number, (_, block) in enumerate(blocks):
            at = block.find(first)
            if at >= 0:
                end = at + len(quote)
                return number, at, end if block[at:end] == quote else at + len(first)
    wanted = set(compared_terms(question, language))
    best, found = 0, (0, 0, 0)
    for number, (is_table, block) in enumerate(blocks):
        parts = _rows(block) if is_table else sentences(block, language)
        for start, end in parts:
            shared = len(wanted.intersection(_compared(block[start:end], language)))
            if shared > best:
                best, found = shared, (number, start, end)
    return found


def _rows(table: str) -> list[tuple[int, int]]:
    """Return (start, end) of each row below the header."""
    lines = list(re.finditer(r".+", table))
    has_header = len(lines) > 1 and _RULE.fullmatch(lines[1][0]) is not None
    return [line.span() for line in lines[2 if has_header else 0 :]]


def _around(
    block: str, start: int, end: int, question: str, language: str, quoted: bool
) -> Iterator[PassagePart]:  # fmt: skip
    if before := block[:start]:
        yield PassagePart(marked_words(before, question, language), lead=True)
    if part := block[start:end]:
        yield PassagePart(marked_words(part, question, language), quoted=quoted)
    if after := block[end:]:
        yield PassagePart(marked_words(after, question, language))


def _table(block: str, question: str, part: tuple[int, int], language: str, quoted: bool) -> PassagePart:
    lines = [(m[0], m.start()) for m in re.finditer(r".+", block)]
    has_header = len(lines) > 1 and _RULE.fullmatch(lines[1][0]) is not None
    rows = [
        TableRow(_cells(line, question, language), part[0] <= at < part[1], quoted and part[0] <= at < part[1])
        for line, at in lines
        if not _RULE.fullmatch(line)
    ]
    header = rows[0].cells if has_header and rows else ()
    body = rows[1:] if header else rows
    if body and not any(row.best for row in body):
        body[0] = replace(body[0], best=True)
    return PassagePart(header=header, rows=tuple(body))


def _cells(line: str, question: str, language: str) -> tuple[Marked, ...]:
    cells = _BAR.split(line.strip())[1:-1]
    return tuple(marked_words(cell.strip().replace("\\|", "|"), question, language) for cell in cells)
