"""The rows that name the columns of a table without a grid, and how many columns each name stands above."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.extraction.raw_page import TableCell
from pdfqa_core.extraction.tables.cell_texts import LEADER, CellText, PrintedRow, cell_of, cell_texts
from pdfqa_core.extraction.tables.columns import Columns
from pdfqa_core.extraction.tables.rulings import Stroke
from pdfqa_core.extraction.tables.thresholds import TableThresholds
from pdfqa_core.extraction.text.words import Word


def find_header(
    rows: Sequence[PrintedRow], first: int, columns: Columns, thresholds: TableThresholds
) -> tuple[list[int], int]:
    """Return the rows that name the columns above row `first`, and the first row of the body (a label may precede)."""
    left, border = columns.extents[0][0], columns.separators[0]
    header: list[int] = []
    labels: list[int] = []  # since the last name of a column: they count if another name stands above them
    for i in range(first - 1, max(-1, first - thresholds.header_lines - 4), -1):
        row = rows[i]
        distance = rows[i + 1].line.baseline - row.line.baseline
        near = (thresholds.header_near if header else thresholds.near) * max(row.line.size, rows[i + 1].line.size)
        if not 0 < distance < near or LEADER.search(row.line.text):
            break
        if any(c.value and not c.year for c in row.cells) and not row.line.bold:
            break
        if _names_columns(row, border):
            header = [i, *(labels if header else []), *header]
            labels = []
        elif len(labels) < 4 and _labels_rows(row, distance, left, border, thresholds, below_names=bool(header)):
            labels = [i, *labels]
        else:
            break
    if not header:
        begin = first
        while begin > 0 and _opens(rows[:begin], rows[begin], left, border):
            begin -= 1
        return [], begin
    header = header[-thresholds.header_lines :]
    bold = rows[first].line.bold
    while len(header) > 1 and rows[header[0]].line.bold != bold == rows[header[-1]].line.bold:
        if len(rows[header[-1]].cells) < columns.count or rows[header[-1]].years:
            break
        header.pop()  # set as the body is, and another row names the columns
    return header, max(header) + 1


def _names_columns(row: PrintedRow, border: float) -> bool:
    """Return whether a line holds names of columns: beside the column of labels, or with a cell in it and others."""
    first = row.cells[0]
    if first.x0 > border - 0.5 * row.line.size:
        return True
    return len(row.cells) > 1 and first.x1 < border + row.line.size


def _labels_rows(
    row: PrintedRow, distance: float, left: float, border: float, thresholds: TableThresholds, *, below_names: bool
) -> bool:
    """Return whether a line between the names of columns and the first value, or beside such names, is a label."""
    cell, em = row.cells[0], row.line.size
    if len(row.cells) > 1:
        return False
    if below_names:
        return distance <= thresholds.wrapped * em and cell.x1 <= border + em
    if abs(cell.x0 - left) <= 3 * em or cell.x1 <= border + em:
        return True
    return row.line.bold and len(cell.text) < thresholds.longest_cell  # centred above the rows


def _opens(above: Sequence[PrintedRow], below: PrintedRow, left: float, border: float) -> bool:
    """Return whether the last line above a table without header is the label of its first rows."""
    row = above[-1]
    cell = row.cells[0]
    if len(above) > 1 and 0 < row.line.baseline - above[-2].line.baseline < 1.4 * row.line.size:
        return False  # the end of a paragraph
    return (
        len(row.cells) == 1
        and cell.text.endswith(":")
        and abs(cell.x0 - left) < 1.5 * row.line.size
        and cell.x1 < border
        and 0 < below.line.baseline - row.line.baseline < 1.8 * row.line.size
    )


def header_row(
    rows: Sequence[PrintedRow],
    number: int,
    header: Sequence[int],
    columns: Columns,
    strokes: Sequence[Stroke],
    thresholds: TableThresholds,
) -> list[TableCell | None]:
    """Return a header row with each cell repeated in the columns that it spans."""
    row = rows[number]
    cells = cell_texts(row.words, thresholds.header_gap)
    spans = [_span(cell, row, cells, columns, strokes) for cell in cells]
    if number != max(header):
        below = [c for i in header if i > number for c in cell_texts(rows[i].words, thresholds.header_gap)]
        named = {columns.of(cell) for cell in below}
        spans = [
            _widened(cell, span, spans, columns, named, row.line.size, thresholds)
            for cell, span in zip(cells, spans, strict=True)
        ]
    words: list[list[Word]] = [[] for _ in range(columns.count)]
    for cell, (first, last) in zip(cells, spans, strict=True):
        for column in range(first, last + 1):
            words[column] += cell.words
    return [cell_of(entries) if entries else None for entries in words]


def _span(
    cell: CellText, row: PrintedRow, cells: Sequence[CellText], columns: Columns, strokes: Sequence[Stroke]
) -> tuple[int, int]:
    """Return the first and last column that a name stands above, by the rule below it or by its own width."""
    em = row.line.size
    x0, x1 = cell.x0, cell.x1
    for stroke in strokes:
        if not row.line.baseline < stroke.place < row.line.baseline + em:
            continue
        alone = not any(c is not cell and c.x1 > stroke.start and c.x0 < stroke.end for c in cells)
        if alone and stroke.start < x0 + 2 and stroke.end > x1 - 2:
            x0, x1 = min(x0, stroke.start), max(x1, stroke.end)
            break
    own = columns.of(cell)
    held = [i for i, (a, b) in enumerate(columns.extents) if i and x0 - 1 <= (a + b) / 2 <= x1 + 1]
    return (min([own, *held]), max([own, *held])) if own else (0, 0)


def _widened(
    cell: CellText,
    span: tuple[int, int],
    spans: Sequence[tuple[int, int]],
    columns: Columns,
    named: set[int],
    em: float,
    thresholds: TableThresholds,
) -> tuple[int, int]:
    """Return the span, wider where the name is centred above more columns, each of which has a name of its own."""
    if span[0] == 0:
        return span
    low = max((b + 1 for a, b in spans if b < span[0]), default=1)
    high = min((a - 1 for a, b in spans if a > span[1]), default=columns.count - 1)
    best, error = span, abs(columns.mid(*span) - cell.middle)
    if error < em:
        return span
    for first in range(max(1, low), span[0] + 1):
        for last in range(span[1], high + 1):
            off = abs(columns.mid(first, last) - cell.middle)
            if off < error - thresholds.centred * em and named.issuperset(range(first, last + 1)):
                best, error = (first, last), off
    return best
