"""Characters that a page lacks and a reader needs: values of forms, and marks around struck-out words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pdfqa_core.extraction.hidden.annotations import FieldValue
from pdfqa_core.extraction.hidden.find_hidden import alike
from pdfqa_core.extraction.text.glyphs import Flags, Floats, Glyphs, Integers, PageFrame, Place
from pdfqa_core.extraction.text.normalise import STRUCK, STRUCK_END, character

_LEAST = 3.0  # points: what is lower or narrower cannot be seen
_LARGEST = 12.0  # points: font size of a value
_HEIGHT, _WIDTH = 0.7, 0.5  # of the field's height, of the font size: how large its characters are taken to be
_ONE_LINE = 30.0  # points: higher fields have several lines
_LEADING = 1.2
_BEYOND = 0.6  # of the font size: how far a stroke reaches beyond the words that it strikes out
_MIDDLE, _REACH = 0.3, 0.2  # of the font size above the baseline: where such a stroke runs, and how far from there


def with_values(glyphs: Glyphs, hidden: Flags, values: Sequence[FieldValue]) -> tuple[Glyphs, Flags]:
    """Return the glyphs, and which are hidden, with those of the values that their fields do not show already.

    The words in a field follow the word that stands before it, as if they had been written there.
    """
    if not values:
        return glyphs, hidden
    order = np.arange(len(glyphs), dtype=np.float64)
    middle = (glyphs.boxes[:, :2] + glyphs.boxes[:, 2:]) / 2
    ink = ~glyphs.space
    places = [glyphs.frame.shown(value.box) for value in values]
    inside = [
        ink & (middle > (x0, top)).all(axis=1) & (middle < (x1, bottom)).all(axis=1) for x0, top, x1, bottom in places
    ]
    labels = np.flatnonzero(ink & ~hidden & ~np.logical_or.reduce(inside))
    added: list[tuple[int, Place, float, int]] = []  # code, box, font size, colour
    follows: list[float] = []
    for value, place, within in zip(values, places, inside, strict=True):
        x0, top, x1, bottom = place
        level = labels[(middle[labels, 1] > top) & (middle[labels, 1] < bottom)]
        before = level[glyphs.boxes[level, 2] < x0 + _LEAST]
        after = level[glyphs.boxes[level, 0] > x1 - _LEAST]
        if len(before):
            follow = float(before[glyphs.boxes[before, 2].argmax()]) + 0.5
        else:
            follow = float(after[glyphs.boxes[after, 0].argmin()]) - 0.5 if len(after) else len(glyphs)
        if within.any() and not value.button:
            order[within] = follow
            spaces = np.flatnonzero(glyphs.space[:-1] & within[1:])
            order[spaces] = follow
            continue
        seen = min(x1 - x0, bottom - top) >= _LEAST and x1 > 0 and bottom > 0
        if seen and x0 < glyphs.frame.width and top < glyphs.frame.height:
            made = _characters(value, place)
            added += made
            follows += [follow] * len(made)
    new = _glyphs(added, glyphs.frame)
    both: dict[str, Any] = {}
    sequence = np.argsort(np.append(order, follows), kind="stable")
    for one in fields(Glyphs):
        if one.name != "frame":
            both[one.name] = np.concatenate([getattr(glyphs, one.name), getattr(new, one.name)])[sequence]
    return replace(glyphs, **both), np.append(hidden, _on_white(new.color))[sequence]


def _characters(value: FieldValue, place: Place) -> list[tuple[int, Place, float, int]]:
    """Return code, box, font size and colour of each character of a value; its last line is followed by a space."""
    x0, top, x1, bottom = place
    height, lines = bottom - top, value.text.split("\n")
    size = min(_LARGEST, _HEIGHT * height)
    baseline = bottom - 0.3 * height if height <= _ONE_LINE and len(lines) == 1 else top + size
    found: list[tuple[int, Place, float, int]] = []
    for line in lines:
        step = min(_WIDTH * size, (x1 - x0) / max(1, len(line)))
        for number, sign in enumerate(f" {line} "):
            left = x0 + step * (number - 1)
            found.append((ord(sign), (left, baseline - _HEIGHT * size, left + step, baseline), size, value.color))
        baseline += _LEADING * size
    return found


def _glyphs(added: Sequence[tuple[int, Place, float, int]], frame: PageFrame) -> Glyphs:
    count = len(added)
    codes = np.array([code for code, _, _, _ in added], dtype=np.int64)
    boxes = np.array([box for _, box, _, _ in added]).reshape(-1, 4)
    size = np.array([size for _, _, size, _ in added])
    none, flags = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    color = np.array([color for _, _, _, color in added], dtype=np.int64)
    owners = none.astype(np.uint64)
    x, y, space = boxes[:, 0], boxes[:, 3], np.asarray(codes == 0x20)
    return Glyphs(codes, boxes, x, y, size, size, none, flags, space, none, color, owners, frame)


def _on_white(color: Integers) -> Flags:
    rgb = np.stack([color >> 24 & 0xFF, color >> 16 & 0xFF, color >> 8 & 0xFF], axis=1)
    return alike(rgb, np.array([255, 255, 255]))


def with_struck(glyphs: Glyphs, hidden: Flags, strokes: Floats, struck: Sequence[Place]) -> tuple[Glyphs, Flags]:
    """Return the glyphs, and which are hidden, with marks around the words that are struck out.

    `strokes` (n, 3) are the level lines drawn on the page (height, start, end), `struck` the boxes (in user space) of
    words that annotations strike out.
    """
    if not (len(strokes) or struck):
        return glyphs, hidden
    ink = np.flatnonzero(~glyphs.space & ~hidden & (glyphs.turn == 0))
    if not len(ink):
        return glyphs, hidden
    middle = (glyphs.boxes[:, 0] + glyphs.boxes[:, 2]) / 2
    height = glyphs.y - _MIDDLE * glyphs.size
    ink = ink[np.argsort(height[ink])]
    heights, reach = height[ink], _REACH * float(glyphs.size[ink].max())
    first = np.searchsorted(heights, strokes[:, 0] - reach)
    last = np.searchsorted(heights, strokes[:, 0] + reach)
    chosen = [
        _under_stroke(glyphs, np.sort(ink[first[number] : last[number]]), middle, *strokes[number].tolist())
        for number in np.flatnonzero(last > first).tolist()
    ]
    for box in struck:
        x0, top, x1, bottom = glyphs.frame.shown(box)
        within = (middle[ink] > x0) & (middle[ink] < x1) & (heights > top) & (heights < bottom)
        chosen.append(np.sort(ink[within]))
    runs = [
        run for places in chosen if len(places) for run in np.split(places, np.flatnonzero(np.diff(places) > 2) + 1)
    ]
    if not runs:
        return glyphs, hidden
    places = [place for run in runs for place in (int(run[0]), int(run[-1]) + 1)]
    copied = [glyph for run in runs for glyph in (int(run[0]), int(run[-1]))]
    changed: dict[str, Any] = {}
    for one in fields(Glyphs):
        if one.name == "frame":
            continue
        values = getattr(glyphs, one.name)
        new = values[copied]
        if one.name == "codes":
            new = np.array([STRUCK, STRUCK_END] * len(runs))
        elif one.name == "boxes":
            new = new.copy()
            new[::2, 2], new[1::2, 0] = new[::2, 0], new[1::2, 2]
        changed[one.name] = np.insert(values, places, new, axis=0)
    return replace(glyphs, **changed), np.insert(hidden, places, False)


def _alphanumeric(codes: Integers) -> bool:
    return any(character(code).isalnum() for code in codes.tolist())


def _under_stroke(glyphs: Glyphs, ink: Integers, middle: Floats, height: float, start: float, end: float) -> Integers:
    """Return the characters that a stroke runs through; none where it reaches far beyond them, as a rule does."""
    above = np.abs(glyphs.y[ink] - _MIDDLE * glyphs.size[ink] - height)
    through = ink[(middle[ink] > start) & (middle[ink] < end) & (above < _REACH * glyphs.size[ink])]
    if not len(through):
        return through
    beyond = _BEYOND * float(glyphs.size[through].max())
    boxes = glyphs.boxes[through]
    fits = boxes[:, 0].min() - start < beyond and end - boxes[:, 2].max() < beyond
    return through if fits else through[:0]
