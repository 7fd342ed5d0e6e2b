"""What an answer is shown as (sure, perhaps, nothing), and the words that stand around its text, or in its place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pdfqa_core.reading.answerability import AGREED, CONFIDENCE, logit, probability, same_model
from pdfqa_core.reading.checking import begins_with_verdict
from pdfqa_core.text import compared_terms, content_terms, sentences, terms
from pdfqa_core.types import Answer, Citation, Outcome, Support

# ----------------------------------------------------------------------------------------------------
# What an answer is shown as: sure, perhaps, or nothing. Decided once it is written, from what speaks for it.
#
# Thresholds follow what a person loses: a wrong answer that one is warned of costs little, hiding a right one much, a
# wrong one without a warning most.

WEIGHTS = Path(__file__).with_name("sureness_weights.json")
SUPPORTED, IN_LINES, WORDS, SURE = "supported", "in lines", "words", "sure"
LEAST = 0.001  # probabilities below count as this
REPEATED = "This was the answer before, too: look whether it answers this question."


@cache
def weights() -> Mapping[str, Mapping[str, float]]:
    """Return logistic regressions, fitted by `benchmarks/sureness.py`: by name of the model ("": any other), by signal.

    The one of a model whose yes was not measured has no weight for that.
    """
    found: Mapping[str, Mapping[str, float]] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return found


def speaks_for(answer: Answer, lines: Sequence[Citation], language: str) -> Mapping[str, float]:
    """Return what speaks for a written answer, beside the signals that it has already.

    The share of its sentences that the passages say, the share of its words that stand in the lines that fit the
    question best, and how many words it has: one that keeps to a passage is longer than a guess.
    """
    said = frozenset(compared_terms(" ".join(content_terms(answer.text, language)), language))
    there = frozenset(compared_terms(lines[0].quote, language)) if lines else frozenset()
    supported = sum(one.support is Support.SUPPORTED for one in answer.sentences)
    return {
        **answer.signals,
        SUPPORTED: supported / max(1, len(answer.sentences)),
        IN_LINES: len(said & there) / max(1, len(said)),
        WORDS: float(len(terms(answer.text))),
    }


def features(signals: Mapping[str, float]) -> Mapping[str, float]:
    """Return the signals as the regression takes them: the model's yes as log-odds, the words as a logarithm."""
    agreed = {AGREED: logit(min(1 - LEAST, max(LEAST, signals[AGREED])))} if AGREED in signals else {}
    return {**agreed, SUPPORTED: signals[SUPPORTED], IN_LINES: signals[IN_LINES], WORDS: math.log1p(signals[WORDS])}


def sureness(signals: Mapping[str, float], model: str) -> float:
    """Return the probability (0..1) that an answer is right; without the model's yes by the other signals alone."""
    known = weights()
    found = known[same_model(model, known) if AGREED in signals else ""]
    return probability(found["constant"] + sum(found.get(name, 0.0) * x for name, x in features(signals).items()))


def decided(answer: Answer, lines: Sequence[Citation], sure_from: float, language: str, last: str = "") -> Answer:
    """Return an answer as what it is shown as; `lines` fit the question best, `last` is the answer before.

    Where the reader declined the first line is its text. Without lines an answer stays as it is. One that repeats the
    last answer is never sure, nor is what no passage says: a yes or no, or a sentence without ✓, such as one with a
    number that the model computed. A quote is as sure as the search; where nothing was judged every other answer is
    sure, where `sure_from` is 0 every answer.
    """
    if answer.stopped or (answer.refused and not lines):
        return answer
    if answer.refused:
        text = " ".join(lines[0].quote.split())
        quoted = replace(lines[0], end=len(text))
        return with_lines(
            replace(answer, text=text, refused=False, perhaps=True, citations=(quoted,), sentences=()), lines
        )
    sure = 1.0
    if answer.confidence is not None:
        found = speaks_for(answer, lines, language)
        sure = sureness(found, answer.model) if answer.model else answer.confidence
        answer = replace(answer, signals={**found, SURE: sure})
    repeated = bool(last) and terms(answer.text) == terms(last)
    if repeated:
        answer = replace(answer, notes=(*answer.notes, REPEATED))
    said = all(one.support is Support.SUPPORTED for one in answer.sentences) or answer.confidence is None
    concluded = bool(answer.model) and (begins_with_verdict(answer.text) or not said)
    if not lines or not sure_from or (sure >= sure_from and not repeated and not concluded):
        return answer
    return with_lines(replace(answer, perhaps=True), lines)


def with_lines(answer: Answer, lines: Sequence[Citation]) -> Answer:
    """Return an answer with the lines that fit the question best, of which it keeps two."""
    nearest, second = (*lines, None, None)[:2]
    return replace(answer, nearest=nearest, second=second)


# ----------------------------------------------------------------------------------------------------
# Whether a model's reply says that the passages do not answer the question, and how that is told.

NOT_ANSWERED = "I found nothing in these pages that answers this."
DECLINED = "The model declined:"

# Only the first sentence is looked at: an answer may end with what it does not cover. Each pattern stands for a way in
# which instruction models decline; "not covered" and the like are left out, they are answers about insurance.
_SOURCE = r"\b(passages?|context|text|documents?|excerpts?) (above |provided |given )?"
_VERB = r"(provide|contain|mention|include|specify|say|state|give|answer|address|discuss|have)\b"
_UNABLE = r"(do not|don't|cannot|can't|am unable to|are unable to)"
_TOLD = r"(mentioned|provided|stated|specified|given|answered|discussed|addressed|found)"
_DECLINES = (
    r"^\W*insufficient (context|information|evidence)",
    rf"^\W*(i('m| am) sorry,? (but )?)?(i|we) {_UNABLE} (know|answer|find|determine|provide an answer)",
    r"^\W*there is (no|not enough|insufficient) (information|mention|evidence|context)\b",
    rf"{_SOURCE}(do(es)?|did) not {_VERB}",
    rf"{_SOURCE}(provides?|contains?|gives?) (no|not enough|insufficient)\b",
    (
        rf"\b(is|are|was|were) not (explicitly |specifically |directly )?{_TOLD} (in|by) (any of )?(the|these|this) "
        rf"(above |given |provided )?(passages?|context|text|documents?)"
    ),
    r"\bcannot be (answered|determined)\b",
    r"\bnot possible to (answer|determine)\b",
)
_DECLINE = re.compile("|".join(_DECLINES), re.IGNORECASE)


def declines(reply: str) -> bool:
    """Return whether the reply's first sentence declines to answer."""
    line = reply.strip().replace("’", "'").partition("\n")[0]
    return any(_DECLINE.search(line[start:end]) for start, end in sentences(line)[:1])


# ----------------------------------------------------------------------------------------------------
# What stands around an answer's text, or in its place, by what came of the question: the same words everywhere.

MAY_STAND = "It may stand here:"
OR_HERE = "Or here:"
IN_WORDS, MORE_QUOTES = "In the model's words:", "More quotes:"
CAUTION = "Not sure that this answers the question: read the lines before you rely on it."
_REASONS = (CONFIDENCE, DECLINED)


def lines_of(answer: Answer) -> tuple[Citation, ...]:
    """Return the lines that stand before a text that is perhaps an answer, or are nearest where nothing was found.

    At most two pieces, the better one first.
    """
    found = () if answer.outcome is Outcome.ANSWER else (answer.nearest, answer.second)
    return tuple(one for one in found if one is not None)


def lead_of(answer: Answer) -> str:
    """Return what leads from the lines to the text: a model's words, or quotes."""
    return IN_WORDS if answer.model else MORE_QUOTES


def own_words(answer: Answer) -> str:
    """Return what the reader wrote; empty where nothing was found, and where its text is the quoted lines alone."""
    lines = lines_of(answer)
    same = bool(lines) and lines[0].quote.split() == answer.text.split()
    return "" if answer.refused or same else answer.text


def nothing_words(answer: Answer) -> tuple[str, ...]:
    """Return what stands in the place of an answer: that nothing was found, or why nothing was sought; then the notes.

    Those that give reasons, in numbers or in the model's words, are left out.
    """
    told = tuple(note for note in answer.notes if not note.startswith(_REASONS))
    return (NOT_ANSWERED, *told) if answer.hits else told or (NOT_ANSWERED,)


def notes_below(answer: Answer) -> tuple[str, ...]:
    """Return the notes below an answer; where nothing was found, all but one that stands in its place."""
    above = nothing_words(answer)[0] if answer.refused else ""
    return tuple(note for note in answer.notes if note != above)


def lines_and_words(lines: Sequence[str], text: str) -> str:
    """Return lines in quotation marks, then a text unless it is the same; the text alone where there are no lines."""
    quoted = [f"“{' '.join(one.split())}”" for one in lines]
    same = bool(lines) and lines[0].split() == text.split()
    return "\n\n".join([*quoted, *([text] if text and not same else [])])


def rated_text(answer: Answer) -> str:
    """Return an answer as those read it who rate it: without a word on how sure the program is of it."""
    if answer.refused:
        return nothing_words(answer)[0]
    return lines_and_words([one.quote for one in lines_of(answer)], answer.text)
