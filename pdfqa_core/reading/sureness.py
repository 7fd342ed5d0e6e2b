"""What an answer is shown as: sure, perhaps, or nothing. Decided once it is written, from what speaks for it.

Thresholds follow what a person loses: a wrong answer that one is warned of costs little, hiding a right one much, a
wrong one without a warning most.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pdfqa_core.reading.answerability import AGREED, logit, probability, same_model
from pdfqa_core.reading.checking import begins_with_verdict
from pdfqa_core.text import compared_terms, content_terms, terms
from pdfqa_core.types import Answer, Citation, Support

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
