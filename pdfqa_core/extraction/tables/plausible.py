"""Whether rows that stand below each other are a table, and not formulas, an axis or a table of contents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from pdfqa_core.extraction.tables.cell_texts import EQUATION, CellText, PrintedRow
from pdfqa_core.extraction.tables.columns import Columns
from pdfqa_core.extraction.tables.rulings import Stroke
from pdfqa_core.extraction.tables.thresholds import TableThresholds


def is_table(
    rows: Sequence[PrintedRow], columns: Columns, headers: int, strokes: Sequence[Stroke], thresholds: TableThresholds
) -> bool:
    """Return whether the rows with cells are a table, and not formulas, an axis or a table of contents."""
    if columns.count < 2 or len(rows) < (2 if headers else 3):
        return False
    em = median(row.line.size for row in rows)
    cells = columns.parted(rows)
    valued = [
        entries
        for entries in cells[1:]
        if sum(c.value for c in entries) > thresholds.valued * len(entries)
        and len(entries) >= 2
        and _below(entries, em, thresholds)
    ]
    if not valued:
        return _words_below(rows, cells, em, thresholds)
    if len(valued) == 1 and not _one_column_of_values(valued[0], cells):
        return False
    labels = [row.cells[0] for row in rows]
    if _running_text(labels, em, thresholds):
        return False
    named = sum(any(map(str.isalpha, c.text)) or c.year for c in labels)
    if named >= 0.5 * len(labels):
        return sum(map(str.isalpha, "".join(c.text for c in labels))) >= 2 * named or any(c.year for c in labels)
    return headers > 0 and _ruled(rows, columns, strokes)


def _running_text(labels: Sequence[CellText], em: float, thresholds: TableThresholds) -> bool:
    """Return whether labels fill their column line by line: a column of text that stands beside a table."""
    left, right = min(c.x0 for c in labels), max(c.x1 for c in labels)
    full = sum(c.x1 - c.x0 > thresholds.running_text * (right - left) for c in labels)
    return len(labels) >= 4 and right - left > thresholds.text_width * em and full >= 0.8 * len(labels)


def _words_below(
    rows: Sequence[PrintedRow], cells: Sequence[Sequence[CellText]], em: float, thresholds: TableThresholds
) -> bool:
    """Return whether rows without values are a table: three or more columns, most rows full, all columns aligned."""
    full = sum(len(row.cells) == len(cells) for row in rows)
    aligned = sum(_below(entries, em, thresholds) for entries in cells)
    return len(cells) >= 3 and full >= 3 and full > thresholds.full * len(rows) and aligned >= len(cells) - 1


def _one_column_of_values(values: Sequence[CellText], cells: Sequence[Sequence[CellText]]) -> bool:
    """Return whether the only column of values is one of a table: no page numbers, no numbers of formulas."""
    if _is_contents(values) or all(EQUATION.match(c.text) for c in values):
        return False
    return len(cells) > 2 or (len(values) >= 3 and sum(c.value for c in cells[1]) >= 0.5 * len(cells[1]))


def _below(entries: Sequence[CellText], em: float, thresholds: TableThresholds) -> bool:
    """Return whether most cells share an edge or their middle."""
    edges = ([c.x1 for c in entries], [c.edge for c in entries], [c.x0 for c in entries], [c.middle for c in entries])
    for places in edges:
        usual = median(places)
        if sum(abs(place - usual) < thresholds.aligned * em for place in places) >= thresholds.below * len(places):
            return True
    return False


def _is_contents(entries: Sequence[CellText]) -> bool:
    """Return whether the values are page numbers: plain, small, never falling."""
    if len(entries) < 3 or not all(c.text.isdigit() and len(c.text) <= 3 for c in entries):
        return False
    return all(int(a.text) <= int(b.text) for a, b in pairwise(entries))


def _ruled(rows: Sequence[PrintedRow], columns: Columns, strokes: Sequence[Stroke]) -> bool:
    """Return whether rules as wide as the table part its rows, and none runs through one (as on a chart)."""
    left, right = columns.extents[0][0], columns.extents[-1][1]
    top, bottom = rows[0].line.top, rows[-1].line.bottom
    wide = [s.place for s in strokes if s.start < left + 4 and s.end > right - 4 and top - 40 < s.place < bottom + 12]
    through = [y for y in wide if any(r.line.top + 0.2 * r.line.size < y < r.line.baseline - 1 for r in rows)]
    return len(wide) >= 2 and not through
