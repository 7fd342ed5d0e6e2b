"""Whether characters leave a mark on the page: it is drawn with and without them, and the pictures are compared."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.hidden.contrast import alike
from pdfqa_core.extraction.text.glyphs import Flags, Floats, PageFrame

SAME_COLOR = 12  # of 255: how much two colours may differ in red, green and blue and still look alike
_SCALE = 2.0  # pixels per point
_MOST_PIXELS = 3_000_000
MARKED = 0.04  # of a character's box: how much must change when it is drawn
_SECONDS = 1.0  # for one drawing

Picture = npt.NDArray[np.uint8]


def leave_marks(
    page: Any, frame: PageFrame, boxes: Floats, objects: Sequence[int], readable: Flags | None = None
) -> Flags | None:
    """Return which boxes (n, 4) look different when these objects (addresses) are drawn; None if it takes too long.

    Where `readable` (n,) is set, so different that it can be read (see `contrast`). `page` is a raw FPDF_PAGE of a
    document; annotations are drawn as well.
    """
    shares = marked_shares(page, frame, boxes, objects, readable)
    return None if shares is None else shares > MARKED


def marked_shares(
    page: Any, frame: PageFrame, boxes: Floats, objects: Sequence[int], readable: Flags | None = None
) -> Floats | None:
    """Return the share (n,) of each box that looks different when these objects are drawn; see `leave_marks`."""
    edges = np.concatenate([boxes[:, :2].min(axis=0) - 1, boxes[:, 2:].max(axis=0) + 1])
    region = np.clip(edges, 0, [frame.width, frame.height] * 2)
    width, height = region[2:] - region[:2]
    if not (width > 0 and height > 0):
        return np.zeros(len(boxes))
    scale = min(_SCALE, math.sqrt(_MOST_PIXELS / (width * height)))
    deadline = time.monotonic() + _SECONDS
    with_objects = _draw(page, frame, region, scale, deadline)
    if with_objects is None:
        return None
    items = [ctypes.cast(address, pdfium.FPDF_PAGEOBJECT) for address in objects]
    try:
        for item in items:
            pdfium.FPDFPageObj_SetIsActive(item, False)
        without = _draw(page, frame, region, scale, deadline + _SECONDS)
    finally:
        for item in items:
            pdfium.FPDFPageObj_SetIsActive(item, True)
    if without is None:
        return None
    changed = np.abs(with_objects.astype(np.int16) - without).max(axis=2) > SAME_COLOR
    places = (boxes - np.tile(region[:2], 2)) * scale
    found = _share(changed, places)
    if readable is not None and readable.any():
        blue_first = slice(None, None, -1)
        changed[changed] = ~alike(with_objects[changed][:, blue_first], without[changed][:, blue_first])
        found[readable] = _share(changed, places[readable])
    return found


def _share(changed: Flags, boxes: Floats) -> Floats:
    """Return the share of changed pixels in each box (n, 4), in pixels."""
    sums = np.zeros((changed.shape[0] + 1, changed.shape[1] + 1), dtype=np.int64)
    sums[1:, 1:] = changed.cumsum(axis=0).cumsum(axis=1)
    x0, y0 = np.floor(boxes[:, :2]).astype(np.int64).T
    x1, y1 = np.ceil(boxes[:, 2:]).astype(np.int64).T
    x0, x1 = np.clip(x0, 0, changed.shape[1]), np.clip(np.maximum(x1, x0 + 1), 0, changed.shape[1])
    y0, y1 = np.clip(y0, 0, changed.shape[0]), np.clip(np.maximum(y1, y0 + 1), 0, changed.shape[0])
    count = sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]
    return count / np.maximum(1, (x1 - x0) * (y1 - y0))  # type: ignore[no-any-return]


def _draw(page: Any, frame: PageFrame, region: Floats, scale: float, deadline: float) -> Picture | None:
    """Return a region (x0, top, x1, bottom in points) of a page as a picture (height, width, 3)."""
    width, height = (max(1, math.ceil(side * scale)) for side in (region[2:] - region[:2]).tolist())
    stride = 4 * width
    buffer = (ctypes.c_ubyte * (stride * height))()
    ctypes.memset(buffer, 0xFF, stride * height)
    bitmap = pdfium.FPDFBitmap_CreateEx(width, height, pdfium.FPDFBitmap_BGRx, buffer, stride)
    if not bitmap:
        return None
    pause = pdfium.IFSDK_PAUSE(version=1)
    pause.NeedToPauseNow = type(pause.NeedToPauseNow)(lambda _: time.monotonic() > deadline)
    begin_x, begin_y = (-round(side * scale) for side in region[:2].tolist())
    whole_x, whole_y = round(frame.width * scale), round(frame.height * scale)
    try:
        status = pdfium.FPDF_RenderPageBitmap_Start(
            bitmap, page, begin_x, begin_y, whole_x, whole_y, 0, pdfium.FPDF_ANNOT, pause
        )
        pdfium.FPDF_RenderPage_Close(page)
        done = status == pdfium.FPDF_RENDER_DONE
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
    if not done:
        return None
    return np.frombuffer(buffer, dtype=np.uint8).reshape(height, width, 4)[:, :, :3]
