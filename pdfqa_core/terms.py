"""What a term is: the words of a text as search, checks and word measures compare them. Here alone it is decided."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

RULES = 2  # changes with what `terms` returns; see `has_others`

_PRINTED_MINUS = re.compile(r"(?:\u2212|(?<![\w.)\]%°])(?<!\d\s)\u2013)(?=[$€£¥]?\d)")
_LETTERS = re.compile(r"[^\W_]+")
_PLAIN = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?")
# What NFKC would glue to what stands before it: raised numbers behind numbers and words of four letters or more (10⁶,
# marks of notes), lowered ones and fractions behind numbers (5½). m² and H₂O are words.
_RAISED, _LOWERED = "¹²³⁰-ⁿʰ-ʸᵃ-ᶻ", "₀-₋¼-¾⅐-⅞↉"
_MAY_STAND_ALONE = re.compile(f"[{_RAISED}{_LOWERED}]")
_STANDS_ALONE = re.compile(rf"(?<=\d)[{_RAISED}{_LOWERED}]+|(?<=\w{{4}})[{_RAISED}]+")
# Where `_PLAIN` does not do: marks, scripts without spaces, characters without width. Greek and Cyrillic have none.
_MORE = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u200b-\u200d\u2060\u20d0-\u20ff\u2de0-\uabff\uf900-\ufaff"
    "\ufe00-\ufe2f\ufeff\U00010000-\U0010ffff]"
)
_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]")  # soft hyphens, joiners: a word is the same without them
_BREAK = "\u200b"  # a space without width stands between words

# Letters and marks of scripts that are written without spaces between words: Han, Hiragana, Katakana, Bopomofo; Thai,
# Lao, Myanmar, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet (class SA of UAX #14). Their digits are numbers.
_SPACELESS = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef"
    "\ua9fa-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7f\uaa80-\uaadf"
)


class _Patterns(NamedTuple):
    """Numbers, words with their marks and runs without spaces; such a run; its characters; `_LETTERS` with marks."""

    found: re.Pattern[str]
    run: re.Pattern[str]
    character: re.Pattern[str]
    letters: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    points = (*range(0x300, 0x1E950), *range(0xE0100, 0xE01F0))
    marks = "".join(chr(point) for point in points if unicodedata.category(chr(point))[0] == "M")
    letter, run = rf"[^\W{_SPACELESS}]", f"[{_SPACELESS}]+"
    word = rf"{letter}(?:{letter}|[{marks}])*"
    return _Patterns(
        re.compile(rf"\d+(?:[.,]\d+)*|(?P<run>{run})|{word}(?:['’]{word})?"),
        re.compile(run),
        re.compile(rf"[^{marks}]?[{marks}]*"),
        re.compile(rf"[^\W_](?:[^\W_]|[{marks}])*"),
    )


def composed(text: str) -> str:
    """Return a text in NFC, in which an accent is one character with its letter wherever there is one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def plain_letters(text: str) -> str:
    """Return a text case-folded and decomposed (NFKD), so that letters can be compared without their accents."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKD", text.casefold())


def with_plain_minus(text: str) -> str:
    """Return a text with a hyphen for the minus that is printed before a number: U+2212, or an en dash that is none."""
    return text if text.isascii() else _PRINTED_MINUS.sub("-", text)


def terms(text: str) -> list[str]:
    """Return the index terms: NFKC-normalised, case-folded words with their marks; numbers keep their separators.

    A run of a script without spaces is its pairs of neighbouring characters, each with its marks; one alone is itself.
    """
    text = _folded(text)
    if not _needs_more(text):
        return _PLAIN.findall(text)
    return [term for found, run in _found(text) for term in (_pairs(found) if run else (found,))]


def has_others(text: str) -> bool:
    """Return whether `terms` may find others in a text than by earlier RULES, so that an index is out of date."""
    return not text.isascii() and (_needs_more(_folded(text)) or _STANDS_ALONE.search(text) is not None)


def runs_of_letters(text: str) -> list[str]:
    """Return the runs of letters, digits and marks; scripts without spaces by single characters. Case stays."""
    if not _needs_more(text):
        return _LETTERS.findall(text)
    return _patterns().letters.findall(apart(_INVISIBLE.sub("", text)))


def _needs_more(text: str) -> bool:
    """Return whether a text has marks, characters without width, or letters of scripts that may be without spaces."""
    return _MORE.search(text) is not None


def apart(text: str) -> str:
    """Return a text with a space around each character of a script that is written without spaces."""
    if not _needs_more(text):
        return text
    return _patterns().run.sub(lambda run: f" {' '.join(_characters(run[0]))} ", text)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    if _MAY_STAND_ALONE.search(text):
        text = _STANDS_ALONE.sub(r" \g<0> ", composed(text))
    return unicodedata.normalize("NFKC", text).casefold()


def _found(text: str) -> Iterator[tuple[str, bool]]:
    """Yield numbers, words and runs without spaces of a folded text, and whether it is such a run."""
    text = _INVISIBLE.sub("", text).replace(_BREAK, " ").replace("i\u0307", "i")  # what casefold makes of İ
    for match in _patterns().found.finditer(text):
        yield match[0], match["run"] is not None


def _characters(run: str) -> list[str]:
    return [character for character in _patterns().character.findall(run) if character]


def _pairs(run: str) -> list[str]:
    characters = _characters(run)
    return [one + other for one, other in pairwise(characters)] or characters
