"""Follow-ups that ask the last question for another year, quarter or month: "And the year before?", "What about Q3?".

The last question is asked again with the other period in the place of its own, which says more than any words beside
it: a passage about the right year has few of them. English only. What is not clear is left to the other rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pdfqa_core.conversation.relation import points_back
from pdfqa_core.interfaces import History

_ORDINALS = ("first", "second", "third", "fourth")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_YEAR = r"(?:19|20)\d\d"
_QUARTER = rf"(?:{'|'.join(_ORDINALS)}|[1-4](?:st|nd|rd|th)) (?:fiscal )?quarter|[Qq][1-4]"
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_LEAD = (
    r"(?:(?:and|but|so|ok|okay)\b[,\s]*)?(?:(?:what|how) about\b\s*|(?:what|how (?:much|many|high|large)) was it\b\s*)?"
    r"(?:(?:in|for|during|of)\b\s*)?(?:the\s+)?"
)
_BEFORE, _AFTER = "before|earlier|previous|prior|preceding", "after|later|following|next"
_RELATIVE = re.compile(
    rf"{_LEAD}(?:(?P<unit>year|quarter|month) (?P<way>before|earlier|after|later)(?: that| this)?"
    rf"|(?P<way2>previous|prior|preceding|following|next) (?P<unit2>year|quarter|month)(?: then)?)",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(
    rf"{_LEAD}(?:(?P<quarter>{_QUARTER})|(?P<month>{_MONTH}))?[\s,]*(?:of |in )?(?:the )?(?:fiscal |fy ?)?"
    rf"(?:year )?(?P<year>{_YEAR})?(?: then)?",
    re.IGNORECASE,
)
_FIND = {
    "year": re.compile(rf"\b{_YEAR}\b"),
    "quarter": re.compile(rf"\b(?:{_QUARTER})\b", re.IGNORECASE),
    "month": re.compile(rf"\b{_MONTH}\b", re.IGNORECASE),
}


def for_another_period(question: str, history: History) -> str:
    """Return the last question of the (question, answer) pairs for the period that `question` names; else "".

    The last one may be such a question itself. A year that it does not name is taken from its answer.
    """
    if not history or not _asked(question):
        return ""
    before, answer = history[-1]
    last = for_another_period(before, history[:-1]) or before
    if points_back(last, [asked for asked, _ in history[:-1]]):
        return ""
    relative = _RELATIVE.fullmatch(_bare(question))
    if relative is not None:
        return _moved(
            last, answer, (relative["unit"] or relative["unit2"]).lower(), relative["way"] or relative["way2"]
        )
    named = _ABSOLUTE.fullmatch(_bare(question))
    return _named(last, named) if named is not None else ""


def _bare(question: str) -> str:
    return " ".join(question.split()).strip(" ?.!")


def _asked(question: str) -> bool:
    """Whether a question names a period and nothing else."""
    bare = _bare(question)
    absolute = _ABSOLUTE.fullmatch(bare)
    return bool(_RELATIVE.fullmatch(bare)) or (absolute is not None and any(absolute.groupdict().values()))


def _only(unit: str, text: str) -> str:
    """Return the one year, quarter or month that a text names, as it is written; "" if there are none or several."""
    found = {match[0].casefold(): match[0] for match in _FIND[unit].finditer(text)}
    return next(iter(found.values())) if len(found) == 1 else ""


def _named(last: str, named: re.Match[str]) -> str:
    """Return the question for the period that was named; "" where it has no place for it."""
    found = last
    for unit in ("quarter", "month"):
        if not named[unit]:
            continue
        own = _only(unit, found)
        if not own:
            return ""
        found = found.replace(own, named[unit])
    if named["year"]:
        own = _only("year", found)
        if own:
            found = found.replace(own, named["year"])
        elif _FIND["year"].search(found):
            return ""
        else:
            found = _with_year(found, named["year"])
    return found


def _moved(last: str, answer: str, unit: str, way: str) -> str:
    """Return the question for the period before or after its own; "" if it has none, or several."""
    step = -1 if re.fullmatch(_BEFORE, way, re.IGNORECASE) else 1
    year = _only("year", last)
    if unit == "year":
        if year:
            return last.replace(year, str(int(year) + step))
        said = "" if _FIND["year"].search(last) else _only("year", answer)
        return _with_year(last, str(int(said) + step)) if said else ""
    own = _only(unit, last)
    if not own:
        return ""
    place, write, count = _quarter(own) if unit == "quarter" else _month(own)
    moved = place + step
    if not 0 <= moved < count:  # into another year
        if not year:
            return ""
        last = last.replace(year, str(int(year) + step))
    return last.replace(own, write(moved % count))


def _quarter(own: str) -> tuple[int, Callable[[int], str], int]:
    """Return which quarter is written, how another one is written alike, and how many there are."""
    first = own.split(maxsplit=1)[0].casefold()
    if first in _ORDINALS:
        rest = own[len(first) :]
        return _ORDINALS.index(first), lambda place: _ORDINALS[place] + rest, 4
    digit = next(sign for sign in first if sign.isdigit())
    endings = ("st", "nd", "rd", "th")

    def write(place: int) -> str:
        if first[0] == "q":
            return f"Q{place + 1}"
        return f"{place + 1}{endings[place]}{own[len(first) :]}"

    return int(digit) - 1, write, 4


def _month(own: str) -> tuple[int, Callable[[int], str], int]:
    """Return which month is written, how another one is written, and how many there are."""
    return _MONTHS.index(own.casefold()), lambda place: _MONTHS[place].capitalize(), 12


def _with_year(question: str, year: str) -> str:
    stem = question.rstrip(" ?.!")
    return f"{stem} in {year}{question.rstrip()[len(stem) :] or '?'}"
