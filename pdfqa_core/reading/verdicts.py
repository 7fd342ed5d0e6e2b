"""Whether a careful reader of the passages would agree with a sentence: signs of it, and their weights.

The weights are those of a logistic regression on sentences that people wrote from passages, beside the same with a
fact, a negation or a qualifier changed; `benchmarks/verdicts.py --fit` finds them and says what they are worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.reading import opposites
from pdfqa_core.reading.alignment import Aligned, stem, stems
from pdfqa_core.reading.facts import Fact, facts, name_words

COPIED = 0.8  # share of its words with content that the quote has in the same order, of a sentence copied from it
WIDEST = 0.5  # margins beyond this say nothing more

_NEGATION = re.compile(
    r"\b(?:not|no|never|without|none|neither|nor|cannot|short of|fail(?:s|ed)? to|unable|lack(?:s|ed)?|except)\b"
    r"|n[’']t\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for and against a sentence, each between -1 and 1 or 0 and 1.

    `held`: the share of its words that the passages hold. `numbers`: by how much its numbers and dates fit their places
    better than others do, the least; `numbers_behind`: the same where it is negative, else 0; `numbers_missing`: 1 if
    one stands nowhere. `names`, `names_behind`: the same of names that the question has not; `names_asked`: that of
    those it has, against others of the quote; `names_quoted`: the share of the former that the quote holds.
    `negated_else`: 1 if a word is negated in one of sentence and quote alone; `negated_once`: 1 if one of them is
    negated at all; `opposite`: 1 if the quote has the opposite of one of its words; `unsaid`: how many words that have
    opposites (at most 3) the quote has not, in thirds.
    """

    held: float
    numbers: float
    numbers_behind: float
    numbers_missing: float
    names: float
    names_behind: float
    names_asked: float
    names_quoted: float
    negated_else: float
    negated_once: float
    opposite: float
    unsaid: float


def signs(
    sentence: str, quote: str, aligned: Sequence[Aligned], passages: Sequence[tuple[str, str]], question: str = ""
) -> Signs:
    """Return the signs of a sentence whose facts were aligned with the (text, heading) of the passages."""
    asked = name_words(question)
    said = stems(sentence)
    there = {word for text, heading in passages for word in stems(f"{heading} {text}")}
    numbers = [one for one in aligned if one.fact.kind != "name"]
    names = [one for one in aligned if one.fact.kind == "name"]
    own = [one for one in names if not one.fact.words <= asked]
    quoted, quoted_terms = facts(quote), name_words(quote)
    sentence, quote = opposites.plain(sentence), opposites.plain(quote)
    negated, negated_there = _negated(sentence), _negated(quote)
    mine, theirs = set(stems(sentence)), set(stems(quote))
    turned, unsaid = opposites.between(sentence, quote)
    return Signs(
        held=sum(word in there for word in said) / max(1, len(said)),
        numbers=_margin(numbers),
        numbers_behind=min(0.0, _margin(numbers)),
        numbers_missing=float(any(one.own is None for one in numbers)),
        names=_margin(own),
        names_behind=min(0.0, _margin(own)),
        names_asked=_margin([replace(one, rivals=_quoted(one, quote)) for one in names if one not in own]),
        names_quoted=sum(_in(one, quoted, quoted_terms) for one in own) / len(own) if own else 1.0,
        negated_else=float(bool((negated & theirs) - negated_there or (negated_there & mine) - negated)),
        negated_once=float(bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(quote))),
        opposite=float(turned),
        unsaid=min(unsaid, 3) / 3,
    )


def _margin(aligned: Sequence[Aligned]) -> float:
    """Return by how much the facts fit better than their rivals, the least of them; WIDEST without any."""
    margins = (one.own - one.rival for one in aligned if one.own is not None)
    return max(-WIDEST, min(WIDEST, min(margins, default=WIDEST)))


def _quoted(aligned: Aligned, quote: str) -> dict[str, float]:
    """Return the rivals that stand in the quote."""
    return {text: match for text, match in aligned.rivals.items() if text in quote}


def _in(name: Aligned, quoted: Sequence[Fact], quoted_terms: frozenset[str]) -> bool:
    """Return whether a name stands in the quote, or names the column of its row."""
    named = name.home is not None and name.home.names and not name.rivals
    return named or name.fact.words <= quoted_terms or any(name.fact.same(other) for other in quoted)


def _negated(text: str) -> set[str]:
    """Return the first word with content after each negation."""
    found = set()
    for match in _NEGATION.finditer(text):
        following = map(str.casefold, _WORD.findall(text[match.end() :])[:5])
        if (word := next((word for word in following if word not in STOP_WORDS), None)) is not None:
            found.add(stem(word))
    return found


def exchanged(sentence: str, quote: str) -> bool:
    """Return whether a sentence is a copy of its quote with another name: "iPad" where it says "Services".

    "The company" and "it" may give way to a name.
    """
    said, there = _WORD.findall(sentence), _WORD.findall(quote)
    matcher = SequenceMatcher(None, [word.casefold() for word in said], [word.casefold() for word in there], False)
    blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    content = [word.casefold() not in STOP_WORDS for word in said]
    copied = sum(sum(content[block.a : block.a + block.size]) for block in matcher.get_matching_blocks())
    if copied < COPIED * sum(content):
        return False
    names = {word for fact in facts(sentence) if fact.kind == "name" and not fact.initial for word in fact.words}
    for kind, a, b, c, d in blocks:
        ours, theirs = {word.casefold() for word in said[a:b]}, [word.casefold() for word in there[c:d]]
        capital = any(word[:1].isupper() for word in there[c:d]) and not STOP_WORDS & set(theirs)
        if kind == "replace" and capital and ours & names and not ours & names & name_words(quote):
            return True
    return False


# ------------------------------------------------------------------ weights

# By benchmarks/verdicts.py --fit, on the even sources.
BIAS = -7.61
WEIGHTS: Mapping[str, float] = {
    "held": 6.22,
    "numbers": 1.41,
    "numbers_behind": 23.75,
    "numbers_missing": -2.64,
    "names": 1.19,
    "names_behind": 10.96,
    "names_asked": 3.8,
    "names_quoted": 0.96,
    "negated_else": -3.24,
    "negated_once": -1.94,
    "opposite": -4.89,
    "unsaid": -0.72,
}


def agreement(found: Signs) -> float:
    """Return the probability (0..1) that a careful reader agrees with the sentence."""
    total = BIAS + sum(weight * getattr(found, name) for name, weight in WEIGHTS.items())
    return 1 / (1 + math.exp(-total))
