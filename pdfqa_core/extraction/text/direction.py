"""Lines of scripts written from right to left: from what is printed to what is read. Standard library only.

The way back through UAX #9, as far as printed lines need it: numbers and words of other scripts run from left to right
among the rest, and brackets open to where the reading goes on.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from pdfqa_core.extraction.text.normalise import character, right_to_left

_SEPARATORS = frozenset(".,:/-–+'٫٬\u00a0")  # between the digits of one number, date or time
_PARTING = frozenset("-–+")  # those that are none behind Arabic letters (W2 and W4): 03-505105 is printed 505105-03
_SIGNS, _UNITS = frozenset("$€£₪+-−–#@"), frozenset("%‰°$€£₪")  # right before and right after a number
_FAR = 4  # characters that may stand between two words of one stretch from left to right
_MIRRORED = {"(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{"}
_OPENING = frozenset("([{")


def printed_text(codes: Sequence[int], origins: Sequence[float], middles: Sequence[float]) -> list[str]:
    """Return a line of which some is written from right to left as it is printed, an entry for each character.

    They are ordered by their `origins`. PDFium lists such text in the order it is read, but the letters of one glyph
    (those with the same origin and middle) from left to right. Marks stand left of the letter that has their middle.
    """
    texts = list(map(character, codes))
    glyphs = list(zip(origins, middles, strict=True))
    lettered = {
        glyph for glyph, text in zip(glyphs, texts, strict=True) if not (text and unicodedata.combining(text[0]))
    }
    letters = sorted(origin for origin, _ in lettered)
    first: dict[tuple[float, float], int] = {}
    for i, glyph in enumerate(glyphs):
        first.setdefault(glyph, i)

    def place(i: int) -> tuple[float, bool, int, int]:
        letter = glyphs[i] in lettered
        under = 0 if letter else bisect_right(letters, middles[i])
        return (letters[under - 1] if under else origins[i]), letter, -first[glyphs[i]], i

    return [texts[i][::-1] if _kind(texts[i]) == "R" else texts[i] for i in sorted(range(len(texts)), key=place)]


def read_text(parts: Sequence[str]) -> str:
    """Return the text that parts of a line (and spaces), from left to right, make in the order it is read.

    Those of which most is written from right to left are given as they are printed.
    """
    whole = "".join(parts)
    if whole.isascii():
        return whole
    if right_to_left(whole):
        return logical_text(whole)
    return "".join(logical_text(part) if right_to_left(part) else part for part in parts)


def logical_text(printed: Sequence[str]) -> str:
    """Return the text of a line in the order it is read; `printed` has its characters from left to right.

    An entry may hold several characters (a ligature spelt out); a space stands for the gap between two words.
    """
    kinds = [_kind(text) for text in printed]
    stretches = _stretches(printed, kinds)
    parts: list[str] = []
    loose: list[int] = []  # brackets outside the stretches
    at = len(printed)
    while at > 0:
        at -= 1
        begin = stretches.get(at)
        if begin is not None:
            parts.append("".join(printed[begin : at + 1]))
            at = begin
        else:
            if printed[at] in _MIRRORED:
                loose.append(len(parts))
            parts.append(printed[at])
    for i, bracket in zip(loose, _facing([parts[i] for i in loose]), strict=True):
        parts[i] = bracket
    return "".join(parts)


def _kind(text: str) -> str:
    """Return R (from right to left), L (from left to right), N (digit), S (space) or O (anything else)."""
    if not text or text.isspace():
        return "S"
    kind = unicodedata.bidirectional(text[0])
    if kind in ("R", "AL"):
        return "R"
    return kind if kind == "L" else "N" if kind in ("EN", "AN") else "O"


def _stretches(printed: Sequence[str], kinds: Sequence[str]) -> dict[int, int]:
    """Return the first entry of each stretch that runs from left to right, by its last entry."""
    found: dict[int, int] = {}
    arabic = 2 * sum(unicodedata.bidirectional(text[0]) == "AL" for text in printed if text) > kinds.count("R")
    separators = _SEPARATORS - _PARTING if arabic else _SEPARATORS
    at = 0
    while at < len(printed):
        if kinds[at] not in "LN":
            at += 1
            continue
        first = last = at
        worded = kinds[at] == "L"
        while True:
            after = next((i for i in range(last + 1, min(last + 2 + _FAR, len(kinds))) if kinds[i] in "LNR"), None)
            if after is None or kinds[after] == "R":
                break
            between = printed[last + 1 : after]
            number = not between or (len(between) == 1 and between[0] in separators)
            if not number and not worded and kinds[after] == "N":
                break
            worded |= kinds[after] == "L"
            last = after
        if kinds[last] == "N" and last + 1 < len(printed) and printed[last + 1] in _UNITS:
            last += 1
        if kinds[first] == "N" and first and printed[first - 1] in _SIGNS and (first == 1 or kinds[first - 2] == "S"):
            first -= 1
        found[last] = first
        at = last + 1
    return found


def _facing(brackets: Sequence[str]) -> Sequence[str]:
    """Return the brackets of a line as they open and close; files name them as they look or as they are read."""
    mirrored = [_MIRRORED[bracket] for bracket in brackets]
    if not _unmatched(brackets):
        return brackets
    if not _unmatched(mirrored) or len(brackets) % 2:
        return mirrored if _unmatched(mirrored) < _unmatched(brackets) else brackets
    return [b if (b in _OPENING) == (i % 2 == 0) else _MIRRORED[b] for i, b in enumerate(brackets)]


def _unmatched(brackets: Sequence[str]) -> int:
    open_ones: list[str] = []
    wrong = 0
    for bracket in brackets:
        if bracket in _OPENING:
            open_ones.append(bracket)
        elif open_ones and open_ones[-1] == _MIRRORED[bracket]:
            open_ones.pop()
        else:
            wrong += 1
    return wrong + len(open_ones)
