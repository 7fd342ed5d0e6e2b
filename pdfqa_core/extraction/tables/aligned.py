"""Tables without a grid: rows whose cells stand below each other. Geometry and marks only, one region of a page a time.

Rows with values are gathered into runs; strips that stay free in all of them part the columns; the lines above that
name columns become header rows, each cell repeated in every column that it spans.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from pdfqa_core.extraction.raw_page import PageTable, TableCell, TextLine, grouped
from pdfqa_core.extraction.tables.found import (
    DEFAULT,
    EQUATION,
    LEADER,
    CellText,
    FoundTable,
    PrintedRow,
    TableThresholds,
    cell_of,
    cell_texts,
    trimmed,
)
from pdfqa_core.extraction.tables.grids import Rulings, Stroke
from pdfqa_core.extraction.text.glyphs import Floats
from pdfqa_core.extraction.text.words import Word

# ----------------------------------------------------------------------------------------------------
# Which printed lines are the rows of one table: runs of rows whose cells stand below each other.


def find_runs(rows: Sequence[PrintedRow], thresholds: TableThresholds, *, only_words: bool) -> list[tuple[int, int]]:
    """Return (first, last) row with cells of each run of rows that stand below each other.

    A run begins with a row of values, or where `only_words` is set with a row of three cells or more.
    """
    found: list[tuple[int, int]] = []
    run: list[int] = []  # rows with values
    pending = 0

    def close() -> None:
        nonlocal pending
        if len(run) >= 2:
            found.append((run[0], run[-1]))
        run.clear()
        pending = 0

    for i, row in enumerate(rows):
        if run and not 0 < row.line.baseline - rows[i - 1].line.baseline < thresholds.near * row.line.size:
            close()
        opens = row.wide and not row.valued if only_words else row.valued
        if (opens or (run and row.wide)) and (not row.years or (run and not row.line.bold)):
            if run and not _fits([rows[j] for j in run[-4:]], row, thresholds):
                close()
            run.append(i)
            pending = 0
        elif run:
            total = all(c.value for c in row.cells) and not row.years
            if total and _fits([rows[j] for j in run[-4:]], row, thresholds):
                run.append(i)
                pending = 0
                continue
            goes_on = (
                row.line.baseline - rows[i - 1].line.baseline < thresholds.wrapped * row.line.size and not row.line.bold
            )
            pending += 1
            if (len(row.cells) > 1 and not goes_on) or pending > thresholds.labels or row.years:
                close()
    close()
    return found


def _fits(run: Sequence[PrintedRow], row: PrintedRow, thresholds: TableThresholds) -> bool:
    """Return whether the cells of `row` stand below those of the rows before it."""
    near = thresholds.aligned * row.line.size
    wanted = 1 if row.valued or len(row.cells) == 1 else 2
    for before in reversed(run):
        shared = 0
        for a in before.cells[1:] or before.cells:
            for b in row.cells[1:] or row.cells:
                if a.value == b.value and (
                    abs(a.edge - b.edge) < near or abs(a.x0 - b.x0) < near or abs(a.middle - b.middle) < near
                ):
                    shared += 1
                    if shared >= wanted:
                        return True
    return False


def with_parted(
    above: list[PrintedRow], others: Sequence[PrintedRow], body: Sequence[PrintedRow], thresholds: TableThresholds
) -> list[PrintedRow]:
    """Return the rows above a table with those that the reading order took for columns of their own, put together."""
    left, right = min(r.line.u0 for r in body), max(r.line.u1 for r in body)
    em, top = body[0].line.size, body[0].line.baseline
    near = [
        r
        for r in (*above, *others)
        if top - thresholds.above * em < r.line.baseline < top - 0.5 * em
        and r.line.u0 > left - em
        and r.line.u1 < right + em
    ]
    if all(any(r is a for a in above) for r in near):
        return above
    ordered = sorted(near, key=lambda r: r.line.baseline)
    found = []
    for group in grouped(ordered, lambda group, r: r.line.baseline - group[0].line.baseline < 0.3 * em):
        words = sorted((w for r in group for w in r.words), key=lambda w: w.x0)
        found.append(PrintedRow(tuple(n for r in group for n in r.numbers), group[0].line, words, thresholds))
    return found


# ----------------------------------------------------------------------------------------------------
# The columns of a table without a grid: strips that stay free in its rows.


def _separators(rows: Sequence[PrintedRow], thresholds: TableThresholds) -> list[float]:
    """Return the middles of the strips that are free in the rows, ascending (a few rows may cross them)."""
    left = min(c.x0 for row in rows for c in row.cells)
    right = max(c.x1 for row in rows for c in row.cells)
    scale = 4  # bins per point
    cover = np.zeros(max(1, int((right - left) * scale) + 2), dtype=np.int64)
    for row in rows:
        for cell in row.cells:
            cover[int((cell.x0 - left) * scale) : int((cell.x1 - left) * scale) + 1] += 1
    free = cover <= int(thresholds.crossing * len(rows))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
    strips = [
        (a, b)
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if b - a >= thresholds.strip * scale
    ]
    return [left + (a + b) / 2 / scale for a, b in strips if a > 0 and b < len(cover)]


@dataclass(slots=True)
class Columns:
    """The columns of a table: places between them, ascending, and from where to where the cells of each reach."""

    separators: list[float]
    extents: list[tuple[float, float]]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.separators) + 1

    def of(self, cell: CellText) -> int:
        """Return the column that holds most of a cell."""
        first, last = bisect(self.separators, cell.x0), bisect(self.separators, cell.x1)
        if first == last:
            return first
        edges = [float("-inf"), *self.separators, float("inf")]
        shared = [min(cell.x1, b) - max(cell.x0, a) for a, b in pairwise(edges)]
        return shared.index(max(shared))

    def parted(self, rows: Sequence[PrintedRow]) -> list[list[CellText]]:
        """Return the cells of each column."""
        found: list[list[CellText]] = [[] for _ in range(self.count)]
        for row in rows:
            for cell in row.cells:
                found[self.of(cell)].append(cell)
        return found

    def mid(self, first: int, last: int) -> float:
        """Return the centre of the columns `first` to `last`."""
        return (self.extents[first][0] + self.extents[last][1]) / 2


def find_columns(rows: Sequence[PrintedRow], thresholds: TableThresholds) -> Columns:
    """Return the columns that rows with cells have in common."""
    columns = Columns(_separators(rows, thresholds), [])
    columns.extents = [
        (min((c.x0 for c in entries), default=0.0), max((c.x1 for c in entries), default=0.0))
        for entries in columns.parted(rows)
    ]
    return columns


# ----------------------------------------------------------------------------------------------------
# The rows that name the columns of a table without a grid, and how many columns each name stands above.


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
    """Return the first and last column that a name stands above, by the rule below it or by its own width.

    A rule that begins below the labels of the rows parts the whole table from its header.
    """
    em = row.line.size
    x0, x1 = cell.x0, cell.x1
    for stroke in strokes:
        if not row.line.baseline < stroke.place < row.line.baseline + em or stroke.start < columns.separators[0] - em:
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


# ----------------------------------------------------------------------------------------------------
# Whether rows that stand below each other are a table, and not formulas, an axis or a table of contents.


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


# ----------------------------------------------------------------------------------------------------
# Tables without a grid: rows whose cells stand below each other. Geometry and marks only, one region of a page a
# time.


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
