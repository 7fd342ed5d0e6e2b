"""Small words that turn what a sentence says: by and to, from and to, up to, unless, than."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from pdfqa_core.reading.alignment import Aligned, stems
from pdfqa_core.reading.facts import Fact, facts
from pdfqa_core.text import sentences

_AMOUNT = r"\s*(?:US)?[$€£(]?\s*(?:(?:CHF|USD|EUR|GBP)\s*)?$"  # what stands right before an amount
_MOVED = re.compile(
    r"(?<!up )\b(?P<how>by|to)\s+(?:(?:about|almost|nearly|around|approximately|some|over|roughly|more than|less than|"
    rf"only|another|a)\s+)*{_AMOUNT}",
    re.IGNORECASE,
)
_JOIN = re.compile(r"[^.;,]{0,25}\b(?:to|until)\b\W*")
_CAP = re.compile(rf"\b(?:up to|at most|maximum of|not? more than|no longer than)\b{_AMOUNT}", re.IGNORECASE)
_LIMITED = re.compile(
    r"\b(?:up to|at most|max(?:imum|\.)?|most|not? more than|no longer than|limit\w*|within|as (?:much|many|long) as|"
    r"exceed\w*|cap\w*)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:unless|except|only (?:if|with|when|after|where|on|in|for|to|by)|provided that|as long as|other than|"
    r"apart from)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:unless|except|only|provided that|as long as|other than|apart from|if|when|where|with|without|but|"
    r"subject to|excluding|once|after)\b",
    re.IGNORECASE,
)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)


def says_otherwise(
    sentence: str, quote: str, aligned: Sequence[Aligned], passages: Sequence[tuple[str, str]]
) -> bool:  # fmt: skip
    """Return whether a small word makes the sentence say something else than the quote, or leaves a limit out.

    `aligned` are the sentence's facts in the (text, heading) of the passages.
    """
    nearest = _nearest(sentence, quote)
    return (
        any(_moved(sentence, one, passages) for one in aligned)
        or _turned_round(sentence, quote)
        or bool(_CONDITION.search(nearest) and not _CONDITIONAL.search(sentence))
        or _compared_otherwise(sentence, nearest)
    )


def _moved(sentence: str, one: Aligned, passages: Sequence[tuple[str, str]]) -> bool:
    """Return whether a number is what something rose by, where the passage has to, or a limit that is left out."""
    if one.home is None or one.home.cell or one.fact.kind not in ("number", "percent", "money"):
        return False
    before = passages[one.passage][0][: one.home.fact.start]
    if _CAP.search(before) and not _LIMITED.search(sentence):
        return True
    mine, theirs = _MOVED.search(sentence[: one.fact.start]), _MOVED.search(before)
    return bool(mine and theirs and mine["how"].casefold() != theirs["how"].casefold())


def _joined(text: str) -> list[tuple[Fact, Fact]]:
    """Return the pairs of facts of one kind that are joined by "to": "from $1,500 to $300", "seven votes to four"."""
    known = [fact for fact in facts(text) if fact.kind != "name"]
    return [(a, b) for a, b in pairwise(known) if a.kind == b.kind and _JOIN.fullmatch(text[a.end : b.start])]


def _turned_round(sentence: str, quote: str) -> bool:
    theirs = _joined(quote)
    return any(not a.same(b) and a.same(last) and b.same(first) for a, b in _joined(sentence) for first, last in theirs)


def _nearest(sentence: str, quote: str) -> str:
    """Return the sentence of the quote that shares most words with a sentence."""
    mine = set(stems(sentence))
    parts = [quote[start:end] for start, end in sentences(quote)]
    return max(parts, key=lambda part: len(mine & set(stems(part))), default=quote)


def _compared_otherwise(sentence: str, quote: str) -> bool:
    """Return whether one of two texts says "A is larger than B" and the other "B is larger than A"."""
    mine, theirs = _THAN.split(sentence), _THAN.split(quote)
    if len(mine) != 2 or len(theirs) != 2:
        return False
    left, right = (set(stems(part)) for part in mine)
    first, second = (set(stems(part)) for part in theirs)
    return bool((right - left) & (first - second)) and bool((left - right) & (second - first))
