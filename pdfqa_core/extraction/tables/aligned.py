"""Tables without a grid: rows whose cells stand below each other. Geometry and marks only, one region of a page a time.

Rows with values are gathered into runs; strips that stay free in all of them part the columns; the lines above that
name columns become header rows, each cell repeated in every column that it spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from pdfqa_core.extraction.grouping import grouped
from pdfqa_core.extraction.raw_page import PageTable, TableCell, TextLine
from pdfqa_core.extraction.tables.cell_texts import PrintedRow, cell_of
from pdfqa_core.extraction.tables.columns import Columns, find_columns
from pdfqa_core.extraction.tables.found import FoundTable, trimmed
from pdfqa_core.extraction.tables.headers import find_header, header_row
from pdfqa_core.extraction.tables.plausible import is_table
from pdfqa_core.extraction.tables.rulings import Rulings, Stroke
from pdfqa_core.extraction.tables.runs import find_runs, with_parted
from pdfqa_core.extraction.tables.thresholds import DEFAULT, TableThresholds
from pdfqa_core.extraction.text.glyphs import Floats
from pdfqa_core.extraction.text.words import Word


def suggested(lines: Sequence[TextLine]) -> tuple[float, float] | None:
    """Return the heights between which cells stand below each other, with room for what names them; None: nowhere.

    They do where two or more lines of a region, a few lines apart, have cells.
    """
    last: TextLine | None = None
    tops, bottoms = [], []
    for line in lines:
        if line.cells < 2 or line.turn or line.hidden:
            continue
        if last is not None and last.region == line.region and abs(line.baseline - last.baseline) < 8 * line.size:
            tops.append(min(last.top, line.top) - 16 * line.size)
            bottoms.append(max(last.bottom, line.bottom) + 8 * line.size)
        last = line
    return (min(tops), max(bottoms)) if tops else None


def find_aligned(
    lines: Sequence[TextLine], words: Sequence[list[Word]], rulings: Rulings, thresholds: TableThresholds = DEFAULT
) -> list[FoundTable]:
    """Return the tables among `lines`; `words` are those of each line (none: the line is no part of any table)."""
    strokes, fills = rulings.horizontal, np.array(rulings.fills).reshape(-1, 4)
    regions: dict[int, list[PrintedRow]] = {}
    for number, (line, entries) in enumerate(zip(lines, words, strict=True)):
        if entries:
            regions.setdefault(line.region, []).append(PrintedRow((number,), line, entries, thresholds))
    found: list[FoundTable] = []
    taken: set[int] = set()
    for rows in regions.values():
        for only_words in (False, True):  # tables of words are looked for in what tables of numbers leave
            left = [row for row in rows if taken.isdisjoint(row.numbers)]
            for first, last in find_runs(left, thresholds, only_words=only_words):
                above = [row for row in left[:first] if taken.isdisjoint(row.numbers)]
                if len(above) < thresholds.header_lines:
                    others = [r for entries in regions.values() if entries is not rows for r in entries]
                    others = [r for r in others if taken.isdisjoint(r.numbers)]
                    above = with_parted(above, others, left[first : last + 1], thresholds)
                rest = [*above, *left[first:]]
                built = _build(rest, len(above), len(above) + last - first, strokes, fills, thresholds)
                if built is not None:
                    taken.update(built.lines)
                    found.append(built)
    return found


def _build(
    rows: Sequence[PrintedRow],
    first: int,
    last: int,
    strokes: Sequence[Stroke],
    fills: Floats,
    thresholds: TableThresholds,
) -> FoundTable | None:
    """Return the table whose rows with values are among `first` to `last`; those before may name its columns."""
    body = rows[first : last + 1]
    celled = [row for row in body if row.celled]
    columns = find_columns(celled, thresholds)
    if columns.count < 2:
        return None
    header, begin = find_header(rows, first, columns, thresholds)
    if not is_table(celled, columns, len(header), strokes, thresholds):
        return None
    last = _tail(rows, last, columns, fills, thresholds)
    groups = _rows(rows[begin : last + 1], fills, thresholds)
    grid = [header_row(rows, i, header, columns, strokes, thresholds) for i in header]
    grid += [_body_row(group, columns) for group in groups]
    taken = [n for i in header for n in rows[i].numbers] + [n for group in groups for row in group for n in row.numbers]
    return FoundTable(trimmed(PageTable(tuple(map(tuple, grid)), len(header))), tuple(sorted(taken)))


def _tail(rows: Sequence[PrintedRow], last: int, columns: Columns, fills: Floats, thresholds: TableThresholds) -> int:
    """Return the last row, with the rest of its label where that is wrapped."""
    if last + 1 >= len(rows):
        return last
    row, after = rows[last], rows[last + 1]
    if len(after.cells) != 1 or after.cells[0].x1 > columns.separators[0]:
        return last
    distance = after.line.baseline - row.line.baseline
    same = _same_fill(row, after, fills)
    lower = after.cells[0].text[:1].islower() and row.cells[0].x0 <= after.cells[0].x0 + 1
    return last + 1 if same or (same is None and lower and 0 < distance < thresholds.wrapped * row.line.size) else last


def _rows(rows: Sequence[PrintedRow], fills: Floats, thresholds: TableThresholds) -> list[list[PrintedRow]]:
    """Return the lines of the body grouped into rows: wrapped labels and cells go to the line with the values."""
    distances = [b.line.baseline - a.line.baseline for a, b in pairwise(rows)]
    usual = [d for d, a, b in zip(distances, rows, rows[1:], strict=False) if a.celled and b.celled]
    pitch = median(usual or distances or [12.0])
    return grouped(rows, lambda group, row: _one_row(group[-1], row, pitch, fills, thresholds))


def _one_row(above: PrintedRow, below: PrintedRow, pitch: float, fills: Floats, thresholds: TableThresholds) -> bool:
    """Return whether two lines belong to one row of the table; `pitch` is the usual distance of its lines."""
    if above.celled and below.celled and (above.valued or above.years) and (below.valued or below.years):
        return False
    same = _same_fill(above, below, fills)
    if same is not None:
        return same
    distance = below.line.baseline - above.line.baseline
    if distance > thresholds.apart * pitch or above.line.text.endswith(":"):
        return False
    if distance < thresholds.tight * pitch:
        return True
    first = below.cells[0].text
    return not (above.celled and below.celled) and first[:1].islower() and above.line.bold == below.line.bold


def _same_fill(above: PrintedRow, below: PrintedRow, fills: Floats) -> bool | None:
    """Return whether two lines stand on one filled box of a few lines' height; None where there are no such boxes."""
    if not len(fills):
        return None
    x = max(above.cells[0].x0, below.cells[0].x0) + 1
    across = (fills[:, 0] <= x) & (fills[:, 2] >= x) & (fills[:, 3] - fills[:, 1] < 6 * above.line.size)
    high, low = (row.line.baseline - 0.3 * row.line.size for row in (above, below))
    first = across & (fills[:, 1] <= high) & (fills[:, 3] >= high)
    second = across & (fills[:, 1] <= low) & (fills[:, 3] >= low)
    if not first.any() or not second.any():
        return None
    return bool((first & second).any())


def _body_row(group: Sequence[PrintedRow], columns: Columns) -> list[TableCell | None]:
    words: list[list[Word]] = [[] for _ in range(columns.count)]
    for row in group:
        alone = len(row.cells) == 1 and not row.cells[0].value
        for cell in row.cells:
            beside = alone and cell.x0 > columns.separators[0] and len(group) > 1
            words[columns.of(cell) if not alone or beside else 0] += cell.words
    return [cell_of(entries) if entries else None for entries in words]
