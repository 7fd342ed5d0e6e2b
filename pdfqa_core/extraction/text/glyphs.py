"""The characters of one page with their places, read through PDFium in one pass. Knows nothing about lines.

Coordinates are points from the top left corner of the page as it is shown (crop box and rotation applied).
"""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import cycle, islice, repeat
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

# ----------------------------------------------------------------------------------------------------
# Hundreds of thousands of calls to PDFium without a step in Python for each. Knows nothing about pages.
#
# A ctypes call spends most of its time on converting arguments. Here they are converted once and used again, the
# calls run inside `map`, and what they write is copied from one small buffer.

_AT_ONCE = 256  # calls whose results are copied at once


def quick(function: Any, result: Any = None) -> Any:
    """Return `function` for many quick calls, with the interpreter's lock held.

    Arguments are not converted: they must be C integers, pointers made by `byref`, or addresses made by `argument`.
    """
    return ctypes.cast(function, ctypes.PYFUNCTYPE(result))


argument = ctypes.c_void_p.from_param
"""Returns the address (int) of something in PDFium as an argument for a `quick` function."""


def handle_argument(handle: Any) -> Any:
    """Return a handle (a pointer of ctypes) as an argument for a `quick` function."""
    return argument(ctypes.addressof(handle.contents))


class Cells:
    """Rows of `count` cells that C functions fill again and again; `collect` keeps what each call wrote.

    `pointers` has those to the cells of each column: a call for each row, one after the other.
    """

    def __init__(self, kind: Any, count: int) -> None:
        buffer = (kind * (count * _AT_ONCE))()
        step = ctypes.sizeof(kind)
        self.pointers = tuple(
            [ctypes.byref(buffer, step * place) for place in range(column, count * _AT_ONCE, count)]
            for column in range(count)
        )
        self._rows = np.frombuffer(buffer, dtype=np.dtype(kind)).reshape(_AT_ONCE, -1)

    def collect(self, number: int, calls: Iterator[Any], otherwise: Any = 0) -> Any:
        """Return what this number of calls write: a row of an array for each, `otherwise` where one writes nothing."""
        found = np.empty((number, self._rows.shape[1]), dtype=self._rows.dtype)
        for begin in range(0, number, _AT_ONCE):
            self._rows[:] = otherwise
            deque(islice(calls, _AT_ONCE), maxlen=0)  # all of them without a step in Python
            found[begin : begin + _AT_ONCE] = self._rows[: number - begin]
        return found


@cache
def cells(kind: Any, count: int) -> Cells:
    """Return rows of `count` cells of a ctypes kind; always the same, as PDFium is called by one thread only."""
    return Cells(kind, count)


def colors(function: Any, objects: Sequence[Any]) -> Integers:
    """Return the colours (n, 4), RGBA, of objects that a function tells; black where it is not one colour."""
    into = cells(ctypes.c_uint, 4)
    calls = map(function, objects, *map(cycle, into.pointers))
    found: Integers = into.collect(len(objects), calls, (0, 0, 0, 0xFF)).astype(np.int64)
    return found


# ----------------------------------------------------------------------------------------------------
# The characters of one page with their places, read through PDFium in one pass. Knows nothing about lines.

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Addresses = npt.NDArray[np.uint64]
Whole = TypeVar("Whole", Integers, Addresses)
Place = tuple[float, float, float, float]

BOLD_NAME = re.compile(r"bold|black|heavy|demi|(?:cm|sf|ec|lm)\w?bx|sfsx|(?:^|[-,])bd", re.IGNORECASE)
_BOLD_WEIGHT = 600
_FORCE_BOLD = 1 << 18
_BLACK = 0x000000FF
_STROKE, _STROKE_AND_CLIP = 1, 5  # text render modes, PDF 32000-1, table 106
_STRAIGHT = 1e-6  # of a text matrix: an entry that is 0
_ONE_BASELINE = 1.5  # of the font size: characters of a text object that reach further stand below each other
SLANTED = 4  # as a turn: by no quarters
_SLANT = 0.05  # rise over run from which on text is slanted
_AGAIN = 0.1  # of the font size: a letter that is printed once more so near is the same one
_STRIDE = 8  # characters
_NARROWEST, _WIDEST = 0.15, 0.9  # of the font size: the room of a space
_AS_WIDE = 0.8  # of the spaces of a line: what else is so wide is one
_INK = np.ones(0x3002, dtype=np.bool_)  # by code, the last one for all beyond: all but white space
_INK[[0x09, 0x0A, 0x0D, 0x20, 0xA0, *range(0x2000, 0x200B), 0x3000]] = False


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

    def shown(self, place: Place) -> Place:
        """Return x0, top, x1, bottom on the shown page of left, bottom, right, top in user space."""
        x, y = self.map(np.array(place[::2]), np.array(place[1::2]))
        return float(x.min()), float(y.min()), float(x.max()), float(y.max())


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a page in the order of its content stream; arrays of equal length n.

    `boxes` is (n, 4): x0, top, x1, bottom of the ink; `y` the height of the baseline of level text, `x` its place in
    text turned by an odd number of quarters (the other coordinate is that of the first character of the text object,
    or on a page with a script written from right to left of the character);
    `narrow` is the size in the direction in which it is smaller, in points;
    `turn` the clockwise quarter turns of the text against the page, or SLANTED; `space` marks white space (boxes are
    meaningless there); `owners` the addresses of the text objects, 0 for white space.
    """

    codes: Integers
    boxes: Floats
    x: Floats
    y: Floats
    size: Floats
    narrow: Floats
    turn: Integers
    bold: Flags
    space: Flags
    mode: Integers
    color: Integers  # 0xRRGGBBAA of the fill, or of the outline where only that is drawn
    owners: Addresses
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


_char_box = quick(pdfium.FPDFText_GetCharBox)
_char_origin = quick(pdfium.FPDFText_GetCharOrigin)
_char_code = quick(pdfium.FPDFText_GetUnicode, ctypes.c_int)
_char_matrix = quick(pdfium.FPDFText_GetMatrix)
_text = quick(pdfium.FPDFText_GetText, ctypes.c_int)
_font_size = quick(pdfium.FPDFText_GetFontSize, ctypes.c_double)
_text_object = quick(pdfium.FPDFText_GetTextObject, ctypes.c_size_t)
_font = quick(pdfium.FPDFTextObj_GetFont, ctypes.c_size_t)
_render_mode = quick(pdfium.FPDFTextObj_GetTextRenderMode, ctypes.c_int)
_fill_color = quick(pdfium.FPDFPageObj_GetFillColor)
_stroke_color = quick(pdfium.FPDFPageObj_GetStrokeColor)


def _codes(handle: Any, count: int) -> Integers:
    buffer = np.zeros(count + 1, dtype=np.uint16)
    written = _text(handle, 0, count, argument(buffer.ctypes.data))
    if written - 1 == count and not (buffer & 0xF800 == 0xD800).any():
        return buffer[:count].astype(np.int64)
    codes = np.fromiter(map(_char_code, repeat(handle), range(count)), np.int64, count) & 0xFFFFFFFF
    # a character beyond the first 65,536 comes as two halves (UTF-16) at one place: the second one is left empty
    high, low = codes[:-1], codes[1:]
    first = np.flatnonzero((high >= 0xD800) & (high < 0xDC00) & (low >= 0xDC00) & (low < 0xE000))
    codes[first] = 0x10000 + (codes[first] - 0xD800 << 10) + codes[first + 1] - 0xDC00
    codes[first + 1] = 0
    return codes


def _is_bold(address: int) -> bool:
    if not address:
        return False
    font = ctypes.cast(address, pdfium.FPDF_FONT)
    name = ctypes.create_string_buffer(256)
    pdfium.FPDFFont_GetBaseFontName(font, name, 256)
    return (
        BOLD_NAME.search(name.value.decode("utf-8", "replace")) is not None
        or pdfium.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
        or bool(pdfium.FPDFFont_GetFlags(font) & _FORCE_BOLD)
    )


@dataclass(frozen=True, slots=True)
class _Styles:
    """What the characters of a text object share; arrays of length m, one entry for each object."""

    size: Floats
    narrow: Floats
    narrowed: Floats  # how many times as wide as high, at most 1
    turn: Integers
    bold: Flags
    mode: Integers
    color: Integers
    matrix: Floats  # (m, 6): from the text's own space, in which it runs along x, to user space


def _styles(handle: Any, first: list[int], addresses: list[int], frame: PageFrame) -> _Styles:
    """Return the styles of the text objects at these addresses, whose first characters are `first`."""
    count = len(addresses)
    objects = list(map(argument, addresses))
    into = cells(ctypes.c_float * 6, 1)
    calls = map(_char_matrix, repeat(handle), first, cycle(into.pointers[0]))
    matrix = into.collect(count, calls).astype(np.float64)
    right_x, right_y, up_x, up_y, _, _ = matrix.T
    wide, high = np.hypot(right_x, right_y), np.hypot(up_x, up_y)
    scale = np.sqrt(np.abs(right_x * up_y - right_y * up_x))
    right_x, right_y = np.where(scale, right_x, 1.0), np.where(scale, right_y, 0.0)
    a, b, c, d, _, _ = frame.matrix
    shown_x, shown_y = a * right_x + c * right_y, b * right_x + d * right_y
    across, down = np.abs(shown_x), np.abs(shown_y)
    turn = np.where(across >= down, np.where(shown_x >= 0, 0, 2), np.where(shown_y > 0, 1, 3))
    slanted = np.minimum(across, down) > _SLANT * np.maximum(across, down)
    if 2 * int(slanted.sum()) < count:  # else the page is askew
        turn[slanted] = SLANTED
    fonts = np.fromiter(map(_font, objects), np.uint64, count)
    known = distinct(fonts)
    mode = np.fromiter(map(_render_mode, objects), np.int64, count)
    font_size = np.fromiter(map(_font_size, repeat(handle), first), np.float64, count)
    rgba = colors(_fill_color, objects)
    outlined = np.flatnonzero((mode == _STROKE) | (mode == _STROKE_AND_CLIP))
    if len(outlined):
        rgba[outlined] = colors(_stroke_color, [objects[i] for i in outlined.tolist()])
    return _Styles(
        font_size * scale,
        font_size * np.minimum(wide, high),
        np.minimum(1.0, np.divide(wide, high, out=np.ones(count), where=high > 0)),
        turn,
        np.array([_is_bold(int(address)) for address in known], dtype=np.bool_)[np.searchsorted(known, fonts)],
        mode,
        rgba @ np.array([1 << 24, 1 << 16, 1 << 8, 1]),
        matrix,
    )


def changes(values: npt.NDArray[Any]) -> Flags:
    """Return which values (n,) differ from the one before; the first one does."""
    found = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def distinct(values: Whole) -> Whole:
    """Return each value once, ascending (numpy's own function loads a module of 20 ms first)."""
    ordered = np.sort(values)
    found: Whole = ordered[changes(ordered)]
    return found


def right_to_left_codes(codes: Integers) -> Flags:
    """Return which code points (n,) belong to scripts written from right to left."""
    if codes.max(initial=0) < 0x590:
        return np.zeros(len(codes), dtype=np.bool_)
    found: Flags = ((codes >= 0x590) & (codes < 0x900)) | ((codes >= 0xFB1D) & (codes < 0xFF00) & (codes != 0xFEFF))
    return found


def _owners(handle: Any, codes: Integers, *, leftwards: bool) -> Addresses:
    """Return the address of each character's text object; 0 for white space and what PDFium made up.

    A text object's characters follow one another, so that only each few characters are asked for it, and those
    between two of different objects. Scripts written from right to left (`leftwards`) are stored in another order.
    """
    ink = np.flatnonzero(_INK[np.minimum(codes, len(_INK) - 1)])
    own = np.zeros(len(ink), dtype=np.uint64)
    step = 1 if leftwards else _STRIDE
    own[::step] = _ask(handle, ink[::step])
    while step > 1:
        places = np.arange(step // 2, len(ink), step)
        own[places] = own[places - step // 2]
        behind = np.minimum(places + step // 2, len(ink) - 1)
        unsure = places[(own[places] != own[behind]) | (places + step // 2 > behind)]
        own[unsure] = _ask(handle, ink[unsure])
        step //= 2
    owners = np.zeros(len(codes), dtype=np.uint64)
    owners[ink] = own
    return owners


def _ask(handle: Any, indexes: Integers) -> Addresses:
    return np.fromiter(map(_text_object, repeat(handle), indexes.tolist()), np.uint64, len(indexes))


def _boxes(handle: Any, wanted: Integers, count: int, frame: PageFrame) -> Floats:
    """Return the boxes (count, 4) of characters on the shown page; zeros where they are not wanted."""
    into = cells(ctypes.c_double, 4)
    calls = map(_char_box, repeat(handle), wanted.tolist(), *map(cycle, into.pointers))
    places = into.collect(len(wanted), calls)
    x, y = frame.map(places.T[:2], places.T[2:])  # left and right; bottom and top
    boxes = np.zeros((4, count))
    boxes[:, wanted] = np.minimum(*x), np.minimum(*y), np.maximum(*x), np.maximum(*y)
    return boxes.T


def _origins(
    handle: Any,
    drawn: Integers,
    starts: Integers,
    lengths: Integers,
    styles: _Styles,
    boxes: Floats,
    *,
    leftwards: bool,
) -> Floats:
    """Return the origins (n, 2) of the characters `drawn`, whose text objects begin at `starts`; `boxes` is (n, 4).

    A text object begins where its matrix says and lies on one baseline: where that is level or upright, the one
    coordinate that tells lines apart is the same for all of its characters. Only those of slanted text are asked one
    by one, of fonts that write downwards (there the boxes of an object lie below each other), and all where some is
    written from right to left (`leftwards`): their order tells that of the text.
    """
    origins = np.repeat(styles.matrix[:, 4:], lengths, axis=0)
    straight = (np.abs(styles.matrix[:, 0]) < _STRAIGHT) | (np.abs(styles.matrix[:, 1]) < _STRAIGHT)
    left, top, right, bottom = boxes.T
    across = np.where(
        styles.turn % 2 == 0,
        np.maximum.reduceat(bottom, starts) - np.minimum.reduceat(top, starts),
        np.maximum.reduceat(right, starts) - np.minimum.reduceat(left, starts),
    )
    asked = np.repeat(~straight | (across > _ONE_BASELINE * styles.size), lengths) | leftwards
    if asked.any():
        into = cells(ctypes.c_double, 2)
        wanted = drawn[asked].tolist()
        calls = map(_char_origin, repeat(handle), wanted, *map(cycle, into.pointers))
        origins[asked] = into.collect(len(wanted), calls)
    return origins


def read_glyphs(page: Any, text_page: Any) -> Glyphs:
    """Return the characters of a page (raw FPDF_PAGE and FPDF_TEXTPAGE handles), PDFium's own line ends left out."""
    frame = page_frame(page)
    count = max(0, pdfium.FPDFText_CountChars(text_page))
    if not count:
        return _no_glyphs(frame)
    handle = handle_argument(text_page)
    codes = _codes(handle, count)
    leftwards = bool(right_to_left_codes(codes).any())
    owners = _owners(handle, codes, leftwards=leftwards)
    drawn = np.flatnonzero(owners)
    if not len(drawn):
        return _no_glyphs(frame)
    own = owners[drawn]
    starts = np.flatnonzero(changes(own))
    lengths = np.diff(starts, append=len(own))
    styles = _styles(handle, drawn[starts].tolist(), own[starts].tolist(), frame)

    def spread(values: Any, otherwise: Any) -> Any:
        full = np.full(count, otherwise, dtype=values.dtype)
        full[drawn] = np.repeat(values, lengths)
        return full

    boxes = _boxes(handle, drawn, count, frame)
    origins = _origins(handle, drawn, starts, lengths, styles, boxes[drawn], leftwards=leftwards)
    x, y = np.zeros(count), np.zeros(count)
    x[drawn], y[drawn] = frame.map(origins[:, 0], origins[:, 1])
    space = owners == 0
    if not (np.isfinite(boxes).all() and np.isfinite(x).all() and np.isfinite(y).all()):
        infinite = ~(np.isfinite(boxes).all(axis=1) & np.isfinite(x) & np.isfinite(y))
        boxes[infinite], x[infinite], y[infinite] = 0.0, 0.0, 0.0
        space |= infinite
    turn = spread(styles.turn, 0)
    size = spread(styles.size, 0.0)
    ink = np.where(turn % 2 == 0, boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0])
    own_matrix = size < 0.6 * ink  # fonts whose size lies in their own matrix
    size = np.where(own_matrix, 1.3 * ink, size)
    narrow = np.where(own_matrix, size * spread(styles.narrowed, 1.0), spread(styles.narrow, 0.0))
    second = starts[1:][codes[drawn[starts[1:]]] == codes[drawn[starts[1:] - 1]]]
    first, second = drawn[second - 1], drawn[second]
    near = np.abs(boxes[second] - boxes[first]).max(axis=1, initial=0.0) < _AGAIN * size[second]
    codes[second[near]] = 0  # printed twice to look bold
    found = Glyphs(
        codes,
        boxes,
        x,
        y,
        size,
        narrow,
        turn,
        spread(styles.bold, False),
        space,
        spread(styles.mode, 0),
        spread(styles.color, _BLACK),
        owners,
        frame,
    )
    return _with_spaces(found, _without_space(found, text_page))


def _without_space(glyphs: Glyphs, text_page: Any) -> Integers:
    """Return the characters that have room for a space before them, as wide as the others of their line, and none.

    PDFium leaves it out behind a character without width, such as a vowel sign. Looked for in level text, between two
    text objects: within one the file says itself what is apart.
    """
    a = np.flatnonzero(~glyphs.space[:-1] & ~glyphs.space[1:] & (glyphs.owners[:-1] != glyphs.owners[1:]))
    a = a[_room_for_space(glyphs, a, a + 1)]
    if not len(a):
        return a
    index = np.flatnonzero(~glyphs.space & (glyphs.turn == 0))
    before, after = index[:-1], index[1:]
    level = np.abs(glyphs.y[after] - glyphs.y[before]) < _NARROWEST * glyphs.size[before]
    spaced = np.flatnonzero((after - before > 1) & _room_for_space(glyphs, before, after))
    lines = np.cumsum(~level)
    line_of_spaces, widths = lines[spaced], _gaps(glyphs, before[spaced], after[spaced])
    usual: dict[int, float] = {}
    found = []
    for one, line in zip(a.tolist(), lines[np.searchsorted(before, a)].tolist(), strict=True):
        if line not in usual:
            own = sorted(widths[slice(*np.searchsorted(line_of_spaces, [line, line + 1]).tolist())].tolist())
            usual[line] = own[(len(own) - 1) // 2] if own else np.inf
        if glyphs.boxes[one + 1, 0] - glyphs.boxes[one, 2] > _AS_WIDE * usual[line]:
            room = _room(text_page, one + 1, glyphs.frame)[0] - _room(text_page, one, glyphs.frame)[2]
            if room > _NARROWEST * glyphs.size[one]:
                found.append(one + 1)
    return np.array(found, dtype=np.int64)


def _gaps(glyphs: Glyphs, a: Integers, b: Integers) -> Floats:
    gaps: Floats = glyphs.boxes[b, 0] - glyphs.boxes[a, 2]
    return gaps


def _room_for_space(glyphs: Glyphs, a: Integers, b: Integers) -> Flags:
    """Return between which characters of level text (a, b: their numbers) there is room for a space."""
    size, gap = np.maximum(glyphs.size[a], glyphs.size[b]), _gaps(glyphs, a, b)
    found: Flags = (glyphs.turn[a] == 0) & (glyphs.turn[b] == 0) & (gap > _NARROWEST * size) & (gap < _WIDEST * size)
    return found & (np.abs(glyphs.y[b] - glyphs.y[a]) < _NARROWEST * size)


def _room(text_page: Any, index: int, frame: PageFrame) -> Place:
    """Return the box on the shown page that a character takes, with the room that its font gives it."""
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    return frame.shown((box.left, box.bottom, box.right, box.top))


def _with_spaces(glyphs: Glyphs, places: Integers) -> Glyphs:
    """Return the glyphs with a space before each of these."""
    if not len(places):
        return glyphs
    blank: dict[str, Any] = {"codes": 0x20, "space": True, "size": glyphs.size[places]}
    return replace(
        glyphs,
        **{
            one.name: np.insert(getattr(glyphs, one.name), places, blank.get(one.name, 0), axis=0)
            for one in fields(Glyphs)
            if one.name != "frame"
        },
    )


def _no_glyphs(frame: PageFrame) -> Glyphs:
    nothing, integers = np.zeros(0), np.zeros(0, dtype=np.int64)
    flags = np.zeros(0, dtype=np.bool_)
    return Glyphs(
        integers,
        np.zeros((0, 4)),
        nothing,
        nothing,
        nothing,
        nothing,
        integers,
        flags,
        flags,
        integers,
        integers,
        integers.astype(np.uint64),
        frame,
    )
