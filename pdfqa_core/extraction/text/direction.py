"""Lines of scripts written from right to left: from what is printed to what is read. Standard library only.

The way back through UAX #9, as far as printed lines need it: numbers and words of other scripts run from left to right
among the rest, and brackets open to where the reading goes on.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_SEPARATORS = frozenset(".,:/-–+'٫٬\u00a0")  # between the digits of one number, date or time
_SIGNS, _UNITS = frozenset("$€£₪+-−–#@"), frozenset("%‰°$€£₪")  # right before and right after a number
_FAR = 4  # characters that may stand between two words of one stretch from left to right
_MIRRORED = {"(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{"}
_OPENING = frozenset("([{")


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


def faced(text: str) -> str:
    """Return a line in reading order with brackets that open and close."""
    places = [i for i, c in enumerate(text) if c in _MIRRORED]
    characters = list(text)
    for i, bracket in zip(places, _facing([text[i] for i in places]), strict=True):
        characters[i] = bracket
    return "".join(characters)


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
            number = not between or (len(between) == 1 and between[0] in _SEPARATORS)
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
