"""Text that a file gives in place of what is drawn (`/ActualText`, PDF 32000-1, 14.9.4) and that says something else.

It is meant for ligatures, hyphens and letters that a font does not name; PDFium reads it instead of the glyphs.
"""

from __future__ import annotations

import ctypes
import difflib
import unicodedata
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.drawn import TEXT, Drawn
from pdfqa_core.extraction.text.glyphs import Flags, Glyphs, distinct
from pdfqa_core.extraction.text.pdfium_calls import argument, quick

_KEY = b"ActualText"
_MOST_MARKS = 8  # looked at for each object
_ALIKE = 0.75  # share of characters in common (difflib) from which on both say the same
_LONGEST = 2000  # characters that are compared
_FEW = 2  # letters: a symbol that the font calls by another letter
_TO_A_GLYPH = 4  # letters that a glyph without a known letter may stand for

_mark_count = quick(pdfium.FPDFPageObj_CountMarks, ctypes.c_int)
_mark = quick(pdfium.FPDFPageObj_GetMark, ctypes.c_size_t)
_string = quick(pdfium.FPDFPageObjMark_GetParamStringValue, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class _Marked:
    """A piece of a page with a text in place of its own: the addresses of its text objects."""

    owners: set[int]


def marked_texts(drawn: Drawn) -> list[_Marked]:
    """Return the pieces of a page with `/ActualText`, and take that away from them: the next text page lacks it."""
    numbers = np.flatnonzero(drawn.kinds == TEXT)
    items = drawn.chosen(numbers)
    counts = np.fromiter(map(_mark_count, items), np.int64, len(items))
    pieces: dict[int, _Marked] = {}
    length = ctypes.c_ulong()
    room, size = ctypes.c_ulong.from_param(0), ctypes.byref(length)
    for number in range(min(int(counts.max(initial=0)), _MOST_MARKS)):
        places = np.flatnonzero(counts > number)
        marks = np.fromiter(map(_mark, (items[i] for i in places.tolist()), repeat(number)), np.uint64, len(places))
        known = distinct(marks)
        arguments = (repeat(_KEY), repeat(None), repeat(room), repeat(size))
        has = np.fromiter(map(_string, map(argument, known.tolist()), *arguments), np.bool_, len(known))
        for place in np.flatnonzero(np.isin(marks, known[has])).tolist():
            address = int(drawn.addresses[numbers[places[place]]])
            pieces.setdefault(int(marks[place]), _Marked(set())).owners.add(address)
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


def _letters(glyphs: Glyphs, chosen: Flags) -> str:
    """Return the letters and digits of the chosen characters, in a form in which ligatures and accents do not count."""
    codes = glyphs.codes[chosen][:_LONGEST].tolist()
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
