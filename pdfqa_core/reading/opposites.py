"""Words and their opposites: a sentence that has one where its quote has the other says something else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from pdfqa_core.reading.alignment import by_distance
from pdfqa_core.reading.facts import Fact

# That a sentence has one of these which its quote has not is a sign too: `verdicts.py` was fitted on them.
_FITTED = (
    ("at least", "at most"), ("up to", "at least"), ("more than", "less than"), ("before", "after"),
    ("increased", "decreased"), ("increase", "decrease"), ("increases", "decreases"), ("rose", "fell"),
    ("higher", "lower"), ("above", "below"), ("over", "under"), ("unless", "if"), ("minimum", "maximum"),
    ("within", "after"), ("always", "never"), ("only", "not only"), ("first", "last"), ("first", "second"),
    ("all", "no"), ("more", "less"), ("more", "fewer"), ("most", "least"), ("highest", "lowest"),
    ("largest", "smallest"), ("warmer", "colder"), ("longer", "shorter"), ("with", "without"),
)  # fmt: skip
_UP = (
    "increas(?:es?|ed|ing)|r[io]se|rises|risen|rising|gr[eo]w|grows|grown|growing|growth|raised?|raises|"
    "improv(?:es?|ed|ing)|climbed|up from"
)
_DOWN = (
    "decreas(?:es?|ed|ing)|f[ae]ll|falls|fallen|falling|declin(?:es?|ed|ing)|drop|drops|dropped|"
    "reduc(?:es?|ed|ing|tion)|lowered|lowers|cut|cuts|shrank|shrunk|shrinks?|down from"
)
# Words of one meaning beside those of the opposite one. These count only where their surroundings are alike.
_CLASSES = (
    (_UP, _DOWN),
    ("at least|minimum|more than|longer than|later than|over|above|exceeds?|exceeding",
     "at most|up to|maximum|less than|fewer than|under|below|within"),
    ("unless", "if|when|where"), ("more", "less|fewer"), ("allowed|permitted", "forbidden|prohibited|banned"),
    ("older", "newer|younger"), ("earlier|earliest", "later|latest"), ("since|from", "until"),
    ("in advance", "in arrears"), ("favou?rable", "unfavou?rable"),
    ("primarily|mainly|mostly|partly|largely", "entirely|solely|exclusively|wholly"), ("once", "twice"),
    ("doubled?", "halved?"), ("includ(?:ed|es|ing)", "exclud(?:ed|es|ing)"), ("profits?", "loss(?:es)?"),
    ("open", "closed"), (r"(?:switch|turn)\w* (?:\w+ )?on", r"(?:switch|turn)\w* (?:\w+ )?off"),
    ("most|all|many|every", "few"), ("all", "most|some|none|few"), ("full-time", "part-time"),
    ("almost|nearly", "more than"), ("exactly", "about|approximately|around|roughly|almost|nearly"),
    ("carried|passed|approved|adopted|accepted", "rejected|failed|defeated|postponed?|refused"),
    ("bought|buys?|acquired", "sold|sells?"), ("begins?|began|starts?|started", "ends?|ended"),
    ("even if|whether or not", "only (?:if|when)"), ("inside", "outside"), ("mild|minor", "severe|serious"),
    ("thicker|wider|heavier|faster|stronger", "thinner|narrower|lighter|slower|weaker"),
)  # fmt: skip
LIKE = 0.35  # cosine of the surroundings of a word and of its opposite above which they are alike
_LIMITS = (
    (re.compile(r"\b(?:not|no) (?:less|fewer|earlier|sooner) than\b", re.IGNORECASE), "at least"),
    (re.compile(r"\b(?:not|no) (?:more|longer|later|greater|higher) than\b|\bnot (?:to )?exceed(?:ing)?\b",
                re.IGNORECASE), "at most"),
)  # fmt: skip


def plain(text: str) -> str:
    """Return a text in which a limit that is said by a negation is said without one: "not less than" is "at least"."""
    for pattern, words in _LIMITS:
        text = pattern.sub(words, text)
    return text


def between(sentence: str, quote: str) -> tuple[bool, int]:
    """Return whether the quote has the opposite of a word of the sentence, and how many such words it has not.

    Of a quote with both the one whose surroundings are more like the word's in the sentence counts.
    """
    turned, unsaid = False, 0
    for one, other in (*_FITTED, *((b, a) for a, b in _FITTED)):
        if not (said := _places(one, sentence)):
            continue
        same, opposite = _places(one, quote), _places(other, quote)
        unsaid += not same
        turned = turned or bool(opposite and _likeness(opposite, said) > _likeness(same, said))
    return turned or any(_turned(*pair, sentence, quote) for pair in _CLASSES), unsaid


def _turned(one: str, other: str, sentence: str, quote: str) -> bool:
    """Return whether the sentence has a word of one meaning where the quote has one of the other."""
    for mine, theirs in ((one, other), (other, one)):
        said, opposite = _places(mine, sentence), _places(theirs, quote)
        if said and opposite and _cosine(opposite, said) > max(LIKE, _cosine(_places(mine, quote), said)):
            return True
    return False


def _places(words: str, text: str) -> list[dict[str, float]]:
    """Return for each place of the words how near the stems of the text are to it."""
    found = re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE)
    return [by_distance(text, Fact(*match.span(), "name"), 0, len(text)) for match in found]


def _shared(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(near * one.get(word, 0.0) for word, near in other.items())


def _likeness(places: Sequence[Mapping[str, float]], said: Sequence[Mapping[str, float]]) -> float:
    """Return the most that what is near one of the places is near one of the others too; -1 without places."""
    return max((_shared(one, other) for one in places for other in said), default=-1.0)


def _cosine(places: Sequence[Mapping[str, float]], said: Sequence[Mapping[str, float]]) -> float:
    """Return the highest cosine of what is near one of the places and one of the others; -1 without places."""
    return max(
        (
            _shared(one, other) / math.sqrt((_shared(one, one) or 1.0) * (_shared(other, other) or 1.0))
            for one in places
            for other in said
        ),
        default=-1.0,
    )
