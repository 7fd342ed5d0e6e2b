"""Everything drawn on a page in the order it is painted, forms opened. Knows nothing about what text means.

Coordinates are points from the top left corner of the page as it is shown.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, repeat
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.text.glyphs import (
    Addresses,
    Flags,
    Floats,
    Glyphs,
    Integers,
    PageFrame,
    argument,
    cells,
    changes,
    colors,
    distinct,
    handle_argument,
    quick,
)

TEXT, PATH, IMAGE, SHADING, FORM = (
    pdfium.FPDF_PAGEOBJ_TEXT,
    pdfium.FPDF_PAGEOBJ_PATH,
    pdfium.FPDF_PAGEOBJ_IMAGE,
    pdfium.FPDF_PAGEOBJ_SHADING,
    pdfium.FPDF_PAGEOBJ_FORM,
)
_MAX_OBJECTS = 300_000  # of one page, those in forms included
_MAX_DEPTH = 6  # of forms inside forms
_MAX_CLIP_POINTS = 24  # of one path; more make a shape whose box tells little
_MAX_MARKS = 8  # looked at for each object
_MAX_NAME = 128  # bytes of a layer's name

_page_object = quick(pdfium.FPDFPage_GetObject, ctypes.c_size_t)
_form_object = quick(pdfium.FPDFFormObj_GetObject, ctypes.c_size_t)
_kind = quick(pdfium.FPDFPageObj_GetType, ctypes.c_int)
_bounds = quick(pdfium.FPDFPageObj_GetBounds)
_draw_mode = quick(pdfium.FPDFPath_GetDrawMode)
_fill_color = quick(pdfium.FPDFPageObj_GetFillColor)
_stroke_width = quick(pdfium.FPDFPageObj_GetStrokeWidth)
_clip_path = quick(pdfium.FPDFPageObj_GetClipPath, ctypes.c_size_t)
_clip_count = quick(pdfium.FPDFClipPath_CountPaths, ctypes.c_int)
_mark_count = quick(pdfium.FPDFPageObj_CountMarks, ctypes.c_int)
_mark = quick(pdfium.FPDFPageObj_GetMark, ctypes.c_size_t)
_mark_name = quick(pdfium.FPDFPageObjMark_GetName)
_LAYER_MARK = (int.from_bytes("OC".encode("utf-16-le"), "little"), len("OC\0".encode("utf-16-le")))


Matrix = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f) takes (x, y) to (ax + cy + e, bx + dy + f) (PDF 32000-1, 8.3.3)."""

IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The objects of a page, the one painted first at the beginning; `forms` numbers the matrix of each in `matrices`.

    An object's own coordinates are those of its form; a matrix leads from there to the page's user space. `marks` are
    those of text objects, the first one of each, then the second one, …: the numbers of the objects, each mark once,
    and for each object which of these it has.
    """

    addresses: Addresses
    items: Sequence[Any]  # the addresses as arguments for quick calls
    kinds: Integers
    forms: Integers
    matrices: tuple[Matrix, ...]
    marks: Sequence[tuple[Integers, Addresses, Integers]]
    frame: PageFrame

    def boxes(self, chosen: Integers) -> Floats:
        """Return the boxes (len(chosen), 4) of the objects with these numbers: x0, top, x1, bottom."""
        into = cells(ctypes.c_float, 4)
        calls = map(_bounds, self.chosen(chosen), *map(cycle, into.pointers))
        return self.shown(into.collect(len(chosen), calls).astype(np.float64), chosen)

    def shown(self, found: Floats, chosen: Integers) -> Floats:
        """Return the boxes (n, 4) on the shown page of boxes left, bottom, right, top in the forms of these objects."""
        x, y = found[:, [0, 0, 2, 2]], found[:, [1, 3, 1, 3]]
        if len(self.matrices) > 1:
            a, b, c, d, e, f = np.array(self.matrices)[self.forms[chosen]].T[:, :, None]
            x, y = a * x + c * y + e, b * x + d * y + f
        x, y = self.frame.map(x, y)
        boxes = np.stack([x.min(axis=1), y.min(axis=1), x.max(axis=1), y.max(axis=1)], axis=1)
        return np.where(np.isfinite(boxes), boxes, 0.0)

    def chosen(self, numbers: Integers) -> list[Any]:
        """Return the objects with these numbers as arguments for quick calls."""
        return list(map(self.items.__getitem__, numbers.tolist()))

    def positions(self, addresses: Addresses) -> Integers:
        """Return the numbers of the objects at these addresses; an unknown address gets the number of objects."""
        order = np.argsort(self.addresses)
        found = np.searchsorted(self.addresses, addresses, sorter=order)
        places = order[np.minimum(found, len(order) - 1)] if len(order) else np.zeros(len(addresses), dtype=np.int64)
        known = self.addresses[places] == addresses if len(order) else np.zeros(len(addresses), dtype=np.bool_)
        return np.where(known, places, len(order))


@dataclass(frozen=True, slots=True)
class PathPaint:
    """How paths are painted; arrays of equal length. `color` (m, 4) is RGBA of the fill, `outline` its width in points.

    The outline is 0 where none is drawn.
    """

    filled: Flags
    color: Integers
    outline: Floats


def read_drawn(page: Any, glyphs: Glyphs) -> Drawn:
    """Return what is drawn on a page (a raw FPDF_PAGE) beside and with its glyphs."""
    owners = glyphs.owners[~glyphs.space]
    texts = distinct(owners[changes(owners)])
    handle = handle_argument(page)
    count = min(max(0, pdfium.FPDFPage_CountObjects(page)), _MAX_OBJECTS)
    addresses = np.fromiter(map(_page_object, repeat(handle), range(count)), np.uint64, count)
    parts: list[tuple[Addresses, Integers, int]] = []
    matrices = [IDENTITY]
    left = _MAX_OBJECTS

    def add(addresses: Addresses, form: int, depth: int) -> None:
        nonlocal left
        left -= len(addresses)
        kinds = _kinds(addresses, texts)
        begin = 0
        for place in np.flatnonzero(kinds == FORM).tolist():
            item = argument(int(addresses[place]))
            inside = min(max(0, pdfium.FPDFFormObj_CountObjects(_object(addresses[place]))), max(left, 0))
            if not inside or depth >= _MAX_DEPTH:
                continue
            parts.append((addresses[begin:place], kinds[begin:place], form))
            begin = place + 1
            matrices.append(times(matrix_of(_object(addresses[place])), matrices[form]))
            children = np.fromiter(map(_form_object, repeat(item), range(inside)), np.uint64, inside)
            add(children, len(matrices) - 1, depth + 1)
        parts.append((addresses[begin:], kinds[begin:], form))

    add(addresses, 0, 0)
    every = np.concatenate([part for part, _, _ in parts])
    items = list(map(argument, every.tolist()))
    kinds = np.concatenate([kinds for _, kinds, _ in parts])
    return Drawn(
        every,
        items,
        kinds,
        np.repeat([form for _, _, form in parts], [len(part) for part, _, _ in parts]),
        tuple(matrices),
        _marks(items, np.flatnonzero(kinds == TEXT)),
        glyphs.frame,
    )


def _marks(items: Sequence[Any], texts: Integers) -> list[tuple[Integers, Addresses, Integers]]:
    asked = list(map(items.__getitem__, texts.tolist()))
    counts = np.fromiter(map(_mark_count, asked), np.int64, len(asked))
    found = []
    for number in range(min(int(counts.max(initial=0)), _MAX_MARKS)):
        places = np.flatnonzero(counts > number)
        marks = np.fromiter(map(_mark, (asked[i] for i in places.tolist()), repeat(number)), np.uint64, len(places))
        known = distinct(marks)
        found.append((texts[places], known, np.searchsorted(known, marks)))
    return found


def path_paint(drawn: Drawn, paths: Integers) -> PathPaint:
    """Return how the paths with these numbers are painted."""
    items = drawn.chosen(paths)
    into = cells(ctypes.c_int, 2)
    modes = into.collect(len(items), map(_draw_mode, items, *map(cycle, into.pointers)))
    filled = modes[:, 0] != 0
    color = np.zeros((len(paths), 4), dtype=np.int64)
    color[filled] = colors(_fill_color, [items[i] for i in np.flatnonzero(filled).tolist()])
    outline = np.zeros(len(paths))
    stroked = np.flatnonzero(modes[:, 1] != 0)
    into = cells(ctypes.c_float, 1)
    calls = map(_stroke_width, (items[i] for i in stroked.tolist()), *map(cycle, into.pointers))
    widths = into.collect(len(stroked), calls)
    scale = np.array([_scale(matrix) for matrix in drawn.matrices])[drawn.forms[paths[stroked]]]
    outline[stroked] = widths[:, 0] * scale
    return PathPaint(filled, color, outline)


def clip_boxes(drawn: Drawn, chosen: Integers) -> dict[int, Floats]:
    """Return, for those of the chosen objects that are clipped, the box (4,) that they cannot leave."""
    items = drawn.chosen(chosen)
    counts = np.fromiter(map(_clip_count, map(argument, map(_clip_path, items))), np.int64, len(items))
    found: dict[int, Floats] = {}
    for place in (counts > 0).nonzero()[0].tolist():
        number = int(chosen[place])
        clip = ctypes.cast(_clip_path(items[place]), pdfium.FPDF_CLIPPATH)
        box = _clip_box(clip, int(counts[place]))
        if box is not None:
            found[number] = drawn.shown(box[None, :], np.array([number]))[0]
    return found


def layers(drawn: Drawn) -> dict[int, str]:
    """Return, for the text objects that lie in a layer (optional content group), the layer's name.

    A layer that is set for a whole form is not seen here.
    """
    found: dict[int, str] = {}
    for numbers, known, which in drawn.marks:
        into = cells(ctypes.c_uint64, 2)  # the name where it is short enough, and its length in bytes
        room = ctypes.c_ulong.from_param(ctypes.sizeof(ctypes.c_uint64))
        name, length = map(cycle, into.pointers)
        names = into.collect(len(known), map(_mark_name, map(argument, known.tolist()), name, repeat(room), length))
        for place in (names == _LAYER_MARK).all(axis=1)[which].nonzero()[0].tolist():
            found[int(numbers[place])] = _layer_name(int(known[which[place]]))
    return found


def _layer_name(mark: int) -> str:
    buffer = ctypes.create_string_buffer(_MAX_NAME)
    length = ctypes.c_ulong()
    into = (ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), _MAX_NAME, length)
    if not pdfium.FPDFPageObjMark_GetParamStringValue(ctypes.cast(mark, pdfium.FPDF_PAGEOBJECTMARK), b"Name", *into):
        return ""
    return buffer.raw[: max(0, min(length.value, _MAX_NAME) - 2)].decode("utf-16-le", "replace")


def _kinds(addresses: Addresses, texts: Addresses) -> Integers:
    kinds = np.full(len(addresses), TEXT, dtype=np.int64)
    places = np.minimum(np.searchsorted(texts, addresses), max(0, len(texts) - 1))
    others = np.flatnonzero(texts[places] != addresses) if len(texts) else np.arange(len(addresses))
    kinds[others] = np.fromiter(map(_kind, map(argument, addresses[others].tolist())), np.int64, len(others))
    return kinds


def _object(address: Any) -> Any:
    return ctypes.cast(int(address), pdfium.FPDF_PAGEOBJECT)


def _scale(matrix: Matrix) -> float:
    a, b, c, d, _, _ = matrix
    return float(abs(a * d - b * c) ** 0.5)


def _clip_box(clip: Any, count: int) -> Floats | None:
    """Return what the boxes of all paths of a clip have in common; None where that cannot be told."""
    x, y = ctypes.c_float(), ctypes.c_float()
    common = np.array([-np.inf, -np.inf, np.inf, np.inf])
    for number in range(min(count, _MAX_MARKS)):
        points = []
        for i in range(min(pdfium.FPDFClipPath_CountPathSegments(clip, number), _MAX_CLIP_POINTS + 1)):
            segment = pdfium.FPDFClipPath_GetPathSegment(clip, number, i)
            if i == _MAX_CLIP_POINTS or not pdfium.FPDFPathSegment_GetPoint(segment, x, y):
                return None
            points.append((x.value, y.value))
        if points:
            edges = np.array(points)
            common[:2] = np.maximum(common[:2], edges.min(axis=0))
            common[2:] = np.minimum(common[2:], edges.max(axis=0))
    return common if np.isfinite(common).all() else None


def matrix_of(item: Any) -> Matrix:
    """Return the matrix of a page object (a PDFium handle), the identity where it has none."""
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(item, found):
        return IDENTITY
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def times(first: Matrix, then: Matrix) -> Matrix:
    """Return the matrix that applies `first`, then `then` (PDF 32000-1, 8.3.4)."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = then
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)
