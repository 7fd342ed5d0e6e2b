"""Text that a person does not see on the page: invisible, tiny, off the page, under something, in its own colour.

In doubt text counts as visible; the searchable layer of a scan is no hidden text. What geometry makes suspicious is
hidden only if the page looks the same without it; geometry alone decides where drawing takes too long.
"""

from __future__ import annotations

import ctypes
import difflib
import math
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.drawn import IMAGE, PATH, SHADING, TEXT, Drawn, clip_boxes, layers, path_paint, read_drawn
from pdfqa_core.extraction.text.glyphs import (
    Addresses,
    Flags,
    Floats,
    Glyphs,
    Integers,
    PageFrame,
    argument,
    changes,
    distinct,
    quick,
    read_glyphs,
)

# ----------------------------------------------------------------------------------------------------
# Text that a file gives in place of what is drawn (`/ActualText`, PDF 32000-1, 14.9.4) and that says something else.
#
# It is meant for ligatures, hyphens and letters that a font does not name; PDFium reads it instead of the glyphs.

_KEY = b"ActualText"
_MOST_MARKS = 8  # looked at for each object
_ALIKE = 0.75  # share of characters in common (difflib) from which on both say the same
_LONGEST = 2000  # characters that are compared
_FEW = 2  # letters: a symbol that the font calls by another letter
_TO_A_GLYPH = 4  # letters that a glyph without a known letter may stand for

_string = quick(pdfium.FPDFPageObjMark_GetParamStringValue, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class _Marked:
    """A piece of a page with a text in place of its own: the addresses of its text objects."""

    owners: set[int]


def marked_texts(drawn: Drawn) -> list[_Marked]:
    """Return the pieces of a page with `/ActualText`, and take that away from them: the next text page lacks it."""
    pieces: dict[int, _Marked] = {}
    length = ctypes.c_ulong()
    room, size = ctypes.c_ulong.from_param(0), ctypes.byref(length)
    for numbers, known, which in drawn.marks:
        arguments = (repeat(_KEY), repeat(None), repeat(room), repeat(size))
        has = np.fromiter(map(_string, map(argument, known.tolist()), *arguments), np.bool_, len(known))
        for place in has[which].nonzero()[0].tolist():
            address = int(drawn.addresses[numbers[place]])
            pieces.setdefault(int(known[which[place]]), _Marked(set())).owners.add(address)
    for piece in pieces.values():
        for address in piece.owners:
            _remove(address)
    return list(pieces.values())


def _remove(address: int) -> None:
    item = ctypes.cast(address, pdfium.FPDF_PAGEOBJECT)
    for number in range(_MOST_MARKS):
        mark = pdfium.FPDFPageObj_GetMark(item, number)
        if not mark:
            return
        pdfium.FPDFPageObjMark_RemoveParam(item, mark, _KEY)


def find_forged(told: Glyphs, drawn: Glyphs, pieces: list[_Marked]) -> tuple[Flags, Flags]:
    """Return which characters the file states but does not draw, (n,), and which it draws in their place, (m,).

    `told` are the characters with, `drawn` those without `/ActualText`.
    """
    lies, truth = np.zeros(len(told), dtype=np.bool_), np.zeros(len(drawn), dtype=np.bool_)
    for piece in pieces:
        owners = np.fromiter(piece.owners, np.uint64, len(piece.owners))
        there, here = np.isin(told.owners, owners), np.isin(drawn.owners, owners)
        if _says_something_else(_letters(told, there), _letters(drawn, here), int(here.sum())):
            lies |= there
            truth |= here
    return lies, truth | _between(drawn, truth)


def _between(glyphs: Glyphs, chosen: Flags) -> Flags:
    """Return the white space between two chosen characters."""
    ink = np.flatnonzero(~glyphs.space)
    places = np.searchsorted(ink, np.arange(len(glyphs)))
    before, after = ink[np.clip(places - 1, 0, len(ink) - 1)], ink[np.clip(places, 0, len(ink) - 1)]
    return glyphs.space & chosen[before] & chosen[after] if chosen.any() else chosen


def _tell_letters(glyphs: Glyphs, pieces: list[_Marked]) -> bool:
    """Return whether what stands in place of these pieces has a letter or a digit."""
    owners = [owner for piece in pieces for owner in piece.owners]
    return bool(owners) and bool(_letters(glyphs, np.isin(glyphs.owners, np.array(owners, np.uint64)), len(glyphs)))


def _letters(glyphs: Glyphs, chosen: Flags, most: int = _LONGEST) -> str:
    """Return the letters and digits of the chosen characters, in a form in which ligatures and accents do not count."""
    codes = glyphs.codes[chosen][:most].tolist()
    text = "".join(chr(code) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else " " for code in codes)
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if c.isalnum())


def _says_something_else(told: str, drawn: str, glyphs: int) -> bool:
    if not told or told == drawn:
        return False
    if not drawn:  # a picture of letters, or a font that does not say which its glyphs are
        return len(told) > _TO_A_GLYPH * max(1, glyphs)
    if len(told) <= _FEW and not told.isascii():
        return False
    return difflib.SequenceMatcher(None, told, drawn, autojunk=False).ratio() < _ALIKE


def joined(first: Glyphs, second: Glyphs, chosen: Flags) -> Glyphs:
    """Return the glyphs of the first, and behind them the chosen ones of the second, of one page."""
    arrays = [field.name for field in fields(Glyphs) if field.name != "frame"]
    both: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)[chosen]]) for name in arrays
    }
    return replace(first, **both)


# ----------------------------------------------------------------------------------------------------
# How well colours can be told apart: the contrast ratio of WCAG 2.2 (1.4.3), from 1 (none) to 21.

Colors = npt.NDArray[np.integer] | npt.NDArray[np.floating]

LEAST = 1.5  # below this, text is taken to be hidden in its ground
_SHADES = 64  # of 255: colours that differ more than this in a channel can be seen by their hue
_PALE, _PALE_SHADES = 0.6, 128  # relative luminance from which on it takes more
_NONE = 1.25  # pale colours below this contrast: yellow on white

# Linear light of each of the 256 values of a channel (sRGB), and what each channel adds to the luminance.
_LINEAR = np.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in np.arange(256) / 255])
_SHARES = np.array([0.2126, 0.7152, 0.0722])


def luminance(colors: Colors) -> Floats:
    """Return the relative luminance (…,), 0 to 1, of colours (…, 3) in red, green, blue from 0 to 255."""
    found: Floats = _LINEAR[np.clip(colors, 0, 255).astype(np.uint8)] @ _SHARES
    return found


def contrast(first: Floats, second: Floats) -> Floats:
    """Return the contrast ratio of two luminances (or arrays of them)."""
    return (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)


def alike(first: Colors, second: Colors) -> Flags:
    """Return which colours (…, 3) cannot be told apart well enough to read one on the other.

    The contrast ratio does not see hues: where colours differ much in one channel, text counts as visible.
    """
    one, other = luminance(first), luminance(second)
    difference = np.abs(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)).max(axis=-1)
    ratio = contrast(one, other)
    pale = (np.minimum(one, other) > _PALE) & ((difference <= _PALE_SHADES) | (ratio < _NONE))
    found: Flags = (ratio < LEAST) & ((difference <= _SHADES) | pale)
    return found


def blended(colors: Floats, alpha: Floats, ground: Colors) -> Floats:
    """Return colours (n, 3) as they look at this opacity (n,), 0 to 1, on a ground (3,) or (n, 3)."""
    opacity = alpha[:, None]
    found: Floats = colors * opacity + np.asarray(ground, dtype=np.float64) * (1 - opacity)
    return found


# ----------------------------------------------------------------------------------------------------
# Text that other text is printed over, so that nobody can read it.

_OVERPRINT_CELL = 1.0  # points; squares that the page is parted into
_MOST_OVERPRINT_CELLS = 2_000_000
_MOST_OF_A_GLYPH = 64  # squares along a side: larger characters are drawings, or watermarks behind the text
_INNER = 0.2  # of its box: the rim that does not count, so that neighbours do not cover each other
_COVERED = 0.5  # of the squares of a letter that later letters cover
_SIZES = 2.0  # how many times as large one may be as the other
_LETTERS = 4  # of a word or a text object that are covered
_LOST = 0.6  # of the letters of a word or a text object: the spaces between the words above leave some free


def printed_over(glyphs: Glyphs, drawn: Drawn, visible: Flags) -> Flags:
    """Return which of the visible glyphs (n,) stand in words or text objects that lie under other letters.

    Accents, lines, and the same letters drawn twice hide nothing.
    """
    found = np.zeros(len(glyphs), dtype=np.bool_)
    meeting = _in_meeting_objects(glyphs, visible.nonzero()[0])
    if not len(meeting):
        return found
    counted = visible & _is_letter(glyphs.codes)
    letters = meeting[counted[meeting]]
    if counted.sum() < 2 * _LETTERS or not len(letters):
        return found
    found[letters] = _overprinted(glyphs, drawn, letters) >= _COVERED
    if int(found.sum()) < _LETTERS:
        return np.zeros(len(glyphs), dtype=np.bool_)
    objects = np.searchsorted(distinct(glyphs.owners), glyphs.owners)
    return visible & (_mostly(np.cumsum(glyphs.space), found, counted) | _mostly(objects, found, counted))


def _is_letter(codes: Integers) -> Flags:
    known = distinct(codes)
    flags = np.array([0 < c < 0x110000 and chr(c).isalnum() for c in known.tolist()], dtype=np.bool_)
    found: Flags = flags[np.searchsorted(known, codes)]
    return found


def _overprinted(glyphs: Glyphs, drawn: Drawn, letters: Integers) -> Floats:
    """Return the share of the squares of each letter on which another one is painted last."""
    cell = _cell(glyphs.frame)
    columns, rows = int(glyphs.frame.width / cell) + 2, int(glyphs.frame.height / cell) + 2
    inner = np.stack(_inner(glyphs.boxes[letters]), axis=1) / cell
    order = np.argsort(drawn.positions(glyphs.owners[letters]), kind="stable")
    letters, inner, limits = letters[order], inner[order], np.array([columns - 1, rows - 1])
    begin = np.clip(inner[:, :2], 0, limits).astype(np.int32)
    end = np.maximum(np.clip(inner[:, 2:], 0, limits).astype(np.int32), begin)
    sides = np.minimum(end - begin + 1, _MOST_OF_A_GLYPH)
    count = sides.prod(axis=1, dtype=np.int32)
    which = np.repeat(np.arange(len(letters), dtype=np.int32), count)
    step = np.arange(len(which), dtype=np.int32) - np.repeat(np.cumsum(count, dtype=np.int32) - count, count)
    down, across = np.divmod(step, sides[which, 0])
    squares = (begin[:, 1] * columns + begin[:, 0])[which] + down * columns + across
    last = np.empty(rows * columns, dtype=np.int32)
    last[squares] = which  # they are in the order of painting: the last one stays
    under = np.flatnonzero(last[squares] != which)
    which, above = which[under], last[squares[under]]
    ratio = glyphs.size[letters[which]] / np.maximum(glyphs.size[letters[above]], 1e-9)
    covered = glyphs.owners[letters[above]] != glyphs.owners[letters[which]]
    covered &= glyphs.codes[letters[above]] != glyphs.codes[letters[which]]
    covered &= (ratio <= _SIZES) & (ratio >= 1 / _SIZES)
    found = np.zeros(len(letters))
    found[order] = np.bincount(which, weights=covered, minlength=len(letters)) / count
    return found


def _cell(frame: PageFrame) -> float:
    """Return the side of the squares that a page is parted into, in points."""
    side: float = max(_OVERPRINT_CELL, (frame.width * frame.height / _MOST_OVERPRINT_CELLS) ** 0.5)
    return side


def _inner(boxes: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the sides x0, top, x1, bottom of boxes (n, 4) without their rims."""
    left, top, right, bottom = boxes.T
    beside, above = (right - left) * _INNER, (bottom - top) * _INNER
    return left + beside, top + above, right - beside, bottom - above


def _in_meeting_objects(glyphs: Glyphs, index: Integers) -> Integers:
    """Return those of the glyphs `index` whose text object may share a square with another one; quick to tell.

    The objects are parted by free strips across the page and down it, again and again: what cannot be parted meets.
    """
    if not len(index):
        return index
    owners, cell = glyphs.owners[index], _cell(glyphs.frame)
    starts = changes(owners).nonzero()[0]
    left, top, right, bottom = _inner(glyphs.boxes[index])
    sides = []
    for begin, end in ((top, bottom), (left, right)):
        first = np.floor(np.minimum.reduceat(begin, starts) / cell)
        last = np.maximum(np.maximum.reduceat(end, starts) / cell, first)
        sides.append((first - first.min(), last - first.min()))
    part = np.zeros(len(starts), dtype=np.int64)
    for first, last in (*sides, *sides):
        apart = part * (last.max() + 1)
        order = np.argsort(apart + first)
        reach = np.maximum.accumulate((apart + last)[order])
        part[order[1:]] = np.cumsum((apart + first)[order[1:]] > reach[:-1])
        part[order[0]] = 0
        if part[order[-1]] == len(part) - 1:  # each is a part of its own
            return index[:0]
    meets = np.bincount(part)[part] > 1
    return index[np.repeat(meets, np.diff(np.append(starts, len(index))))]


def _mostly(group: Integers, found: Flags, counted: Flags) -> Flags:
    """Return the glyphs (n,) of groups (a number each) of whose counted glyphs nearly all are among the found."""
    most = int(group.max()) + 1
    lost, length = np.bincount(group[found], minlength=most), np.bincount(group[counted], minlength=most)
    chosen: Flags = ((lost >= _LETTERS) & (lost >= _LOST * length))[group]
    return chosen


# ----------------------------------------------------------------------------------------------------
# Whether characters leave a mark on the page: it is drawn with and without them, and the pictures are compared.

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


# ----------------------------------------------------------------------------------------------------
# Text that a person does not see on the page: invisible, tiny, off the page, under something, in its own colour.

_INVISIBLE, _CLIP = 3, 7  # text render modes of PDF 32000-1, table 106
_TINY = 3.0  # points
_SOLID = 0.9  # of a character's box: what is painted through the shape of letters leaves more of it free
_TRANSPARENT = 12  # of 255: text of less alpha cannot be seen
_SCAN_SHARE = 0.3  # of the page: from this size on a picture counts as a scan with its text layer
_STRIPS_SHARE = 0.8  # of the page: pictures that fill so much together are a scan in strips
_BESIDE = 5.0  # points that the text layer may reach beyond its scan
_FLAT = 0.3  # of the smallest font size: flatter shapes are rules, they hide no text
_MOST_SHAPES = 4000  # largest shapes looked at
_WHITE = np.array([255, 255, 255])
_UNREADABLE = 0.8  # of a word's characters
_PAIRS_AT_ONCE = 1_000_000
_CELL, _MOST_CELLS = 2.0, 200_000  # points; squares that the page is parted into

REASONS = {
    "invisible": "invisible text",
    "tiny": "text smaller or narrower than 3 points",
    "outside": "text outside the page",
    "actual": "text that the file gives in place of what is drawn",
    "white": "white text on white, or nearly so",
    "alike": "text in nearly the colour of what lies under it",
    "covered": "text covered by a picture or a shape",
    "clipped": "text cut off by the edges of a frame",
    "layer": "text in a layer that is switched off",
    "over": "text that other text is printed over",
}


@dataclass(frozen=True, slots=True)
class _Texts:
    """The text objects of a page, one entry each, and its glyphs.

    `own` (n,) numbers the text object of each glyph, -1 for white space and what is hidden for another reason; `x`
    and `y` (n,) are the center of its box. `order` is the object's place among all that is drawn, `box` (4, m) holds
    its glyphs: x0, top, x1, bottom; `color` (m,) is 0xRRGGBBAA.
    """

    own: Integers
    x: Floats
    y: Floats
    address: Addresses
    order: Integers
    box: Floats
    color: Integers

    def inside(self, box: Floats, chosen: Flags) -> Flags:
        """Return which glyphs (n,) of the chosen objects (m,) have their center in a box."""
        found: Flags = np.append(chosen, False)[self.own]
        x0, top, x1, bottom = box.tolist()
        found &= (self.x >= x0) & (self.x <= x1) & (self.y >= top) & (self.y <= bottom)
        return found


@dataclass(frozen=True, slots=True)
class _Shapes:
    """What could hide text: pictures, shadings, filled paths and thick outlines. Arrays of equal length.

    `order` is the place among all that is drawn; `color` (s, 4) is RGBA, with alpha -1 where there is no one colour.
    """

    order: Integers
    kind: Integers
    box: Floats
    color: Integers


def read_characters(page: Any, *, replaced: bool = True) -> tuple[Glyphs, Drawn, Flags, tuple[str, ...]] | None:
    """Return the characters of a page (a raw FPDF_PAGE), all that is drawn on it, and what `find_hidden` says of them.

    Text in place of what is drawn (`/ActualText`) that says something else is hidden, and what is drawn stands behind
    it; unless `replaced`, all is as it is drawn. None where the text of the page cannot be read.
    """
    glyphs = _characters(page)
    if glyphs is None:
        return None
    drawn = read_drawn(page, glyphs)
    forged = np.zeros(len(glyphs), dtype=np.bool_)
    pieces = marked_texts(drawn)
    if replaced and not _tell_letters(glyphs, pieces):
        pieces = []  # hyphens and spaces: there is no need to read the page once more without them
    as_drawn = _characters(page) if pieces else None
    if as_drawn is not None and not replaced:
        glyphs, forged = as_drawn, np.zeros(len(as_drawn), dtype=np.bool_)
    elif as_drawn is not None:
        forged, instead = find_forged(glyphs, as_drawn, pieces)
        if instead.any():
            glyphs = joined(glyphs, as_drawn, instead)
            forged = np.append(forged, np.zeros(int(instead.sum()), dtype=np.bool_))
    return glyphs, drawn, *find_hidden(page, glyphs, drawn, forged)


def _characters(page: Any) -> Glyphs | None:
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return None
    try:
        return read_glyphs(page, text_page)
    finally:
        pdfium.FPDFText_ClosePage(text_page)


def find_hidden(page: Any, glyphs: Glyphs, drawn: Drawn, forged: Flags | None = None) -> tuple[Flags, tuple[str, ...]]:
    """Return which glyphs are hidden, (n,), and the reasons in words. `page` is a raw FPDF_PAGE, `drawn` all on it.

    Those that are `forged` (n,) are not drawn at all.
    """
    frame = glyphs.frame
    forged = np.zeros(len(glyphs), dtype=np.bool_) if forged is None else forged
    ink = ~glyphs.space & ~forged
    if not ink.any():
        return forged, (REASONS["actual"],) if forged.any() else ()
    left, top, right, bottom = glyphs.boxes.T
    x, y = (left + right) / 2, (top + bottom) / 2
    invisible = ink & (glyphs.mode == _INVISIBLE)
    invisible |= ink & (glyphs.color & 0xFF < _TRANSPARENT) & (glyphs.mode < _INVISIBLE)
    tiny = ink & (glyphs.narrow < _TINY)
    outside = ink & ((x < 0) | (x > frame.width) | (y < 0) | (y > frame.height))
    first = _firsts(glyphs, np.flatnonzero(ink))
    scans, scan_boxes = _scans(drawn)
    layer_of_scan = invisible.copy()
    for x0, y0, x1, y1 in scan_boxes.tolist() if invisible.any() else ():
        invisible &= (x < x0) | (x > x1) | (y < y0) | (y > y1)
    layer_of_scan &= ~invisible
    invisible |= _clipping_only(page, glyphs, drawn, ink & (glyphs.mode == _CLIP))
    found = {"invisible": invisible, "tiny": tiny, "outside": outside, "actual": forged}
    words = np.flatnonzero(drawn.kinds == TEXT)
    clips, names = clip_boxes(drawn, words), layers(drawn)
    white = any(map(_is_pale, set(glyphs.color[first].tolist())))
    doubtful = np.flatnonzero(ink & ~(invisible | tiny | outside) & (glyphs.mode != _CLIP))
    if len(doubtful) and (white or clips or names or len(words) < len(drawn.kinds)):
        shapes, clips = _shapes(glyphs, doubtful, drawn), _cutting(glyphs, doubtful, clips)
        if white or clips or names or len(shapes.order):
            texts = _texts(glyphs, doubtful, drawn)
            suspects = {
                "white": _on_paper(texts, shapes),
                "alike": _on_same_color(texts, shapes) & ~layer_of_scan,
                "covered": _covered(texts, shapes, scans, frame),
                "clipped": _clipped(texts, clips),
                "layer": _in_hidden_layers(page, glyphs, drawn, texts, names),
            }
            found |= _unseen(page, glyphs, drawn, texts, suspects)
    hidden = np.logical_or.reduce(list(found.values()))
    found["over"] = printed_over(glyphs, drawn, ink & ~hidden)
    hidden |= found["over"]
    return hidden, tuple(words for name, words in REASONS.items() if name in found and found[name].any())


def _firsts(glyphs: Glyphs, index: Integers) -> Integers:
    """Return those of the glyphs `index` at which another text object begins."""
    owners = glyphs.owners[index]
    found: Integers = index[changes(owners)]
    return found


def _texts(glyphs: Glyphs, index: Integers, drawn: Drawn) -> _Texts:
    first_glyph = _firsts(glyphs, index)
    starts = np.searchsorted(index, first_glyph)
    owners = glyphs.owners[first_glyph]
    own = np.full(len(glyphs), -1)
    own[index] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(index))))
    left, top, right, bottom = glyphs.boxes.T
    first = [np.minimum.reduceat(side[index], starts) for side in (left, top)]
    last = [np.maximum.reduceat(side[index], starts) for side in (right, bottom)]
    order, color = drawn.positions(owners), glyphs.color[first_glyph]
    return _Texts(own, (left + right) / 2, (top + bottom) / 2, owners, order, np.stack(first + last), color)


def _rgb(color: Integers) -> Integers:
    return np.stack([color >> 24 & 0xFF, color >> 16 & 0xFF, color >> 8 & 0xFF], axis=1)


def _alpha(color: Integers) -> Floats:
    found: Floats = (color & 0xFF) / 255
    return found


def _on_white(color: Integers) -> Flags:
    """Return which colours (n,), 0xRRGGBBAA, cannot be read on white."""
    known = distinct(color)
    found: Flags = np.array([_is_pale(code) for code in known.tolist()], dtype=np.bool_)[np.searchsorted(known, color)]
    return found


@lru_cache(maxsize=4096)
def _is_pale(color: int) -> bool:
    code = np.array([color])
    return bool(alike(blended(_rgb(code).astype(np.float64), _alpha(code), _WHITE), _WHITE)[0])


def _clipping_only(page: Any, glyphs: Glyphs, drawn: Drawn, chosen: Flags) -> Flags:
    """Return which of the chosen glyphs, which only cut out what is painted after them, let nothing be seen.

    What is seen through letters fills a part of their boxes only; what lies over them fills all.
    """
    if not chosen.any():
        return chosen
    later = np.flatnonzero(drawn.kinds != TEXT)
    later = later[later > drawn.positions(glyphs.owners[chosen]).min()]
    shares = marked_shares(page, glyphs.frame, glyphs.boxes[chosen], drawn.addresses[later].tolist())
    if shares is None or not (MARKED < float(np.mean(shares)) < _SOLID):
        return chosen
    found = chosen.copy()
    found[chosen] = shares <= MARKED
    return found


def _scans(drawn: Drawn) -> tuple[Integers, Floats]:
    """Return the pictures that are a scan of the page, and where the text layer of each may lie."""
    pictures = np.flatnonzero(drawn.kinds == IMAGE)
    if not len(pictures):
        return pictures, np.zeros((0, 4))
    boxes = drawn.boxes(pictures)
    size = np.array([drawn.frame.width, drawn.frame.height])
    sides = np.clip(boxes[:, 2:], 0, size) - np.clip(boxes[:, :2], 0, size)
    share = sides.prod(axis=1) / max(1.0, float(size.prod()))
    large = share > (_SCAN_SHARE if share.sum() < _STRIPS_SHARE else 0)
    return pictures[large], boxes[large] + [-_BESIDE, -_BESIDE, _BESIDE, _BESIDE]


def _unseen(page: Any, glyphs: Glyphs, drawn: Drawn, texts: _Texts, suspects: dict[str, Flags]) -> dict[str, Flags]:
    """Return by reason which of the suspects are drawn and yet cannot be seen."""
    suspicious = np.logical_or.reduce(list(suspects.values()))
    if not suspicious.any():
        return {}
    marked = _leave_marks(page, glyphs, drawn, texts, suspicious, suspects["white"] | suspects["alike"])
    if marked is None:
        return {"white": suspects["white"]}
    unseen = _in_whole_words(glyphs, suspicious & ~marked)
    found = {}
    for name, flags in suspects.items():
        found[name] = flags & unseen
        unseen = unseen & ~flags  # one reason for each glyph
    return found


def _in_whole_words(glyphs: Glyphs, unseen: Flags) -> Flags:
    """Return which of the unseen glyphs stand in words that cannot be read: a letter under a pen stroke is not lost."""
    word = np.cumsum(glyphs.space)
    length = np.bincount(word[~glyphs.space], minlength=len(word) + 1)
    lost = np.bincount(word[unseen], minlength=len(word) + 1)
    found: Flags = unseen & (lost >= _UNREADABLE * length)[word]
    return found


def _leave_marks(
    page: Any, glyphs: Glyphs, drawn: Drawn, texts: _Texts, suspicious: Flags, pale: Flags | None = None
) -> Flags | None:
    """Return which of the suspicious glyphs (n,) can be seen; None if that takes too long to find out.

    Those that are `pale` (n,) must be told apart from their ground so well that they can be read.
    """
    known = distinct(glyphs.owners[~glyphs.space])
    every = drawn.addresses[drawn.kinds == TEXT]
    # PDFium gives no characters for a text that stands at its place already: both go
    again = every[~np.isin(every, known)]
    objects = [*texts.address[np.unique(texts.own[suspicious])].tolist(), *again.tolist()]
    readable = None if pale is None else pale[suspicious]
    marks = leave_marks(page, glyphs.frame, glyphs.boxes[suspicious], objects, readable)
    if marks is None:
        return None
    found = np.zeros(len(glyphs), dtype=np.bool_)
    found[suspicious] = marks
    return found


def _extent(glyphs: Glyphs, index: Integers) -> tuple[float, float, float, float]:
    """Return the box that holds the glyphs `index`."""
    left, top, right, bottom = glyphs.boxes[index].T
    return float(left.min()), float(top.min()), float(right.max()), float(bottom.max())


def _cutting(glyphs: Glyphs, index: Integers, clips: dict[int, Floats]) -> dict[int, Floats]:
    """Return the clips that do not leave room for all of the glyphs `index`."""
    if not clips:
        return clips
    left, top, right, bottom = _extent(glyphs, index)
    return {
        order: box for order, box in clips.items() if box[0] > left or box[1] > top or box[2] < right or box[3] < bottom
    }


def _shapes(glyphs: Glyphs, index: Integers, drawn: Drawn) -> _Shapes:
    """Return what could hide some of the glyphs `index`, leaving out rules that are much flatter than they are."""
    order = np.flatnonzero((drawn.kinds == PATH) | (drawn.kinds == IMAGE) | (drawn.kinds == SHADING))
    none = _Shapes(order[:0], order[:0], np.zeros((0, 4)), np.zeros((0, 4), dtype=np.int64))
    if not len(order):
        return none
    box = drawn.boxes(order)
    x0, top, x1, bottom = box.T
    width, height = x1 - x0, bottom - top
    least = _FLAT * float(glyphs.size[index].min())
    chosen = np.flatnonzero((width >= least) & (height >= least))
    if not len(chosen):
        return none
    text_x0, text_top, text_x1, text_bottom = _extent(glyphs, index)
    near = (x0 < text_x1) & (x1 > text_x0) & (top < text_bottom) & (bottom > text_top)
    chosen = chosen[near[chosen]]
    if len(chosen) > _MOST_SHAPES:
        chosen = np.sort(chosen[np.argsort(-(width * height)[chosen])[:_MOST_SHAPES]])
    order, box = order[chosen], box[chosen]
    kind = drawn.kinds[order]
    color = np.full((len(order), 4), -1)
    paths = np.flatnonzero(kind == PATH)
    paint = path_paint(drawn, order[paths])
    color[paths[paint.filled]] = paint.color[paint.filled]
    hiding = np.ones(len(order), dtype=np.bool_)
    hiding[paths] = (paint.filled & (paint.color[:, 3] > _TRANSPARENT)) | (paint.outline >= least)
    return _Shapes(order[hiding], kind[hiding], box[hiding], color[hiding])


def _below(shapes: _Shapes, wanted: Flags, texts: _Texts, chosen: Flags) -> list[tuple[int, Flags]]:
    """Return the wanted shapes (s,) that lie under some of the chosen texts (m,), and under which."""
    found = []
    numbers, columns = np.flatnonzero(wanted), np.flatnonzero(chosen)
    at_once = max(1, _PAIRS_AT_ONCE // max(1, len(columns)))
    x0, top, x1, bottom = texts.box[:, columns]
    order = texts.order[columns]
    for begin in range(0, len(numbers) if len(columns) else 0, at_once):
        part = numbers[begin : begin + at_once]
        left, above, right, low = shapes.box[part].T[:, :, None]
        meet = (shapes.order[part][:, None] < order) & (left < x1) & (right > x0) & (above < bottom) & (low > top)
        for row in np.flatnonzero(meet.any(axis=1)).tolist():
            flags = np.zeros(len(chosen), dtype=np.bool_)
            flags[columns[meet[row]]] = True
            found.append((int(part[row]), flags))
    return found


def _on_paper(texts: _Texts, shapes: _Shapes) -> Flags:
    """Return the glyphs that are nearly white and have no dark shape, shading or picture under them."""
    white = _on_white(texts.color)
    found: Flags = np.append(white, False)[texts.own]
    dark = (shapes.color[:, 3] < 0) | ~alike(shapes.color[:, :3], _WHITE)
    for shape, below in _below(shapes, dark, texts, white):
        found &= ~texts.inside(shapes.box[shape], below)
    return found


def _on_same_color(texts: _Texts, shapes: _Shapes) -> Flags:
    """Return the glyphs that have a shape of nearly their own colour under them, or a picture of any colours."""
    found = np.zeros(len(texts.own), dtype=np.bool_)
    one_color = np.asarray(shapes.color[:, 3] >= 0)
    opaque = texts.color | 0xFF
    for code in distinct(opaque) if one_color.any() else ():
        (color,) = _rgb(code[None])
        same = np.asarray(opaque == code)
        opacity = np.full(len(shapes.color), float(_alpha(texts.color[same]).min()))
        seen = blended(np.tile(color.astype(np.float64), (len(opacity), 1)), opacity, shapes.color[:, :3])
        near = one_color & alike(seen, shapes.color[:, :3])
        for shape, below in _below(shapes, near, texts, same) if near.any() else ():
            found |= texts.inside(shapes.box[shape], below)
    for shape, below in _below(shapes, ~one_color, texts, np.ones(len(texts.order), dtype=np.bool_)):
        found |= texts.inside(shapes.box[shape], below)
    return found


def _covered(texts: _Texts, shapes: _Shapes, scans: Integers, frame: PageFrame) -> Flags:
    """Return the glyphs with a shape or picture painted over their center, which may let them shine through."""
    later = np.flatnonzero(shapes.order > texts.order.min())
    if len(scans):
        later = later[~np.isin(shapes.order[later], scans)]
    found = np.zeros(len(texts.own), dtype=np.bool_)
    if not len(later):
        return found
    cell = max(_CELL, (frame.width * frame.height / _MOST_CELLS) ** 0.5)
    columns, rows = int(frame.width / cell) + 2, int(frame.height / cell) + 2
    last = np.full((rows, columns), -1, dtype=np.int32)  # what is painted last on each small square of the page
    edges = np.clip(np.rint(shapes.box[later] / cell), 0, [columns, rows, columns, rows]).astype(np.int64)
    for order, (x0, top, x1, bottom) in zip(shapes.order[later].tolist(), edges.tolist(), strict=True):
        last[top:bottom, x0:x1] = order
    glyphs = np.flatnonzero(texts.own >= 0)
    x, y = (texts.x[glyphs] / cell).astype(np.int64), (texts.y[glyphs] / cell).astype(np.int64)
    found[glyphs] = last[y, x] > texts.order[texts.own[glyphs]]
    return found


def _clipped(texts: _Texts, clips: Mapping[int, Floats]) -> Flags:
    """Return the glyphs outside the box that they are clipped to; `clips` has it by the order of the text."""
    if not clips:
        return np.zeros(len(texts.own), dtype=np.bool_)
    boxes = np.tile([-np.inf, -np.inf, np.inf, np.inf], (len(texts.order) + 1, 1))
    for number in np.flatnonzero(np.isin(texts.order, list(clips))).tolist():
        boxes[number] = clips[int(texts.order[number])]
    x0, top, x1, bottom = boxes[texts.own].T
    found: Flags = (texts.x < x0) | (texts.x > x1) | (texts.y < top) | (texts.y > bottom)
    return found


def _in_hidden_layers(page: Any, glyphs: Glyphs, drawn: Drawn, texts: _Texts, names: Mapping[int, str]) -> Flags:
    """Return the glyphs of layers whose largest text cannot be seen; `names` has the layer by the order of the text."""
    found = np.zeros(len(texts.own), dtype=np.bool_)
    by_name: dict[str, list[int]] = {}
    for number, order in enumerate(texts.order.tolist()) if names else ():
        if order in names:
            by_name.setdefault(names[order], []).append(number)
    for numbers in by_name.values():
        x0, top, x1, bottom = texts.box[:, numbers]
        largest = numbers[int(((x1 - x0) * (bottom - top)).argmax())]
        marked = _leave_marks(page, glyphs, drawn, texts, texts.own == largest)
        if marked is not None and not marked.any():
            found |= np.isin(texts.own, numbers)
    return found
