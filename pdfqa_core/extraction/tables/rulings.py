"""The straight lines drawn on a page: rules, borders and thin bars, as horizontal and vertical strokes.

Coordinates are points from the top left corner of the page as it is shown.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.tables.thresholds import DEFAULT, TableThresholds
from pdfqa_core.extraction.text.glyphs import Flags, Floats, PageFrame
from pdfqa_core.extraction.text.matrices import IDENTITY, Matrix, matrix_of, times
from pdfqa_core.extraction.text.pdfium_calls import Cells, argument, quick
from pdfqa_core.types import Box

_MAX_OBJECTS = 20_000
_MAX_PATHS = 2_000  # a page with more of them is a drawing
_MAX_POINTS = 300  # of one path
_MAX_DEPTH = 3  # of forms inside forms

_page_object = quick(pdfium.FPDFPage_GetObject, ctypes.c_size_t)
_kind = quick(pdfium.FPDFPageObj_GetType, ctypes.c_int)
_draw_mode = quick(pdfium.FPDFPath_GetDrawMode)
_bounds = quick(pdfium.FPDFPageObj_GetBounds)
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


def read_rulings(page: Any, frame: PageFrame, thresholds: TableThresholds = DEFAULT) -> Rulings:
    """Return what is drawn on a page (a raw FPDF_PAGE); nothing where it holds a drawing of many paths."""
    handle = argument(ctypes.cast(page, ctypes.c_void_p))
    count = min(max(0, pdfium.FPDFPage_CountObjects(page)), _MAX_OBJECTS)
    addresses = list(map(_page_object, repeat(handle), range(count)))
    kinds = list(map(_kind, map(argument, addresses)))
    direct = [a for a, kind in zip(addresses, kinds, strict=True) if kind == pdfium.FPDF_PAGEOBJ_PATH]
    inside: list[tuple[int, Matrix]] = []
    for address, kind in zip(addresses, kinds, strict=True):
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            inside += _form_paths(ctypes.cast(address, pdfium.FPDF_PAGEOBJECT), IDENTITY, 0)
    found = Rulings()
    if not 0 < len(direct) + len(inside) <= _MAX_PATHS:
        return found
    _add_paths(direct, IDENTITY, frame, found, thresholds)
    groups: dict[Matrix, list[int]] = {}
    for address, outer in inside:
        groups.setdefault(outer, []).append(address)
    for outer, addresses in groups.items():
        _add_paths(addresses, outer, frame, found, thresholds)
    return Rulings(_merged(found.horizontal, thresholds), _merged(found.vertical, thresholds), found.fills)


def _merged(pieces: list[Stroke], thresholds: TableThresholds) -> list[Stroke]:
    """Return the strokes with those that touch made one (rules are often drawn cell by cell), short ones left out."""
    levels: list[list[Stroke]] = []
    for piece in sorted(pieces, key=lambda s: s.place):
        if levels and piece.place - levels[-1][-1].place < thresholds.same_level:
            levels[-1].append(piece)
        else:
            levels.append([piece])
    found: list[Stroke] = []
    for level in levels:
        place = level[len(level) // 2].place
        start = end = float("-inf")
        for piece in sorted(level, key=lambda s: s.start):
            if piece.start <= end + thresholds.touch:
                end = max(end, piece.end)
                continue
            found.append(Stroke(place, start, end))
            start, end = piece.start, piece.end
        found.append(Stroke(place, start, end))
    return [stroke for stroke in found if stroke.end - stroke.start >= thresholds.short]


def _form_paths(form: Any, outer: Matrix, depth: int) -> Iterator[tuple[int, Matrix]]:
    matrix = times(matrix_of(form), outer)
    for i in range(min(pdfium.FPDFFormObj_CountObjects(form), _MAX_OBJECTS)):
        item = pdfium.FPDFFormObj_GetObject(form, i)
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            yield ctypes.cast(item, ctypes.c_void_p).value or 0, matrix
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            yield from _form_paths(item, matrix, depth + 1)


def _add_paths(
    paths: Sequence[int], outer: Matrix, frame: PageFrame, found: Rulings, thresholds: TableThresholds
) -> None:
    """Add what paths (addresses) draw; all lie in a form with the matrix `outer`."""
    items = list(map(argument, paths))
    cells = Cells(ctypes.c_int, 2)
    modes = cells.collect(map(_draw_mode, items, *map(repeat, cells.pointers)))  # fill, stroke
    cells = Cells(ctypes.c_float, 4)
    bounds = cells.collect(map(_bounds, items, *map(repeat, cells.pointers)))  # left, bottom, right, top
    boxes = _shown(bounds.astype(np.float64), times(outer, frame.matrix))
    sizes = boxes[:, 2:] - boxes[:, :2]
    seen = np.isfinite(boxes).all(axis=1) & modes.any(axis=1) & (sizes > 0).any(axis=1)
    thin = seen & (sizes <= thresholds.thin).any(axis=1)
    painted = np.zeros(len(paths), dtype=np.bool_)
    for colors, mode in ((_fill_color, modes[:, 0]), (_stroke_color, modes[:, 1])):
        asked = np.flatnonzero(seen & (mode > 0))
        painted[asked] |= _visible(colors, [items[i] for i in asked.tolist()], thresholds.faint)
    for box in boxes[thin & painted].tolist():
        _add_stroke(box, found, thresholds.thin)
    found.fills += [Box(*box) for box in boxes[seen & ~thin & (modes[:, 0] > 0)].tolist()]
    for i in np.flatnonzero(seen & ~thin & (modes[:, 1] > 0) & painted).tolist():
        for edge in _edges(ctypes.cast(paths[i], pdfium.FPDF_PAGEOBJECT), outer, frame, thresholds.slope):
            _add_stroke(edge, found, thresholds.thin)


def _visible(colors: Any, items: Sequence[Any], faint: int) -> Flags:
    """Return which objects have a colour that parts something on white paper."""
    cells = Cells(ctypes.c_uint, 4)
    rgba = cells.collect(map(colors, items, *map(repeat, cells.pointers)))
    return np.asarray((rgba[:, :3].min(axis=1) < faint) & (rgba[:, 3] > 0), dtype=np.bool_)


def _shown(corners: Floats, matrix: Matrix) -> Floats:
    """Return boxes (n, 4) of two corners each as boxes (x0, top, x1, bottom) after `matrix`."""
    a, b, c, d, e, f = matrix
    x, y = corners[:, ::2], corners[:, 1::2]
    shown_x, shown_y = a * x + c * y + e, b * x + d * y + f
    return np.stack([shown_x.min(axis=1), shown_y.min(axis=1), shown_x.max(axis=1), shown_y.max(axis=1)], axis=1)


def _add_stroke(box: Sequence[float], found: Rulings, thin: float) -> None:
    x0, top, x1, bottom = box
    if bottom - top <= thin:
        found.horizontal.append(Stroke((top + bottom) / 2, x0, x1))
    if x1 - x0 <= thin:  # a dot is a part of both
        found.vertical.append(Stroke((x0 + x1) / 2, top, bottom))


def _edges(path: Any, outer: Matrix, frame: PageFrame, slope: float) -> list[list[float]]:
    """Return the level and the upright lines of a path, none where it has a curve or very many points."""
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
    boxes = _shown(np.array(lines), times(times(matrix_of(path), outer), frame.matrix))
    straight = np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] - boxes[:, :2] <= slope).any(axis=1)
    found: list[list[float]] = boxes[straight].tolist()
    return found
