"""Text that a person does not see on the page: invisible, tiny, off the page, under something, in its own colour.

In doubt text counts as visible; the searchable layer of a scan is no hidden text. What geometry makes suspicious is
hidden only if the page looks the same without it; geometry alone decides where drawing takes too long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.drawn import IMAGE, PATH, SHADING, TEXT, Drawn, clip_boxes, layers, path_paint, read_drawn
from pdfqa_core.extraction.hidden.actual_text import find_forged, joined, marked_texts
from pdfqa_core.extraction.hidden.contrast import alike, blended
from pdfqa_core.extraction.hidden.overprint import printed_over
from pdfqa_core.extraction.hidden.visible import MARKED, leave_marks, marked_shares
from pdfqa_core.extraction.text.glyphs import (
    Addresses,
    Flags,
    Floats,
    Glyphs,
    Integers,
    PageFrame,
    distinct,
    read_glyphs,
)

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
    its glyphs: x0, top, x1, bottom; `color` (m, 3) is RGB, `alpha` (m,) from 0 to 1.
    """

    own: Integers
    x: Floats
    y: Floats
    address: Addresses
    order: Integers
    box: Floats
    color: Integers
    alpha: Floats

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
    clips, names = clip_boxes(drawn, words), layers(drawn, words)
    white = bool(_on_white(_rgb(glyphs.color[first]), _alpha(glyphs.color[first])).any())
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
    shown = ink & ~np.logical_or.reduce(list(found.values()))
    found["over"] = printed_over(glyphs, drawn.positions(glyphs.owners), shown)
    hidden = np.logical_or.reduce(list(found.values()))
    return hidden, tuple(words for name, words in REASONS.items() if name in found and found[name].any())


def _firsts(glyphs: Glyphs, index: Integers) -> Integers:
    """Return those of the glyphs `index` at which another text object begins."""
    owners = glyphs.owners[index]
    found: Integers = index[np.append(True, owners[1:] != owners[:-1])]
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
    color, alpha = _rgb(glyphs.color[first_glyph]), _alpha(glyphs.color[first_glyph])
    order = drawn.positions(owners)
    return _Texts(own, (left + right) / 2, (top + bottom) / 2, owners, order, np.stack(first + last), color, alpha)


def _rgb(color: Integers) -> Integers:
    return np.stack([color >> 24 & 0xFF, color >> 16 & 0xFF, color >> 8 & 0xFF], axis=1)


def _alpha(color: Integers) -> Floats:
    found: Floats = (color & 0xFF) / 255
    return found


def _on_white(color: Integers, alpha: Floats) -> Flags:
    """Return which colours (n, 3) of this opacity (n,) cannot be read on white."""
    return alike(blended(color.astype(np.float64), alpha, _WHITE), _WHITE)


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
    white = _on_white(texts.color, texts.alpha)
    found: Flags = np.append(white, False)[texts.own]
    dark = (shapes.color[:, 3] < 0) | ~alike(shapes.color[:, :3], _WHITE)
    for shape, below in _below(shapes, dark, texts, white):
        found &= ~texts.inside(shapes.box[shape], below)
    return found


def _on_same_color(texts: _Texts, shapes: _Shapes) -> Flags:
    """Return the glyphs that have a shape of nearly their own colour under them, or a picture of any colours."""
    found = np.zeros(len(texts.own), dtype=np.bool_)
    one_color = np.asarray(shapes.color[:, 3] >= 0)
    packed = texts.color @ np.array([1 << 16, 1 << 8, 1])
    for code in set(packed.tolist()) if one_color.any() else ():
        color = np.array([code >> 16, code >> 8 & 0xFF, code & 0xFF])
        same = np.asarray(packed == code)
        opacity = np.full(len(shapes.color), float(texts.alpha[same].min()))
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
