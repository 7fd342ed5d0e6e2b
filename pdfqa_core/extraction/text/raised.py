"""Superscripts and subscripts: small characters beside larger ones, off their baseline, keep what they mean as text.

A raised run is written in the superscripts of Unicode (10⁶, 25 m², 4,512³), or behind a "^" where these lack a letter
(e^−λt). A lowered one stays as it is behind letters (H2O), and becomes subscripts where it would join a number (101₂).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import cache

import numpy as np

from pdfqa_core.extraction.raw_page import to_text_frame
from pdfqa_core.extraction.text.glyphs import SLANTED, Glyphs, Integers
from pdfqa_core.extraction.text.normalise import CARET, character

_LONGEST, _SHORT = 12, 3  # characters of a run; of one that may stand before its base
_SMALL = 0.9  # of the size of the character beside it
_SMALLEST = 0.35
_RAISED, _FARTHEST, _LOWERED, _LOWEST = 0.1, 0.9, 0.05, 0.6  # of that size: how far its baseline is off
_BACK, _BESIDE, _BEFORE = 0.25, 0.35, 0.8  # of that size: how far it reaches over the run, or stands before, after it
_LEVEL = 0.05  # of the font size: how far characters of one run differ
_FLOATS, _HANGS, _FLAT = 0.2, 0.08, 0.55  # of the font size: above or below the baseline, and as high at most
_FONT_INDEX = 0.65  # of its size: what a font has as superscripts
_INVISIBLE = 3  # text render mode: the layer of a scan, whose sizes say nothing
_SIGNS = {"-": "⁻", "–": "⁻", "−": "⁻", "\x02": "⁻"}
_OPENING = "([{"
_PARTED = re.compile(r"[(\[]\w{1,2}[)\]]")  # a mark in brackets joins no number
_ORDINALS = frozenset({"st", "nd", "rd", "th"})


def with_raised(glyphs: Glyphs) -> Glyphs:
    """Return the glyphs with the codes of superscripts and subscripts in place of those of plain characters."""
    seen = ~glyphs.space & (glyphs.mode != _INVISIBLE)
    codes: dict[int, int] = {}
    for turn in np.flatnonzero(np.bincount(glyphs.turn[seen])).tolist():
        index = (seen & (glyphs.turn == turn)).nonzero()[0]
        if len(index) > 1 and turn != SLANTED:
            _Runs(glyphs, index, turn).write(codes)
    if not codes:
        return glyphs
    changed = glyphs.codes.copy()
    changed[list(codes)] = list(codes.values())
    return replace(glyphs, codes=changed)


class _Runs:
    """The stretches of one size and baseline that the glyphs `index` of a turn make."""

    def __init__(self, glyphs: Glyphs, index: Integers, turn: int) -> None:
        self.index = index
        self.codes, self.size = glyphs.codes[index], glyphs.size[index]
        u0, u1, v = to_text_frame(glyphs.boxes.T, glyphs.x, glyphs.y, turn, glyphs.frame.width, glyphs.frame.height)
        self.u0, self.u1, self.v = u0[index], u1[index], v[index]
        self._take_ink(glyphs, turn)
        level = _LEVEL * self.size[1:]
        changes = np.ones(len(index) + 1, dtype=np.bool_)
        changes[1:-1] = (np.abs(self.size[1:] - self.size[:-1]) > level) | (np.abs(self.v[1:] - self.v[:-1]) > level)
        edges = changes.nonzero()[0]
        self.starts, self.ends = edges[:-1], edges[1:]
        self.by_end: Integers | None = None

    def _take_ink(self, glyphs: Glyphs, turn: int) -> None:
        """Take small digits and letters that a font has above or below its baseline for a smaller font."""
        boxes, frame = glyphs.boxes[self.index], glyphs.frame
        low = (boxes[:, 3], frame.width - boxes[:, 0], frame.height - boxes[:, 1], boxes[:, 2])[turn]
        off = self.v - low
        far = np.flatnonzero((off > _FLOATS * self.size) | (off < -_HANGS * self.size))
        code, size = self.codes[far], self.size[far]
        digit, letter = (code >= 0x30) & (code <= 0x39), (code | 0x20 >= 0x61) & (code | 0x20 <= 0x7A)
        height = boxes[far, 3 - turn % 2] - boxes[far, 1 - turn % 2]
        own = far[np.where(off[far] > 0, digit | letter, digit & (height < _FLAT * size))]
        self.v[own] = low[own]
        self.size[own] *= _FONT_INDEX

    def write(self, codes: dict[int, int]) -> None:
        """Write the codes of the runs that stand beside larger characters to `codes`, by the number of the glyph."""
        size, lengths = np.zeros(len(self.starts) + 2), self.ends - self.starts
        size[1:-1] = self.size[self.starts]
        usual = size[1 + lengths.argmax()]
        small = size[1:-1] < _SMALL * np.maximum(usual, np.maximum(size[:-2], size[2:]))
        for run in (small & (lengths <= _LONGEST)).nonzero()[0].tolist():
            first, end = int(self.starts[run]), int(self.ends[run])
            base = self._base(first, end)
            if base is None:
                continue
            text = [character(code) for code in self.codes[first:end].tolist()]
            if self.v[first] < self.v[base]:
                changed = _raised(text, chr(int(self.codes[base])) if self.u0[base] < self.u0[first] else "")
            elif self._joins_number(base, first, end):
                changed = [_forms()["<sub>"].get(c) for c in text]
            else:
                continue
            for place, code in zip(self.index[first:end].tolist(), changed, strict=True):
                if code is not None:
                    codes[place] = code

    def _base(self, first: int, end: int) -> int | None:
        """Return the character that a run stands beside: before it, after it, or elsewhere in the file."""
        for place in (first - 1, end):
            if 0 <= place < len(self.index) and self._fits(place, first, end):
                return place
        if self.by_end is None:
            self.by_end = np.argsort(self.u1)
            self.sorted_ends = self.u1[self.by_end]
        reach = self.size[first]
        begin, stop = np.searchsorted(self.sorted_ends, [self.u0[first] - reach, self.u0[first] + reach])
        near = self.by_end[begin:stop]
        near = near[np.abs(self.v[near] - self.v[first]) < 2 * reach].tolist()
        return min((p for p in near if self._fits(p, first, end)), key=lambda p: -self.u1[p], default=None)

    def _fits(self, place: int, first: int, end: int) -> bool:
        """Return whether a run stands beside a larger character on another baseline."""
        size = float(self.size[place])
        if not _SMALLEST * size < self.size[first] < _SMALL * size:
            return False
        off = (float(self.v[place]) - float(self.v[first])) / size  # above 0: raised
        if not (_RAISED < off < _FARTHEST or -_LOWEST < off < -_LOWERED):
            return False
        if -_BACK < (self.u0[first] - self.u1[place]) / size < _BESIDE:
            return True
        return off > 0 and end - first <= _SHORT and -_BACK < (self.u0[place] - self.u1[end - 1]) / size < _BEFORE

    def _joins_number(self, base: int, first: int, end: int) -> bool:
        """Return whether a lowered run stands right behind a digit, or right before one."""
        if _is_digit(self.codes[base]) or chr(int(self.codes[base])) in "/\u2044":
            return True
        return (
            end < len(self.index)
            and _is_digit(self.codes[end])
            and bool(self.u0[end] - self.u1[end - 1] < 0.15 * self.size[end])
            and bool(abs(self.v[end] - self.v[base]) < _LEVEL * self.size[base])
        )


def _is_digit(code: int) -> bool:
    return chr(int(code)).isdigit() if 0 <= code <= 0x10FFFF else False


def _raised(text: list[str], base: str) -> list[int | None]:
    """Return the codes of a raised run, None for a character that stays as it is; `base` stands before it, if any."""
    whole = "".join(text)
    plain: list[int | None] = [None] * len(text)
    if not any(map(str.isalnum, whole)) or _PARTED.fullmatch(whole):
        return plain
    if base and (base in _OPENING or unicodedata.category(base) == "Co"):
        return plain
    if base.isdigit() and whole.casefold() in _ORDINALS:
        return plain
    forms = _forms()["<super>"]
    if all(c in forms or not any(map(str.isalnum, c)) for c in text):
        return [forms.get(c) for c in text]
    return [CARET + ord(whole[0]), *plain[1:]] if base and len(text[0]) == 1 else plain


@cache
def _forms() -> dict[str, dict[str, int]]:
    """Return the superscripts ("<super>") and subscripts ("<sub>") of Unicode by the plain character."""
    found: dict[str, dict[str, int]] = {"<super>": {}, "<sub>": {}}
    blocks = (range(0xB2, 0xBA), range(0x2B0, 0x2BA), range(0x1D2C, 0x1DC0), range(0x2070, 0x20A0), (0x2C7C, 0x2C7D))
    for code in (code for block in blocks for code in block):
        kind, _, plain = unicodedata.decomposition(chr(code)).partition(" ")
        if kind in found and " " not in plain:
            found[kind].setdefault(chr(int(plain, 16)), code)
            found[kind][chr(code)] = code
    found["<super>"] |= {sign: ord(form) for sign, form in _SIGNS.items()}
    return found
