"""Rewritings of a follow-up made of its own words and of phrases said before, for a model that only has to choose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.conversation.relation import names, phrases, topic_terms
from pdfqa_core.text import sentences, terms

PHRASES = 8  # that may take the place of a pronoun, the newest first
PREPOSITIONS = ("of", "for", "about", "in")  # that join a phrase to a question without a pronoun

# Words that name nothing a pronoun could stand for: a phrase ends before them.
_NAMELESS = frozenset(
    """am heard meant say said says mentioned sounds like want thanks hmm wow cool interesting sure mind never let know
    known knew talk try tried using used use really just going go recently ago thing things lot after during between may
    might become affect help happened cause caused consider bake feel seem seems better best first second last other
    next now once well way""".split()
)
_DETERMINER = r"\b(?:the|a|an|my|our|your|his|her|their|its|any|some)"
_BEFORE_NAMES = re.compile(
    _DETERMINER + r"\s+$|\b(?:of|in|about|for|with|from|on|at|by|are|is|was|were|did|does|do)\s+$", re.IGNORECASE
)
_PERSONAL = re.compile(r"\b(it|its|they|them|their|theirs|he|him|his|she|her|hers)\b(?!['’])", re.IGNORECASE)
_DEMONSTRATIVE = re.compile(r"\b(this|that|these|those)\b(?=\s*([.?!,;]|$))", re.IGNORECASE)
_POSSESSIVE = frozenset({"its", "their", "theirs", "his", "hers"})


def candidates(question: str, earlier: Sequence[str]) -> list[str]:
    """Return rewritings of `question` with phrases of the `earlier` questions in it, none if there are no phrases.

    A phrase takes the place of the first pronoun of the last sentence that has one. Without a pronoun each phrase is
    joined to the end of the last sentence by each of PREPOSITIONS.
    """
    found = said_before(question, earlier)
    pronoun = _pronoun(question)
    if pronoun is not None:
        start, end = pronoun
        owner = _owner(question, start, end)
        return [question[:start] + (_possessive(phrase) if owner else phrase) + question[end:] for phrase in found]
    stem = question.rstrip(" .?!")
    mark = question.rstrip()[len(stem) :] or "?"
    return [f"{stem} {preposition} {phrase}{mark}" for phrase in found for preposition in PREPOSITIONS]


def said_before(question: str, earlier: Sequence[str]) -> list[str]:
    """Return up to PHRASES phrases of the earlier questions that `question` lacks, the newest question's first.

    Only those that look like names of something: behind a determiner, a preposition or an auxiliary verb, or with a
    capital inside the sentence. A determiner is kept. Those of more than two words come without the last one too.
    """
    known = set(topic_terms(question)) | _NAMELESS
    found: dict[str, str] = {}
    for asked in reversed(earlier):
        for phrase in phrases(asked, known):
            place = asked.find(phrase)
            named = _BEFORE_NAMES.search(asked, 0, place)
            if "’" in phrase.replace("’s", "") or not (named or names(f"- {phrase}")):
                continue
            determiner = re.search(_DETERMINER + r"\s+$", asked[:place], re.IGNORECASE)
            words = phrase.split()
            for length in (len(words), len(words) - 1)[: 1 + (len(words) > 2)]:  # the last may be the sentence's verb
                text = " ".join(words[:length])
                found.setdefault(text.lower(), (determiner[0].lower() if determiner else "") + text)
    return list(found.values())[:PHRASES]


def _pronoun(question: str) -> tuple[int, int] | None:
    """Return the place of the first pronoun in the last sentence that has one."""
    for start, end in reversed(sentences(question)):
        matches = [*_PERSONAL.finditer(question, start, end), *_DEMONSTRATIVE.finditer(question, start, end)]
        if matches:
            return min(match.span() for match in matches)
    return None


def _owner(question: str, start: int, end: int) -> bool:
    """Return whether the pronoun says whose something is: "its", and "her" before a topic word."""
    word = question[start:end].lower()
    following = terms(question[end:])[:1]
    return word in _POSSESSIVE or (word == "her" and bool(following) and bool(topic_terms(following[0])))


def _possessive(phrase: str) -> str:
    return phrase + ("’" if phrase.endswith("s") else "’s")
