"""Tables drawn as a grid: pdfplumber's table finder on PDFium's rulings, then words into cells.

pdfplumber would read the page again with pdfminer, which takes longer than everything else together; its finder needs
edges only.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.drawn import PATH, Drawn, matrix_of
from pdfqa_core.extraction.raw_page import PageTable, TableCell, TextLine, grouped, merged
from pdfqa_core.extraction.tables.found import (
    DEFAULT,
    CellText,
    FoundTable,
    TableThresholds,
    cell_of,
    signs_joined,
    trimmed,
)
from pdfqa_core.extraction.text.glyphs import Floats, PageFrame, cells, colors, quick
from pdfqa_core.extraction.text.words import Word
from pdfqa_core.types import Box

# ----------------------------------------------------------------------------------------------------
# The straight lines drawn on a page: rules, borders and thin bars, as horizontal and vertical strokes.
#
# Coordinates are points from the top left corner of the page as it is shown.

_MAX_PATHS = 2_000  # a page with more of them is a drawing
_MAX_POINTS = 300  # of one path

_draw_mode = quick(pdfium.FPDFPath_GetDrawMode)
_fill_color = quick(pdfium.FPDFPageObj_GetFillColor)
_stroke_color = quick(pdfium.FPDFPageObj_GetStrokeColor)


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line from `start` to `end` along its direction, at `place` across it."""

    place: float
    start: float
    end: float


@dataclass(slots=True)
class Rulings:
    """The strokes of a page, and the boxes filled with a colour (white counts: it may part the rows of a table)."""

    horizontal: list[Stroke] = field(default_factory=list)
    vertical: list[Stroke] = field(default_factory=list)
    fills: list[Box] = field(default_factory=list)

    def levels(self) -> Floats:
        """Return height, start and end of each horizontal stroke, (n, 3)."""
        return np.array([(s.place, s.start, s.end) for s in self.horizontal]).reshape(-1, 3)


def read_rulings(drawn: Drawn, thresholds: TableThresholds = DEFAULT) -> Rulings:
    """Return the strokes and fills of a page; nothing where it holds a drawing of many paths."""
    found = Rulings()
    paths = np.flatnonzero(drawn.kinds == PATH)
    if not 0 < len(paths) <= _MAX_PATHS:
        return found
    items = drawn.chosen(paths)
    into = cells(ctypes.c_int, 2)
    modes = into.collect(len(items), map(_draw_mode, items, *map(cycle, into.pointers)))  # fill, stroke
    boxes = drawn.boxes(paths)
    sizes = boxes[:, 2:] - boxes[:, :2]
    seen = modes.any(axis=1) & (sizes > 0).any(axis=1)
    thin = seen & (sizes <= thresholds.thin).any(axis=1)
    painted = np.zeros(len(paths), dtype=np.bool_)
    for function, mode in ((_fill_color, modes[:, 0]), (_stroke_color, modes[:, 1])):
        asked = np.flatnonzero(seen & (mode > 0))
        rgba = colors(function, [items[i] for i in asked.tolist()])
        painted[asked] |= (rgba[:, :3].min(axis=1) < thresholds.faint) & (rgba[:, 3] > 0)  # it parts something on white
    edges = boxes[thin & painted].tolist()
    for number in paths[seen & ~thin & (modes[:, 1] > 0) & painted].tolist():
        edges += _edges(drawn, number, thresholds.slope)
    for x0, top, x1, bottom in edges:
        if bottom - top <= thresholds.thin:
            found.horizontal.append(Stroke((top + bottom) / 2, x0, x1))
        if x1 - x0 <= thresholds.thin:  # a dot is a part of both
            found.vertical.append(Stroke((x0 + x1) / 2, top, bottom))
    fills = [Box(*box) for box in boxes[seen & ~thin & (modes[:, 0] > 0)].tolist()]
    return Rulings(_merged(found.horizontal, thresholds), _merged(found.vertical, thresholds), fills)


def _merged(pieces: list[Stroke], thresholds: TableThresholds) -> list[Stroke]:
    """Return the strokes with those that touch made one (rules are often drawn cell by cell), short ones left out."""
    ordered = sorted(pieces, key=lambda s: s.place)
    return [
        Stroke(level[len(level) // 2].place, start, end)
        for level in grouped(ordered, lambda level, s: s.place - level[-1].place < thresholds.same_level)
        for start, end in merged([(s.start, s.end) for s in level], thresholds.touch)
        if end - start >= thresholds.short
    ]


def _edges(drawn: Drawn, number: int, slope: float) -> list[list[float]]:
    """Return the level and the upright lines of a path, none where it has a curve or very many points."""
    path = ctypes.cast(int(drawn.addresses[number]), pdfium.FPDF_PAGEOBJECT)
    count = pdfium.FPDFPath_CountSegments(path)
    if not 2 < count <= _MAX_POINTS:
        return []  # a single line that is not thin slopes
    x, y = ctypes.c_float(), ctypes.c_float()
    first = last = (0.0, 0.0)
    lines: list[tuple[float, ...]] = []
    for i in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(path, i)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO or not pdfium.FPDFPathSegment_GetPoint(segment, x, y):
            return []
        here = (x.value, y.value)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            first = here
        else:
            lines.append((*last, *here))
        last = here
        if pdfium.FPDFPathSegment_GetClose(segment):
            lines.append((*here, *first))
            last = first
    if not lines:
        return []
    a, b, c, d, e, f = matrix_of(path)
    corners = np.array(lines)
    xs, ys = corners[:, ::2], corners[:, 1::2]
    placed = np.stack([a * xs + c * ys + e, b * xs + d * ys + f], axis=2).reshape(-1, 4)
    placed = placed[np.isfinite(placed).all(axis=1)]
    boxes = drawn.shown(placed, np.full(len(placed), number))
    found: list[list[float]] = boxes[(boxes[:, 2:] - boxes[:, :2] <= slope).any(axis=1)].tolist()
    return found


# ----------------------------------------------------------------------------------------------------
# Tables drawn as a grid: pdfplumber's table finder on PDFium's rulings, then words into cells.


def grid_heights(rulings: Rulings, thresholds: TableThresholds = DEFAULT) -> tuple[float, float] | None:
    """Return between which heights strokes cross as in a table, an upright one three level ones; None: nowhere."""
    if len(rulings.horizontal) < 3 or not rulings.vertical:
        return None
    if len(rulings.horizontal) + len(rulings.vertical) > thresholds.most_strokes:
        return None
    if not any(_meets(v, rulings.horizontal, thresholds.meet) >= 3 for v in rulings.vertical):
        return None
    return min(h.place for h in rulings.horizontal), max(h.place for h in rulings.horizontal)


def _meets(upright: Stroke, level: Sequence[Stroke], reach: float) -> int:
    places = {
        round(h.place)
        for h in level
        if h.start - reach <= upright.place <= h.end + reach and upright.start - reach <= h.place <= upright.end + reach
    }
    return len(places)


def find_grids(
    rulings: Rulings,
    frame: PageFrame,
    words: Sequence[Word],
    lines: Sequence[TextLine],
    thresholds: TableThresholds = DEFAULT,
) -> list[FoundTable]:
    """Return the tables that rulings draw, top to bottom."""
    from pdfplumber.table import TableFinder

    level, upright = rulings.horizontal, rulings.vertical
    edges = [_edge(h, level=True) for h in level] + [_edge(v, level=False) for v in (*upright, *_sides(level, upright))]
    page: Any = SimpleNamespace(edges=edges, bbox=(0.0, 0.0, frame.width, frame.height), chars=[])
    found = []
    taken: set[int] = set()
    for table in TableFinder(page).tables:
        grid = _grid([Box(*cell) for cell in table.cells], words, lines, thresholds)
        if grid is not None and taken.isdisjoint(grid.lines):
            taken.update(grid.lines)
            found.append(grid)
    return found


def _edge(stroke: Stroke, *, level: bool) -> dict[str, Any]:
    """Return a stroke as pdfplumber describes an edge."""
    across = (stroke.place, stroke.place)
    along = (stroke.start, stroke.end)
    (x0, x1), (top, bottom) = (along, across) if level else (across, along)
    return {
        "x0": x0,
        "x1": x1,
        "top": top,
        "bottom": bottom,
        "width": x1 - x0,
        "height": bottom - top,
        "orientation": "h" if level else "v",
        "object_type": "line",
    }


def _sides(level: Sequence[Stroke], upright: Sequence[Stroke]) -> list[Stroke]:
    """Return the sides of grids that are open at the left and right: where three or more rules begin or end.

    A side runs along the rows that an upright stroke parts. Where none is drawn it also runs along a low row between
    two that are parted alike (a label over all columns): what lies between two tables of one width is in neither.
    """
    groups: dict[tuple[int, int], list[Stroke]] = {}
    for stroke in level:
        groups.setdefault((round(stroke.start / 2), round(stroke.end / 2)), []).append(stroke)
    found = []
    for strokes in groups.values():
        if len(strokes) < 3:
            continue
        start, end = min(s.start for s in strokes), max(s.end for s in strokes)
        rows = list(pairwise(sorted(s.place for s in strokes)))
        parted = [{round(v.place) for v in upright if start < v.place < end and _beside(v, row)} for row in rows]
        drawn = any(
            abs(v.place - side) < 2 for v in upright for side in (start, end) if any(_beside(v, r) for r in rows)
        )
        for place, (top, low) in enumerate(rows):
            label = (
                not drawn
                and 0 < place < len(rows) - 1
                and parted[place - 1] == parted[place + 1] != set()
                and low - top <= 2 * max(b - a for a, b in (rows[place - 1], rows[place + 1]))
            )
            if parted[place] or label:
                found += [Stroke(start, top, low), Stroke(end, top, low)]
    return found


def _beside(upright: Stroke, row: tuple[float, float]) -> bool:
    """Return whether an upright stroke runs along a row, from its top to its bottom."""
    return min(upright.end, row[1]) - max(upright.start, row[0]) > 1


def _grid(
    boxes: Sequence[Box], words: Sequence[Word], lines: Sequence[TextLine], thresholds: TableThresholds
) -> FoundTable | None:
    """Return the table of these cells with the words in them; None where they are no table."""
    xs, ys = _places([b.x0 for b in boxes]), _places([b.top for b in boxes])
    if len(xs) < 2 or len(ys) < 2:
        return None
    whole = Box(min(b.x0 for b in boxes), ys[0], max(b.x1 for b in boxes), max(b.bottom for b in boxes))
    inside = _inside(whole, lines)
    if inside is None:
        return None
    owners: dict[tuple[int, int], int] = {}
    spans = []
    for number, box in enumerate(boxes):
        first, last = _index(xs, box.x0), bisect_right(xs, box.x1 - 2) - 1
        top, bottom = _index(ys, box.top), bisect_right(ys, box.bottom - 2) - 1
        spans.append((first, last, top, bottom))
        for row in range(top, bottom + 1):
            for column in range(first, last + 1):
                owners.setdefault((row, column), number)
    held: list[list[Word]] = [[] for _ in boxes]
    for word in words:
        x, y = (word.x0 + word.x1) / 2, word.baseline - 0.3 * word.size
        if whole.x0 <= x <= whole.x1 and whole.top <= y <= whole.bottom:
            owner = owners.get((_index(ys, y), _index(xs, x)))
            if owner is None:
                return None  # text between the cells: the rulings are no grid of a table
            held[owner].append(word)
    cells = [cell_of(entries) if entries else None for entries in held]
    if not _plausible(cells, thresholds) or not _framed(boxes, held, thresholds):
        return None
    headers = _header_rows(cells, spans, owners, len(ys), len(xs), held, thresholds)
    rows: list[tuple[TableCell | None, ...]] = []
    for row in range(len(ys)):
        entries: list[TableCell | None] = []
        for column in range(len(xs)):
            owner = owners.get((row, column))
            repeated = owner is not None and _repeats(spans[owner], row, column, headers)
            entries.append(cells[owner] if owner is not None and repeated else None)
        rows.append(tuple(entries))
    return FoundTable(signs_joined(trimmed(PageTable(tuple(rows), headers))), tuple(inside))


def _repeats(span: tuple[int, int, int, int], row: int, column: int, headers: int) -> bool:
    """Return whether the text of a cell that spans several places stands in this one.

    Names stand once in each column they are above; values in each place they hold for; a label over all columns once.
    """
    first, _, top, _ = span
    if row < headers:
        return top == row
    return first > 0 or column == 0


def _places(values: Sequence[float]) -> list[float]:
    """Return the distinct places, ascending; those within two points are one."""
    return [group[0] for group in grouped(sorted(values), lambda group, value: value - group[0] <= 2)]


def _index(places: Sequence[float], value: float) -> int:
    return max(0, bisect_right(places, value) - 1)


def _inside(whole: Box, lines: Sequence[TextLine]) -> list[int] | None:
    """Return the lines in the box; None where a line stands half in it (it would be torn)."""
    found = []
    for number, line in enumerate(lines):
        if line.turn or line.hidden or line.table is not None:
            continue
        middle = line.baseline - 0.3 * line.size
        if not whole.top <= middle <= whole.bottom or line.u1 < whole.x0 or line.u0 > whole.x1:
            continue
        if line.u0 < whole.x0 - 0.5 * line.size or line.u1 > whole.x1 + 0.5 * line.size:
            return None
        found.append(number)
    return found


def _plausible(cells: Sequence[TableCell | None], thresholds: TableThresholds) -> bool:
    texts = sorted(len(cell.text) for cell in cells if cell is not None)
    if len(texts) < 4 or len(texts) < thresholds.filled * len(cells):
        return False
    return texts[len(texts) // 2] <= thresholds.longest_paragraph and texts[-1] <= 5 * thresholds.longest_paragraph


def _framed(boxes: Sequence[Box], held: Sequence[Sequence[Word]], thresholds: TableThresholds) -> bool:
    """Return whether the words stand within their cells; those on the axis of a chart stand across its lines."""
    words = [(box, word) for box, entries in zip(boxes, held, strict=True) for word in entries]
    across = sum(
        word.x0 < box.x0 - 1
        or word.x1 > box.x1 + 1
        or word.baseline - 0.6 * word.size < box.top
        or word.baseline > box.bottom + 0.5
        for box, word in words
    )
    return across <= thresholds.across * len(words)


def _header_rows(
    cells: Sequence[TableCell | None],
    spans: Sequence[tuple[int, int, int, int]],
    owners: dict[tuple[int, int], int],
    rows: int,
    columns: int,
    held: Sequence[Sequence[Word]],
    thresholds: TableThresholds,
) -> int:
    """Return how many rows name the columns: those above the first row of values, with all that a cell spans."""

    def numbers(row: int) -> list[int]:
        return sorted({owners[row, c] for c in range(columns) if (row, c) in owners})

    def names(row: int) -> bool:
        entries = [n for n in numbers(row) if cells[n] is not None]
        if not entries:
            return True
        if len(entries) == 1 and spans[entries[0]][0] == 0 and (row or columns > 1):
            return row == 0 and spans[entries[0]][1] == columns - 1
        values = [CellText(list(held[n])) for n in entries if spans[n][0] > 0]
        return not any(c.value and not c.year for c in values)

    bold = [all(w.bold for n in numbers(row) for w in held[n]) for row in range(rows)]
    count = 0
    while count < min(thresholds.grid_headers, rows - 1) and names(count):
        spanning = any(spans[n][1] > spans[n][0] or spans[n][3] > count for n in numbers(count))
        count += 1
        if not spanning and not (count < rows and bold[count] and bold[count - 1] and not all(bold)):
            break
    return count
