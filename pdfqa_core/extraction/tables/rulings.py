"""The straight lines drawn on a page: rules, borders and thin bars, as horizontal and vertical strokes.

Coordinates are points from the top left corner of the page as it is shown.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.drawn import PATH, Drawn, matrix_of
from pdfqa_core.extraction.grouping import grouped, merged
from pdfqa_core.extraction.tables.thresholds import DEFAULT, TableThresholds
from pdfqa_core.extraction.text.glyphs import Flags
from pdfqa_core.extraction.text.pdfium_calls import cells, quick
from pdfqa_core.types import Box

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


def read_rulings(drawn: Drawn, thresholds: TableThresholds = DEFAULT) -> Rulings:
    """Return the strokes and fills of a page; nothing where it holds a drawing of many paths."""
    found = Rulings()
    paths = np.flatnonzero(drawn.kinds == PATH)
    if not 0 < len(paths) <= _MAX_PATHS:
        return found
    items = drawn.chosen(paths)
    into = cells(ctypes.c_int, 2)
    modes = into.collect(map(_draw_mode, items, *map(repeat, into.pointers)))  # fill, stroke
    boxes = drawn.boxes(paths)
    sizes = boxes[:, 2:] - boxes[:, :2]
    seen = modes.any(axis=1) & (sizes > 0).any(axis=1)
    thin = seen & (sizes <= thresholds.thin).any(axis=1)
    painted = np.zeros(len(paths), dtype=np.bool_)
    for colors, mode in ((_fill_color, modes[:, 0]), (_stroke_color, modes[:, 1])):
        asked = np.flatnonzero(seen & (mode > 0))
        painted[asked] |= _visible(colors, [items[i] for i in asked.tolist()], thresholds.faint)
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


def _visible(colors: Any, items: Sequence[Any], faint: int) -> Flags:
    """Return which objects have a colour that parts something on white paper."""
    into = cells(ctypes.c_uint, 4)
    rgba = into.collect(map(colors, items, *map(repeat, into.pointers)))
    return np.asarray((rgba[:, :3].min(axis=1) < faint) & (rgba[:, 3] > 0), dtype=np.bool_)


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
