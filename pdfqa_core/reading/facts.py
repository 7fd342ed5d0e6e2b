"""The facts of a text that could be exchanged for others: numbers, ordinals, dates and names, each with its kind."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Literal

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.text import bare_terms

# ----------------------------------------------------------------------------------------------------
# Numbers in text by what they are worth: "1,000", "$1,000.00", "$1k" and "a thousand" are one, "20 %" is not "20".
#
# The names of forms, such as 10-Q, have none.

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
_BEFORE_MONEY = re.compile(r"(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF))\s?$")  # before "8.5 m"
_SHORT = re.compile(r"\s?(?P<scale>k|m|mn|bn|tn)\b(?!²|³)")
SHORTENED = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "tn": 1e12}
# A minus right before a number, as a hyphen or as it is printed: no range (10–20), name (F-16) or mark of a list.
_MINUS = re.compile(r"(?<![\w.)\]%°])(?:\u2212|(?<!\d\s)[-–])(?:[$€£¥]\s?)?$")
_PERCENT = re.compile(r"\s*(?:%|per\s?cent\b|percent\b)", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"^[ \t]*(?:\(?\d{1,3}[.)]|#\d{1,3})(?=\s)", re.MULTILINE)
_MONTH_NAME = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """The number written at `text[start:end]`, worth `value`; "20 %" and "20 percent" have `percent` set.

    `scale` is the word in the digits' value: 1e6 in "1.2 million" and "€1.2 m". With a minus before it the value is
    below 0.
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
        start = match.start()
        minus = match["digits"] is not None and _MINUS.search(text, max(0, start - 4), start) is not None
        found.append(Number(start, end, -value if minus else value, percent is not None, scale))
    return found


def _shortened(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """Return the "m" of "€8.5 m" and the like: behind amounts of money alone, elsewhere it may be a unit."""
    return (
        _SHORT.match(text, match.end())
        if _BEFORE_MONEY.search(text, max(0, match.start() - 5), match.start())
        else None
    )


def claimed(text: str) -> list[Number]:
    """Return the numbers that a text claims: all but the word "one", which is mostly none ("one of", "no one")."""
    return [number for number in numbers(text) if text[number.start : number.end].casefold() != "one"]


def stated(text: str) -> frozenset[tuple[float, bool]]:
    """Return the keys of all numbers that a text states, months by their number among them."""
    months = {(1.0 + MONTHS.index(found[0].casefold()), False) for found in _MONTH_NAME.finditer(text)}
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


# ----------------------------------------------------------------------------------------------------
# The facts of a text that could be exchanged for others: numbers, ordinals, dates and names, each with its kind.

Kind = Literal["number", "percent", "money", "ordinal", "date", "name"]

_MONTH = rf"(?P<month>(?:{'|'.join(month.capitalize() for month in MONTHS)})\b)"  # "may" is mostly none
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)(?:[–/-]\d\d)?(?![\w%]|[.,]\d)"
_BARE_YEAR = rf"(?<![\w.,$€£–-]){_YEAR}"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?", rf"(?<![\w.,]){_DAY}\s+{_MONTH}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH}(?:,?\s+{_YEAR})?", _BARE_YEAR,
    )
)  # fmt: skip
_WORD = r"(?:[A-Z][\w’'&.-]*\w|[A-Z]|[a-z]{1,2}[A-Z]\w*)"  # iPhone and eBay too
_NAME = re.compile(rf"\b{_WORD}(?:(?: (?:of|the|de|van|von|and|&))? {_WORD})*")
_CURRENCY = re.compile(r"(?P<sign>[$€£¥]|\b(?:USD|EUR|GBP|CHF))\s*\(?$")
_MONEY = re.compile(
    r"\s*(?P<sign>dollars?|euros?|cents?|pounds?|USD|EUR|GBP|CHF|[€£])(?!\w)", re.IGNORECASE
)  # behind one
_UNIT = re.compile(
    r"[\s-]*(?:(?:more|full|business|calendar|consecutive|working|additional|square|cubic|metric) )*"
    r"(seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?|km|kilomet(?:er|re)s?|miles?|met(?:er|re)s?|m|"
    r"feet|foot|ft|inch(?:es)?|cm|mm|kg|kilograms?|grams?|g|tons?|tonnes?|lbs?|pounds?|kwh|mwh|gwh|kw|mw|watts?|"
    r"°c|°f|k|db|hz|cents?|bps|acres?|hectares?|lit(?:er|re)s?|gallons?)\b",
    re.IGNORECASE,
)
_EXACT_UNIT = re.compile(  # as they are written: "GB" and "PM" in other letters are parts of names
    r"\s?(mg|µg|mcg|ml|cl|mmol|m?bar|psi|kPa|[kMG]B|mAh|[ap]\.?m|(?:degrees? |°\s?)(?:[Cc]elsius|[Ff]ahrenheit|[CF]))"
    r"(?![\w²³])"
)
_SIGNS = {"usd": "$", "dollar": "$", "eur": "€", "euro": "€", "gbp": "£"}
_RATE = re.compile(
    r"\s*(?:[a-z]+\s+)?(?:an?|per|each|every)\s+(?:(?:calendar|working|business) )?"
    r"(hour|day|night|evening|week|month|quarter|year)\b"
)
_SPELLINGS = {
    "kilometre": "km", "kilometer": "km", "metre": "m", "meter": "m", "foot": "feet", "ft": "feet", "inche": "inch",
    "kilogram": "kg", "gram": "g", "tonne": "ton", "lb": "pound", "litre": "liter",
}  # fmt: skip
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_ORDINAL = re.compile(rf"(?<!per )(?<!at )\b(?:{'|'.join(_ORDINALS)})\b", re.IGNORECASE)
_IN_SCALE = re.compile(
    r"(?:\b(?:in|of|US|USD|EUR|GBP|CHF)|[$€£])[\s/]*(?P<word>thousand|million|billion)s?\b"  # "€ million"
    r"|[(\[|]\s*(?P<first>thousand|million|billion)s?(?=\s*[)\]|]|\s+(?:of\s+)?[^\W\d]+\s*[)\]|])"  # "(million euros)"
    r"|(?:[$€£]|\b(?:USD|EUR|GBP|CHF)) ?(?P<short>k|m|mn|bn)\b"  # "(€m)"
    r"|[$€£’']0{3}\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"(?:^|[.!?:|\n•*“\"(]\s*)$")  # before the first word of a sentence, a line or a cell


@dataclass(frozen=True, slots=True)
class Fact:
    """A number, ordinal, date or name at `text[start:end]`.

    A number has its `value`, the known `unit` after it ("" without; of money its sign), as `scale` the word that is in
    the value ("1.2 million": 1e6), and as `rate` what it is for ("two days a week": week); its value has no sign:
    `negative` says whether it had one. A date has a `date` (year,
    month, day; 0: not said), a name its `words`. `initial`: the capital may only be that of a sentence's first word.
    """

    start: int
    end: int
    kind: Kind
    value: float = 0.0
    unit: str = ""
    scale: float = 1.0
    date: tuple[int, int, int] = (0, 0, 0)
    words: frozenset[str] = frozenset()
    initial: bool = False
    rate: str = ""
    negative: bool = False

    def same(self, other: Fact) -> bool:
        """Return whether both say the same; of dates and names one may say less ("2018" and "June 2018")."""
        if "name" in (self.kind, other.kind):
            return self.kind == other.kind and (self.words <= other.words or other.words <= self.words)
        if "date" in (self.kind, other.kind):
            return self.kind == other.kind and (_within(self.date, other.date) or _within(other.date, self.date))
        if any((self.kind == kind) != (other.kind == kind) for kind in ("percent", "ordinal")):
            return False
        if self.rate and other.rate and self.rate != other.rate:
            return False
        if self.negative != other.negative:
            return False
        return math.isclose(self.value, other.value) and (self.unit == other.unit or not (self.unit and other.unit))

    def rivals(self, other: Fact) -> bool:
        """Return whether the other could stand in this one's place and would say something else."""
        if self.kind == other.kind == "date":
            return any(mine and theirs and mine != theirs for mine, theirs in zip(self.date, other.date, strict=True))
        return self.kind == other.kind and not self.same(other)


def _within(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    return all(mine in (0, theirs) for mine, theirs in zip(one, other, strict=True))


def facts(text: str) -> list[Fact]:
    """Return the facts of a text in order; the word "one" is none."""
    found: list[Fact] = []

    def free(start: int, end: int) -> bool:
        return not any(fact.start < end and start < fact.end for fact in found)

    for pattern in _DATES:
        for match in pattern.finditer(text):
            if free(*match.span()):
                found.append(Fact(*match.span(), "date", date=_date(match)))
    for number in numbers(text):
        start, end = number.start, number.end
        if free(start, end) and text[start:end].casefold() != "one":
            kind = _kind(text, start, end, number.percent)
            rate = _RATE.match(text, end)
            unit = _unit(text, end) or _currency(text, start, end)
            value, negative = abs(number.value), number.value < 0
            of = rate[1] if rate else ""
            found.append(Fact(start, end, kind, value, unit, number.scale, rate=of, negative=negative))
    for match in _ORDINAL.finditer(text):
        found.append(Fact(*match.span(), "ordinal", float(_ORDINALS.index(match[0].casefold()) + 1)))
    for match in _NAME.finditer(text):
        start, end = match.span()
        initial = False
        if _BEGINS.search(text, max(0, start - 3), start):
            first = re.match(r"\S+\s*", text[start:end])
            if first and first[0].strip().casefold() in STOP_WORDS:
                start += first.end()
            else:
                initial = first is not None and first.end() == end - start and text[start + 1 : end].islower()
        said = text[start:end]
        alone = said.istitle() and said.casefold() in STOP_WORDS  # "The", not "US"
        if end - start > 1 and not alone and free(start, end) and not _UNIT.fullmatch(text, start, end):
            found.append(Fact(start, end, "name", words=name_words(said), initial=initial))
    return sorted(found, key=lambda fact: fact.start)


def name_words(text: str) -> frozenset[str]:
    """Return the words of a name, however they are written: without possessive, accents and full stops."""
    plain = unicodedata.normalize("NFD", text.replace(".", ""))
    words = bare_terms("".join(letter for letter in plain if not unicodedata.combining(letter)))
    return frozenset(words)


def _date(match: re.Match[str]) -> tuple[int, int, int]:
    parts = match.groupdict()
    month = MONTHS.index(parts["month"].casefold()) + 1 if parts.get("month") else 0
    return int(parts.get("year") or 0), month, int(parts.get("day") or 0)


def _kind(text: str, start: int, end: int, percent: bool) -> Kind:
    if percent:
        return "percent"
    money = _CURRENCY.search(text, max(0, start - 5), start) or _MONEY.match(text, end)
    return "money" if money else "number"


def in_scale(fact: Fact, scale: float) -> Fact:
    """Return a number of a table whose values are given in thousands or millions as what it is worth."""
    if fact.kind not in ("number", "money") or fact.scale != 1.0:
        return fact
    return replace(fact, value=fact.value * scale, scale=scale)


def scales(text: str) -> set[float]:
    """Return the scales in which a text says that it gives its values ("in millions", "$000")."""
    found = set()
    for match in _IN_SCALE.finditer(text):
        word = (match["word"] or match["first"] or "thousand").casefold()
        found.add(SHORTENED[match["short"].casefold()] if match["short"] else SCALES[word])
    return found


def _currency(text: str, start: int, end: int) -> str:
    found = _CURRENCY.search(text, max(0, start - 5), start) or _MONEY.match(text, end)
    sign = found["sign"].casefold() if found else ""
    return _SIGNS.get(sign.removesuffix("s"), sign)


def _unit(text: str, end: int) -> str:
    if exact := _EXACT_UNIT.match(text, end):
        unit = exact[1].casefold().replace(".", "")
        return f"°{unit.split()[-1].lstrip('°')[0]}" if unit.startswith(("degree", "°")) else unit
    match = _UNIT.match(text, end)
    if match is None:
        return ""
    unit = match[1].casefold()
    unit = unit.removesuffix("s") if len(unit) > 3 or unit == "lbs" else unit
    return _SPELLINGS.get(unit, unit)
