"""The pages of a PDF as they were read, as a file: Markdown, JSON with places, or plain text.

Words that a reader of the page cannot see are in none of the texts; running headers, footers and page numbers are left
out of Markdown and plain text. In Markdown no words of a PDF turn into a link, a picture or HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pdfqa_core.types import READABLE, Block, BlockKind, Box, Page

PAGE_BREAK = "\f"
_BORDER = re.compile(r"(?<!\\)\|")
_DASHES = re.compile(r"\|(?:\s*-{3,}\s*\|)+\s*")
_BULLET = re.compile(r"^[•◦▪▫‣●○■□·∙*–—-]\s+")
_NUMBERED = re.compile(r"^(\d{1,9}[.)])\s+(?=\S)")
# What CommonMark (with tables and strikethrough) reads as more than itself, where it stands in a line.
_SPECIAL = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|[*`~|]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
)
_ESCAPED = r"\\\g<0>"
_BAR_APART = re.compile(r"(?<!\\)\\\|")
_LINE_START = re.compile(
    r"^\s*(?:(\d{1,9})(?=[.)](?:\s|$))|(?=#{1,6}(?:\s|$)|[+-](?:\s|$)|>|=+\s*$|-[\s-]*$))"
)  # of a heading, a list item, a quotation, a rule
_CLOSING = re.compile(r"(?<=\s)#+$")  # of a heading, which Markdown leaves out


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A PDF as it was read: its name, how reading went, and those of its pages that are wanted."""

    filename: str
    title: str
    authors: str
    extractor: str
    state: str
    reason: str
    page_count: int
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table; one that is empty has no box."""

    text: str
    box: Box | None


# ------------------------------------------------------------------ Markdown


def markdown(read: ReadFile) -> bytes:
    """Return the pages as Markdown in UTF-8, each behind a comment with its number: "<!-- page 3 -->".

    Headings, list items and tables are marked up as such.
    """
    parts = []
    for page in read.pages:
        parts.append(f"<!-- {_page_words(page)} -->\n")
        before = None
        for block in (block for block in page.blocks if block.kind in READABLE):
            tight = before is BlockKind.LIST is block.kind
            parts.append(("" if tight else "\n") + _markdown_block(page, block) + "\n")
            before = block.kind
        parts.append("\n")
    return _utf8("".join(parts).rstrip("\n") + "\n")


def _page_words(page: Page) -> str:
    printed = re.sub(r"[^\w. ]+", " ", page.label).strip()
    return f"page {page.number}" + (f", printed as {printed}" if printed not in ("", str(page.number)) else "")


def _markdown_block(page: Page, block: Block) -> str:
    text = page.text[block.start : block.end]
    if block.kind is BlockKind.TABLE and (rows := table_cells(page, block)):
        lines = [[_SPECIAL.sub(_ESCAPED, cell.text) for cell in row] for row in rows]
        lines.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    text = " ".join(text.split()) if block.kind is not BlockKind.TABLE else text
    if block.kind is BlockKind.HEADING:
        words = _CLOSING.sub(_ESCAPED, _SPECIAL.sub(_ESCAPED, text))
        return f"{'#' * min(6, max(1, block.level))} {words}"
    if block.kind is BlockKind.LIST:
        number = _NUMBERED.match(text)
        rest = text[number.end() :] if number else _BULLET.sub("", text)
        return f"{number[1] if number else '-'} {plain_words(rest)}"
    return "  \n".join(map(plain_words, text.splitlines()))


def plain_words(line: str) -> str:
    """Return one line of text so that Markdown (CommonMark, tables, strikethrough) shows exactly its characters."""
    return _LINE_START.sub(r"\1\\", _SPECIAL.sub(_ESCAPED, line))


# ------------------------------------------------------------------ plain text


def plain_text(read: ReadFile) -> bytes:
    """Return the pages in reading order in UTF-8, form feeds between them.

    Blocks are parted by a blank line, the cells of a table by tabs.
    """
    return _utf8(PAGE_BREAK.join("\n\n".join(_texts(page)) + "\n" for page in read.pages))


def _texts(page: Page) -> Iterator[str]:
    for block in page.blocks:
        if block.kind is BlockKind.TABLE and (rows := table_cells(page, block)):
            yield "\n".join("\t".join(cell.text for cell in row).rstrip("\t") for row in rows)
        elif block.kind in READABLE:
            yield page.text[block.start : block.end].replace(PAGE_BREAK, " ")


# ------------------------------------------------------------------ JSON


def document_json(read: ReadFile) -> bytes:
    """Return what `document` does as indented JSON in UTF-8."""
    return _utf8(json.dumps(document(read), ensure_ascii=False, indent=1) + "\n")


def document(read: ReadFile) -> dict[str, Any]:
    """Return the file with its pages as JSON's own types; boxes are [x0, top, x1, bottom] in points."""
    facts = {name: getattr(read, name) for name in ReadFile.__slots__ if name != "pages"}
    return {**facts, "pages": [_page(page) for page in read.pages]}


def _page(page: Page) -> dict[str, Any]:
    hidden = [(page.text[b.start : b.end], _around(page, b)) for b in page.blocks if b.kind is BlockKind.HIDDEN]
    seen = _without_hidden(page)
    blocks = [(block, seen.text[block.start : block.end]) for block in seen.blocks]
    return {
        "number": page.number,
        "label": page.label,
        "width": page.width,
        "height": page.height,
        "source": page.source,
        "confidence": page.confidence,
        "warnings": list(page.warnings),
        "text": seen.text,
        "lines": [
            {"text": seen.text[line.start : line.end], "start": line.start, "end": line.end, "box": list(line.box)}
            for line in seen.lines
        ],
        "blocks": [
            {"kind": block.kind.value, "start": block.start, "end": block.end, "box": _around(seen, block)}
            for block, _ in blocks
        ],
        "headings": [
            {"text": " ".join(text.split()), "level": block.level, "box": _around(seen, block)}
            for block, text in blocks
            if block.kind is BlockKind.HEADING
        ],
        "tables": [
            {
                "start": block.start,
                "end": block.end,
                "box": _around(seen, block),
                "rows": [
                    [{"text": cell.text, "box": list(cell.box) if cell.box else None} for cell in row]
                    for row in table_cells(seen, block)
                ],
            }
            for block, _ in blocks
            if block.kind is BlockKind.TABLE
        ],
        "hidden": [{"text": text, "box": box} for text, box in hidden],
    }


def _without_hidden(page: Page) -> Page:
    """Return the page with the text that can be seen alone, lines and blocks moved along."""
    parts: list[str] = []
    lines, blocks, length = [], [], 0
    for block in (block for block in page.blocks if block.kind is not BlockKind.HIDDEN):
        if parts:
            parts.append("\n\n")
            length += 2
        by = length - block.start
        lines += [
            replace(line, start=line.start + by, end=line.end + by)
            for line in page.lines
            if block.start <= line.start and line.end <= block.end
        ]
        blocks.append(replace(block, start=length, end=block.end + by))
        parts.append(page.text[block.start : block.end])
        length += block.end - block.start
    return replace(page, text="".join(parts), lines=tuple(lines), blocks=tuple(blocks))


def _around(page: Page, block: Block) -> list[float] | None:
    box = _enclosing(page.boxes(block.start, block.end))
    return None if box is None else list(box)


def _enclosing(boxes: Sequence[Box]) -> Box | None:
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return Box(min(left), min(top), max(right), max(bottom))


# ------------------------------------------------------------------ tables


def table_cells(page: Page, block: Block) -> list[list[TableCell]]:
    """Return the rows of a table block, the names of its columns first; empty where it is not written as a table."""
    rows, start = [], block.start
    for line in page.text[block.start : block.end].split("\n"):
        borders = [start + match.start() for match in _BORDER.finditer(line)]
        if len(borders) < 2:
            return []
        if _DASHES.fullmatch(line) is None:
            rows.append([_cell(page, first + 1, last) for first, last in pairwise(borders)])
        start += len(line) + 1
    return rows


def _cell(page: Page, start: int, end: int) -> TableCell:
    text = " ".join(_BAR_APART.sub("|", page.text[start:end]).split())
    return TableCell(text, _enclosing([line.box for line in page.lines if start <= line.start and line.end <= end]))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


WRITERS: Mapping[str, Callable[[ReadFile], bytes]] = {"markdown": markdown, "json": document_json, "txt": plain_text}
