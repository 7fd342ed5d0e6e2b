"""The tables with ruled lines that pdfplumber finds on a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pdfqa_core.extraction.pdfplumber.sheet import MeasuredChar
from pdfqa_core.extraction.pdfplumber.text_lines import plain
from pdfqa_core.extraction.pdfplumber.thresholds import PdfplumberThresholds
from pdfqa_core.extraction.raw_page import PageTable, TableCell, TextLine, enclosing
from pdfqa_core.extraction.tables.found import trimmed


@dataclass(slots=True)
class RuledTable:
    """A table as a line that stands for it, and the characters in its cells."""

    line: TextLine
    chars: list[MeasuredChar]


def find_tables(page: Any, chars: Sequence[MeasuredChar], thresholds: PdfplumberThresholds) -> list[RuledTable]:
    """Return pdfplumber's tables with the visible, level text in their cells; a box around text is no table."""
    if not 8 <= len(page.edges) <= thresholds.most_edges:
        return []
    free = [c for c in chars if not c.hidden and c.turn == 0]
    found = []
    for table in page.find_tables():
        entry = _ruled_table([row.cells for row in table.rows], _within(free, table.bbox), thresholds.word_gap)
        if entry is not None:
            taken = {id(c) for c in entry.chars}
            free = [c for c in free if id(c) not in taken]
            found.append(entry)
    return found


def _within(chars: Iterable[MeasuredChar], box: Sequence[float]) -> list[MeasuredChar]:
    """Return the characters with their middle in `box` (in pdfplumber's coordinates)."""
    x0, top, x1, bottom = box
    return [
        c
        for c in chars
        if x0 <= (c.raw["x0"] + c.raw["x1"]) / 2 < x1 and top <= (c.raw["top"] + c.raw["bottom"]) / 2 < bottom
    ]


def _ruled_table(
    rows: Sequence[Sequence[Sequence[float] | None]], chars: list[MeasuredChar], word_gap: float
) -> RuledTable | None:
    from pdfplumber.utils.text import extract_text

    taken: list[MeasuredChar] = []
    cells: list[tuple[TableCell | None, ...]] = []
    for row in rows:
        boxes = [box for box in row if box is not None]
        reach = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
        near = _within(chars, reach)
        found: list[TableCell | None] = []
        for box in row:
            members = _within(near, box) if box is not None else []
            text = plain(extract_text([c.raw for c in members], x_tolerance_ratio=word_gap)) if members else ""
            inked = [c.box for c in members if not c.blank]
            found.append(TableCell(text, enclosing(inked)) if text and inked else None)
            taken += members
        cells.append(tuple(found))
    table = PageTable(trimmed(PageTable(tuple(cells))).rows)
    if len(table.rows) < 2 or len(table.rows[0]) < 2:
        return None
    box = enclosing(cell.box for row in table.rows for cell in row if cell is not None)
    size = sorted(c.size for c in taken)[len(taken) // 2]
    return RuledTable(TextLine.of_table(table, box, min(c.v for c in taken), size), taken)
