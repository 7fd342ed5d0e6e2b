"""The characters of one page with their places, read through PDFium in one pass. Knows nothing about lines.

Coordinates are points from the top left corner of the page as it is shown (crop box and rotation applied).
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BOLD = re.compile(r"bold|black|heavy|demi|(?:cm|sf|ec|lm)\w?bx|sfsx|(?:^|[-,])bd", re.IGNORECASE)
_BOLD_WEIGHT = 600
_FORCE_BOLD = 1 << 18


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The shown part of a page: its size in points, and the map from PDF user space to it."""

    width: float
    height: float
    matrix: tuple[float, float, float, float, float, float]  # x' = a x + c y + e, y' = b x + d y + f
    rotation: int  # clockwise quarter turns

    def map(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return points of user space as points of the shown page, origin at the top left."""
        a, b, c, d, e, f = self.matrix
        return a * x + c * y + e, b * x + d * y + f


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a page in the order of its content stream; arrays of equal length n.

    `boxes` is (n, 4): x0, top, x1, bottom of the ink; `x`, `y` is the origin on the baseline; `turn` the clockwise
    quarter turns of the text against the page; `space` marks white space (boxes are meaningless there).
    """

    codes: Integers
    boxes: Floats
    x: Floats
    y: Floats
    size: Floats
    turn: Integers
    bold: Flags
    space: Flags
    mode: Integers
    color: Integers  # 0xRRGGBBAA of the fill
    frame: PageFrame

    def __len__(self) -> int:
        return len(self.codes)


def page_frame(page: Any) -> PageFrame:
    """Return the frame of a loaded page (a raw FPDF_PAGE)."""
    box = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, box)
    left, right = sorted((box.left, box.right))
    bottom, top = sorted((box.bottom, box.top))
    rotation = max(0, pdfium.FPDFPage_GetRotation(page)) % 4
    matrix = (
        (1.0, 0.0, 0.0, -1.0, -left, top),
        (0.0, 1.0, 1.0, 0.0, -bottom, -left),
        (-1.0, 0.0, 0.0, 1.0, right, -bottom),
        (0.0, -1.0, -1.0, 0.0, top, right),
    )[rotation]
    width, height = right - left, top - bottom
    if rotation % 2:
        width, height = height, width
    return PageFrame(width, height, matrix, rotation)


def _caller(function: Any, *types: Any, result: Any = ctypes.c_int) -> Any:
    """Return `function` taking plain addresses: twice as fast as passing ctypes objects."""
    return ctypes.cast(function, ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_int, *types))


_ADDRESS = ctypes.c_void_p
_char_box = _caller(pdfium.FPDFText_GetCharBox, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS)
_char_origin = _caller(pdfium.FPDFText_GetCharOrigin, _ADDRESS, _ADDRESS)
_text_object = _caller(pdfium.FPDFText_GetTextObject, result=ctypes.c_void_p)


def _codes(text_page: Any, count: int) -> Integers:
    buffer = np.zeros(count + 1, dtype=np.uint16)
    written = pdfium.FPDFText_GetText(text_page, 0, count, buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_ushort)))
    if written - 1 == count:
        codes = buffer[:count].astype(np.int64)
        if not ((codes >= 0xD800) & (codes < 0xE000)).any():
            return codes
    return np.fromiter((pdfium.FPDFText_GetUnicode(text_page, i) for i in range(count)), np.int64, count)


@dataclass(slots=True)
class _Style:
    size: float
    turn: int
    bold: bool
    mode: int
    color: int


def _is_bold(font: Any, known: dict[int, bool]) -> bool:
    address = ctypes.cast(font, ctypes.c_void_p).value or 0
    if not address:
        return False
    if address not in known:
        name = ctypes.create_string_buffer(256)
        pdfium.FPDFFont_GetBaseFontName(font, name, 256)
        known[address] = (
            _BOLD.search(name.value.decode("utf-8", "replace")) is not None
            or pdfium.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
            or bool(pdfium.FPDFFont_GetFlags(font) & _FORCE_BOLD)
        )
    return known[address]


def _style(text_page: Any, index: int, address: int, frame: PageFrame, fonts: dict[int, bool]) -> _Style:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text_page, index, matrix)
    scale = abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5
    right_x, right_y = (matrix.a, matrix.b) if scale else (1.0, 0.0)
    a, b, c, d, _, _ = frame.matrix
    shown_x, shown_y = a * right_x + c * right_y, b * right_x + d * right_y
    level = abs(shown_x) >= abs(shown_y)
    turn = (0 if shown_x >= 0 else 2) if level else (1 if shown_y > 0 else 3)
    text_object = ctypes.cast(address, pdfium.FPDF_PAGEOBJECT)
    rgba = [ctypes.c_uint(0) for _ in range(4)]
    color = 0x000000FF
    if pdfium.FPDFPageObj_GetFillColor(text_object, *rgba):
        color = rgba[0].value << 24 | rgba[1].value << 16 | rgba[2].value << 8 | rgba[3].value
    return _Style(
        pdfium.FPDFText_GetFontSize(text_page, index) * scale,
        turn,
        _is_bold(pdfium.FPDFTextObj_GetFont(text_object), fonts),
        pdfium.FPDFTextObj_GetTextRenderMode(text_object),
        color,
    )


def read_glyphs(page: Any, text_page: Any) -> Glyphs:
    """Return the characters of a page (raw FPDF_PAGE and FPDF_TEXTPAGE handles), PDFium's own line ends left out."""
    frame = page_frame(page)
    count = max(0, pdfium.FPDFText_CountChars(text_page))
    codes = _codes(text_page, count)
    handle = ctypes.cast(text_page, ctypes.c_void_p).value
    places = np.zeros((count, 4))  # left, right, bottom, top
    origins = np.zeros((count, 2))
    addresses = np.zeros(count, dtype=np.uint64)
    place, origin = places.ctypes.data, origins.ctypes.data
    for i in range(count):
        address = _text_object(handle, i)
        if address:
            addresses[i] = address
            _char_box(handle, i, place, place + 8, place + 16, place + 24)
            _char_origin(handle, i, origin, origin + 8)
        place += 32
        origin += 16
    unique, first, which = np.unique(addresses, return_index=True, return_inverse=True)
    fonts: dict[int, bool] = {}
    styles = [
        _style(text_page, int(i), int(address), frame, fonts) if address else _Style(0.0, 0, False, 0, 0xFF)
        for address, i in zip(unique, first, strict=True)
    ]
    x0, y0 = frame.map(places[:, 0], places[:, 2])
    x1, y1 = frame.map(places[:, 1], places[:, 3])
    boxes = np.stack([np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1)], axis=1)
    x, y = frame.map(origins[:, 0], origins[:, 1])
    finite = np.isfinite(boxes).all(axis=1) & np.isfinite(x) & np.isfinite(y)
    boxes[~finite], x[~finite], y[~finite] = 0.0, 0.0, 0.0
    space = (addresses == 0) | np.isin(codes, (0x20, 0xA0, 0x09, 0x0A, 0x0D, 0x3000)) | ~finite
    space |= (codes >= 0x2000) & (codes <= 0x200A)

    def spread(values: list[Any], dtype: Any) -> Any:
        return np.array(values, dtype=dtype)[which] if count else np.zeros(0, dtype=dtype)

    turn = spread([s.turn for s in styles], np.int64)
    size = spread([s.size for s in styles], np.float64)
    ink = np.where(turn % 2 == 0, boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0])
    size = np.where(size < 0.6 * ink, 1.3 * ink, size)  # fonts whose size lies in their own matrix
    return Glyphs(
        codes,
        boxes,
        x,
        y,
        size,
        turn,
        spread([s.bold for s in styles], np.bool_),
        space,
        spread([s.mode for s in styles], np.int64),
        spread([s.color for s in styles], np.int64),
        frame,
    )
