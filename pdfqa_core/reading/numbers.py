"""Numbers in text by what they are worth: "1,000", "$1,000.00", "$1k" and "a thousand" are one, "20 %" is not "20".

The names of forms, such as 10-Q, have none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_WORDS = {word: float(value) for value, word in enumerate(_UNITS)} | {
    word: 10.0 * tens for tens, word in enumerate(_TENS, 2)
}
MONTHS = (
    "january february march april may june july august september october november december"
).split()  # a date in digits names the month by its number

_SMALL = "|".join(_WORDS)
_SCALE = "|".join(SCALES)
_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!(?-i:\d|-[FKQ]s?\b))"  # no "10-Q", "8-K"
    rf"(?:st|nd|rd|th)?(?:\s+(?P<scale>{_SCALE})\b)?"
    rf"|\b(?P<words>(?:(?:{_SMALL})|an?(?=\s+(?:{_SCALE})\b))(?:[\s-]+(?:and\s+)?(?:{_SMALL}|{_SCALE})\b)*)\b",
    re.IGNORECASE,
)
_MONEY = re.compile(r"(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF))\s?$")  # before "8.5 m"
_SHORT = re.compile(r"\s?(?P<scale>k|m|mn|bn|tn)\b(?!²|³)")
SHORTENED = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "tn": 1e12}
_PERCENT = re.compile(r"\s*(?:%|per\s?cent\b|percent\b)", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"^[ \t]*(?:\(?\d{1,3}[.)]|#\d{1,3})(?=\s)", re.MULTILINE)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """The number written at `text[start:end]`, worth `value`; "20 %" and "20 percent" have `percent` set.

    `scale` is the word in the digits' value: 1e6 in "1.2 million" and "€1.2 m".
    """

    start: int
    end: int
    value: float
    percent: bool
    scale: float = 1.0

    @property
    def key(self) -> tuple[float, bool]:
        """What two numbers that are the same share."""
        return self.value, self.percent


def numbers(text: str) -> list[Number]:
    """Return the numbers of a text in order: in digits or English words, not the numbers that begin list items."""
    items = [found.span() for found in _LIST_NUMBER.finditer(text)]
    found = []
    for match in _NUMBER.finditer(text):
        if any(start <= match.start() < end for start, end in items):
            continue
        percent = _PERCENT.match(text, match.end())
        scale = SCALES[match["scale"].casefold()] if match["scale"] else 1.0
        end, value = match.end(), _value(match)
        if percent:
            end = percent.end()
        elif scale == 1.0 and (short := _shortened(text, match)):
            end, scale = short.end(), SHORTENED[short["scale"]]
            value = round(value * scale, 6)
        found.append(Number(match.start(), end, value, percent is not None, scale))
    return found


def _shortened(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """Return the "m" of "€8.5 m" and the like: behind amounts of money alone, elsewhere it may be a unit."""
    return _SHORT.match(text, match.end()) if _MONEY.search(text, max(0, match.start() - 5), match.start()) else None


def claimed(text: str) -> list[Number]:
    """Return the numbers that a text claims: all but the word "one", which is mostly none ("one of", "no one")."""
    return [number for number in numbers(text) if text[number.start : number.end].casefold() != "one"]


def stated(text: str) -> frozenset[tuple[float, bool]]:
    """Return the keys of all numbers that a text states, months by their number among them."""
    months = {(1.0 + MONTHS.index(found[0].casefold()), False) for found in _MONTH.finditer(text)}
    return frozenset(number.key for number in numbers(text)) | months


def _value(match: re.Match[str]) -> float:
    if match["digits"]:
        scale = SCALES[match["scale"].casefold()] if match["scale"] else 1.0
        return round(float(match["digits"].replace(",", "")) * scale, 6)
    total, group = 0.0, 0.0
    for word in re.split(r"[\s-]+", match["words"].casefold()):
        if word in ("a", "an"):
            group = 1.0
        elif word == "hundred":
            group = max(group, 1.0) * 100
        elif word in SCALES:
            total, group = total + max(group, 1.0) * SCALES[word], 0.0
        elif word != "and":
            group += _WORDS[word]
    return total + group
