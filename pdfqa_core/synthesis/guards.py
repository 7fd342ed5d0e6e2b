"""Why a synthetic question is of no use. Pure functions; what needs a search or vectors is asked by the service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from pdfqa_core.languages import ENGLISH
from pdfqa_core.text import content_terms, terms

LONGEST = 40  # words
COPIED = 0.8  # share of a question's words that stand in one run in the passage
SHORTEST_COPY = 7  # words; shorter runs are names and terms
FEWEST = 2  # words that say something


class Reason(StrEnum):
    """Why a question was dropped, in the words that a person reads."""

    EMPTY = "nothing was written"
    NO_QUESTION = "not a question"
    LONG = "too long"
    VAGUE = "says too little"
    COPY = "copied from the passage"
    POINTS = "cannot be understood without the passage"
    EXAMPLE = "repeats an example"
    NOT_FOUND = "a search does not find its passage"
    DUPLICATE = "nearly the same as another"


_PART = r"(?:passage|section|text|paragraph|excerpt|document|article|chapter|page|statement|sentence|context|snippet)"
_POINTS = re.compile(
    rf"\b(?:this|these|those|that|the|given|above|following|provided)\s+{_PART}s?\b|"
    r"\b(?:this|these|those)\s+\w+|"
    r"\b(?:mentioned|described|listed|shown|given|stated|discussed|outlined|provided)\s+(?:above|below|here|earlier)\b|"
    r"\b(?:above|below|aforementioned|following)\b[^?]*\?$|"
    rf"\b(?:in|im|aus)\s+(?:diesem|dem)\s+(?:abschnitt|text|absatz|dokument)\b|\bdieser?\s+(?:abschnitt|text|absatz)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:it|its|they|them|their|he|she|him|her|his|hers|this|these|those|that)", re.IGNORECASE)


def objection(question: str, passage: str, language: str = ENGLISH, examples: Sequence[str] = ()) -> Reason | None:
    """Return why a question about a passage is of no use; None where nothing speaks against it.

    `examples` are the questions that the model was shown.
    """
    text, asked = question.strip(), terms(question)
    run = longest_run(asked, terms(passage))
    objections = {
        Reason.EMPTY: not asked,
        Reason.NO_QUESTION: not text.endswith(("?", "？", "؟")),
        Reason.LONG: len(asked) > LONGEST,
        Reason.EXAMPLE: any(asked == terms(example) for example in examples),
        Reason.POINTS: _POINTS.search(text) is not None or _opens_with_pronoun(text, language),
        Reason.VAGUE: len(content_terms(text, language)) < FEWEST,
        Reason.COPY: run >= SHORTEST_COPY and run >= COPIED * len(asked),
    }
    return next((reason for reason, holds in objections.items() if holds), None)


def longest_run(asked: Sequence[str], passage: Sequence[str]) -> int:
    """Return the length of the longest run of words that both have in the same order, in words."""
    longest, before = 0, [0] * (len(passage) + 1)
    for word in asked:
        now = [0] * (len(passage) + 1)
        for place, other in enumerate(passage, start=1):
            if word == other:
                now[place] = before[place - 1] + 1
        longest, before = max(longest, *now), now
    return longest


def _opens_with_pronoun(question: str, language: str) -> bool:
    """Whether a pronoun comes before anything that it could stand for: "What does it cost?"."""
    for word in re.findall(r"[^\W\d_]+", question):
        if _PRONOUN.fullmatch(word):
            return True
        if content_terms(word, language) and word.casefold() not in _ASKING:
            return False
    return False


_ASKING = frozenset("what which who whom whose when where why how many much does do did is are was were can".split())
