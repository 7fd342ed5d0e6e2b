"""Pages as pictures, and how much of a page pictures cover."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.visual.engine import Picture

DPI = 300
_MAX_PIXELS = 12_000_000
_MAX_SIDE = 8000
_MIN_SIDE = 16
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 3


def draw(page: Any, dpi: int = DPI) -> tuple[Picture, float]:
    """Return a pypdfium2 page in shades of grey, as it is shown, and the pixels per point.

    Very large pages come out coarser than `dpi`.
    """
    width, height = max(1.0, page.get_width()), max(1.0, page.get_height())
    scale = min(dpi / 72, _MAX_SIDE / max(width, height), math.sqrt(_MAX_PIXELS / (width * height)))
    scale = max(scale, _MIN_SIDE / max(width, height))
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=True)
    try:
        picture = np.array(bitmap.to_numpy(), dtype=np.uint8)
    finally:
        bitmap.close()
    return (picture[:, :, 0] if picture.ndim == 3 else picture), scale


def pictured_share(page: Any) -> float:
    """Return how much of a page (a raw FPDF_PAGE) pictures cover, 0..1; those that overlap count twice, up to 1."""
    box = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, box)
    area = abs((box.right - box.left) * (box.top - box.bottom))
    covered = 0.0
    for i in range(min(max(0, pdfium.FPDFPage_CountObjects(page)), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page, i)
        if not _holds_picture(item, 0):
            continue
        edges = [ctypes.c_float() for _ in range(4)]
        if pdfium.FPDFPageObj_GetBounds(item, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            wide = min(right, max(box.left, box.right)) - max(left, min(box.left, box.right))
            high = min(top, max(box.top, box.bottom)) - max(bottom, min(box.top, box.bottom))
            covered += max(0.0, wide) * max(0.0, high)
    return min(1.0, covered / area) if area else 0.0


def drawn_objects(page: Any) -> int:
    """Return how many objects a page (a raw FPDF_PAGE) is drawn with."""
    return max(0, int(pdfium.FPDFPage_CountObjects(page)))


def _holds_picture(item: Any, depth: int) -> bool:
    kind = pdfium.FPDFPageObj_GetType(item)
    if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
        count = min(max(0, pdfium.FPDFFormObj_CountObjects(item)), _MAX_OBJECTS)
        return any(_holds_picture(pdfium.FPDFFormObj_GetObject(item, i), depth + 1) for i in range(count))
    return bool(kind == pdfium.FPDF_PAGEOBJ_IMAGE)
