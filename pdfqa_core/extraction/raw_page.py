"""What a strategy finds on a page before its layout is known: printed lines, tables, and facts about the page.

Knows nothing about PDFs: every part of extraction hands these to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pdfqa_core.types import BlockKind, Box, Page

# ----------------------------------------------------------------------------------------------------
# Neighbours put together: things that follow each other, and stretches that overlap. Knows nothing about pages.

T = TypeVar("T")
N = TypeVar("N", int, float)


def grouped(items: Iterable[T], joins: Callable[[list[T], T], bool]) -> list[list[T]]:
    """Return the items in their order, parted into groups: each `joins` the group before it or begins the next one."""
    groups: list[list[T]] = []
    for item in items:
        if groups and joins(groups[-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def merged(stretches: Iterable[tuple[N, N]], gap: float = 0.0) -> list[tuple[N, N]]:
    """Return what stretches (first, last) cover, ascending; those no more than `gap` apart are one."""
    found: list[tuple[N, N]] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + gap:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


# ----------------------------------------------------------------------------------------------------
# What a strategy finds on a page before its layout is known: printed lines, tables, and facts about the page.

ASCENT, DESCENT = 0.76, 0.22  # of the font size: how far a line's box reaches from its baseline
_LETTER = (612.0, 792.0)  # points

# How the warning of a page without text ends, by what is known of it.
IS_PICTURE = " has no text: it is a picture."
IS_EMPTY = " has no text: it is empty."
HIDDEN = " has hidden text, which is left out of answers"
OCR_FOUND_NOTHING = " has no text that OCR can find: it is a picture."


def to_text_frame(box: Iterable[Any], x: Any, y: Any, turn: int, width: float, height: float) -> tuple[Any, Any, Any]:
    """Return u0, u1 and the baseline's v of characters in the frame of text turned by `turn` clockwise quarters.

    On the page (width × height points) they have a `box` (x0, top, x1, bottom), and x, y lies on their baseline.
    Numbers, or arrays of one length. In the frame u runs along the reading direction, v down the lines.
    """
    x0, top, x1, bottom = box
    return (
        (x0, x1, y),
        (top, bottom, width - x),
        (width - x1, width - x0, height - y),
        (height - bottom, height - top, x),
    )[turn]


def from_text_frame(box: Box, turn: int, width: float, height: float) -> Box:
    """Return the box on the page (width × height points) of a box (u0, v0, u1, v1) in the frame of turned text."""
    if not turn:
        return box
    u0, v0, u1, v1 = box
    return (
        box,
        Box(width - v1, u0, width - v0, u1),
        Box(width - u1, height - v1, width - u0, height - v0),
        Box(v0, height - u1, v1, height - u0),
    )[turn]


def enclosing(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that holds all of these."""
    x0, top, x1, bottom = zip(*boxes, strict=True)
    return Box(min(x0), min(top), max(x1), max(bottom))


@dataclass(frozen=True, slots=True)
class TableCell:
    """The text of a cell and the box (points on the shown page) of what is printed in it."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class PageTable:
    """Rows of equal length; None is an empty cell. The first `header_rows` rows name the columns."""

    rows: tuple[tuple[TableCell | None, ...], ...]
    header_rows: int = 1

    @property
    def characters(self) -> int:
        """How many characters its cells hold."""
        return sum(len(cell.text) for row in self.rows for cell in row if cell is not None)

    def markdown(self) -> tuple[str, tuple[tuple[int, int, Box], ...]]:
        """Return the table as Markdown, and where each cell stands in it: (start, end, box), ascending.

        The header rows become one row, as Markdown has only one; line breaks in cells become spaces, and a bar is
        escaped.
        """
        parts: list[str] = []
        places: list[tuple[int, int, Box]] = []
        length = 0

        def put(text: str) -> None:
            nonlocal length
            parts.append(text)
            length += len(text)

        columns = max((len(row) for row in self.rows), default=0)
        header, body = self.rows[: self.header_rows], self.rows[self.header_rows :]
        stacked = [[row[column] for row in header] for column in range(columns)]
        for number, cells in enumerate([stacked, *([[cell] for cell in row] for row in body)]):
            if number:
                put("\n")
            put("|")
            for column in cells:
                put(" ")
                for cell in column:
                    if cell is None or not cell.text:
                        continue
                    text = " ".join(cell.text.split()).replace("|", "\\|")
                    places.append((length, length + len(text), cell.box))
                    put(text + " ")
                put("|")
            if number == 0:
                put("\n|" + " --- |" * columns)
        return "".join(parts), tuple(places)


@dataclass(slots=True)
class TextLine:
    """One printed line in the frame of its text; `cells` counts the stretches that wide gaps part.

    `kind` is set where the extractor knows what the line belongs to (a layout model does); lines of different kinds are
    never one block. A line with a `table` stands for the whole table, which is read at its place; its text is empty.
    Lines of one `stack` (not 0; a formula or the labels of a figure) are one block, read as they were written.
    """

    text: str
    u0: float
    u1: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    cells: int
    first_word: float
    turn: int = 0
    region: int = 0
    hidden: bool = False
    kind: BlockKind | None = None
    table: PageTable | None = None
    stack: int = 0

    @classmethod
    def of_table(cls, table: PageTable, box: Box, baseline: float, size: float, region: int = 0) -> TextLine:
        """Return the line that stands for a level table; `baseline` and `size` are those of its first line."""
        x0, top, x1, bottom = box
        return cls("", x0, x1, top, bottom, baseline, size, False, 1, 0.0, region=region, table=table)


def page_warnings(
    number: int, lines: Sequence[TextLine], reasons: Sequence[str], also: Sequence[str] = (), *, drawn: bool
) -> tuple[str, ...]:
    """Return the warnings of a page: hidden text with the `reasons`, those `also` given, that it has no text.

    `drawn`: there is something on the page, so that one without text is a picture.
    """
    hidden = [f"Page {number}{HIDDEN}: {', '.join(reasons)}."] if reasons else []
    nothing = f"Page {number}{IS_PICTURE if drawn else IS_EMPTY}"
    return (*hidden, *also, *([nothing] if all(line.hidden for line in lines) else []))


@dataclass(frozen=True, slots=True)
class RawPage:
    """The lines of one page in reading order; `facts` is the page with all that is known of it but its text."""

    facts: Page
    lines: list[TextLine]

    @classmethod
    def damaged(cls, document_id: str, number: int, label: str = "", warning: str = "") -> RawPage:
        """Return a page that cannot be read, as large as a letter, with the warning that says so."""
        warning = warning or f"Page {number} is damaged and could not be read."
        return cls(Page(document_id, number, label or str(number), *_LETTER, "", warnings=(warning,)), [])

    @property
    def characters(self) -> int:
        """How many characters were read."""
        return sum(len(line.text) + (line.table.characters if line.table else 0) for line in self.lines)
