"""Text that a person does not see on the page: invisible, tiny, off the page, white on white.

Kept conservative: the searchable layer of a scan is no hidden text, nor is white on a dark shape or a picture.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.glyphs import Flags, Floats, Glyphs

_INVISIBLE = 3  # text render mode of PDF 32000-1, table 106
_TINY = 1.0  # points
_NEAR_WHITE = 0xF8
_SCAN_SHARE = 0.3  # of the page: from this size on a picture counts as a scan with its text layer
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 3

REASONS = {
    "invisible": "invisible text",
    "tiny": "text smaller than 1 point",
    "outside": "text outside the page",
    "white": "white text on white",
}


def find_hidden(page: Any, glyphs: Glyphs) -> tuple[Flags, tuple[str, ...]]:
    """Return which glyphs are hidden, (n,), and the reasons in words. `page` is a raw FPDF_PAGE."""
    frame = glyphs.frame
    ink = ~glyphs.space
    center_x = (glyphs.boxes[:, 0] + glyphs.boxes[:, 2]) / 2
    center_y = (glyphs.boxes[:, 1] + glyphs.boxes[:, 3]) / 2
    alpha = glyphs.color & 0xFF
    invisible = (glyphs.mode == _INVISIBLE) | ((alpha == 0) & (glyphs.mode == 0))
    tiny = glyphs.size < _TINY
    outside = (center_x < 0) | (center_x > frame.width) | (center_y < 0) | (center_y > frame.height)
    red, green, blue = glyphs.color >> 24 & 0xFF, glyphs.color >> 16 & 0xFF, glyphs.color >> 8 & 0xFF
    white = np.minimum(np.minimum(red, green), blue) >= _NEAR_WHITE
    white &= np.isin(glyphs.mode, (0, 4)) & ~invisible
    if (ink & (invisible | white)).any():
        shapes, pictures = _background(page, glyphs)
        area = frame.width * frame.height
        if any((x1 - x0) * (y1 - y0) > _SCAN_SHARE * area for x0, y0, x1, y1 in pictures):
            invisible &= False
        for x0, y0, x1, y1 in shapes + pictures:
            inside = (center_x >= x0) & (center_x <= x1) & (center_y >= y0) & (center_y <= y1)
            white &= ~inside
    found = {"invisible": invisible, "tiny": tiny, "outside": outside, "white": white}
    hidden = ink & (invisible | tiny | outside | white)
    return hidden, tuple(REASONS[name] for name, flags in found.items() if (flags & ink).any())


def _background(page: Any, glyphs: Glyphs) -> tuple[list[Floats], list[Floats]]:
    """Return the boxes (x0, top, x1, bottom) of the shapes that are not white, and of the pictures of a page."""
    shapes: list[Floats] = []
    pictures: list[Floats] = []
    count = min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)
    for i in range(max(0, count)):
        kind, box = _object(pdfium.FPDFPage_GetObject(page, i), glyphs)
        if box is None:
            continue
        (pictures if kind == pdfium.FPDF_PAGEOBJ_IMAGE else shapes).append(box)
    return shapes, pictures


def _object(item: Any, glyphs: Glyphs) -> tuple[int, Floats | None]:
    kind = pdfium.FPDFPageObj_GetType(item)
    if kind == pdfium.FPDF_PAGEOBJ_PATH:
        visible = _dark_path(item)
    elif kind == pdfium.FPDF_PAGEOBJ_FORM:
        kind, visible = _form(item, 0)
    else:
        visible = kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING)
    if not visible:
        return kind, None
    edges = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(item, *edges):
        return kind, None
    left, bottom, right, top = (edge.value for edge in edges)
    x, y = glyphs.frame.map(np.array([left, right]), np.array([bottom, top]))
    return kind, np.array([x.min(), y.min(), x.max(), y.max()])


def _dark_path(item: Any) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if not pdfium.FPDFPath_GetDrawMode(item, fill, stroke) or not fill.value:
        return False
    rgba = [ctypes.c_uint() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetFillColor(item, *rgba):
        return True  # a pattern: cannot tell, so it is not white
    return min(c.value for c in rgba[:3]) < _NEAR_WHITE and rgba[3].value > 0


def _form(item: Any, depth: int) -> tuple[int, bool]:
    """Return what a form object counts as: a picture where it holds one, else a shape where anything is drawn."""
    drawn = False
    for i in range(min(pdfium.FPDFFormObj_CountObjects(item), _MAX_OBJECTS)):
        child = pdfium.FPDFFormObj_GetObject(item, i)
        kind = pdfium.FPDFPageObj_GetType(child)
        if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            kind, inside = _form(child, depth + 1)
            drawn |= inside
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            return kind, True
        drawn |= kind == pdfium.FPDF_PAGEOBJ_SHADING or (kind == pdfium.FPDF_PAGEOBJ_PATH and _dark_path(child))
    return pdfium.FPDF_PAGEOBJ_PATH, drawn
