"""What an answer is shown as: sure, perhaps, or nothing. Decided once it is written, from what speaks for it.

Thresholds follow what a person loses: a wrong answer that one is warned of costs little, hiding a right one much, a
wrong one without a warning most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from pdfqa_core.reading.answerability import logit, probability
from pdfqa_core.text import compared_terms, content_terms, terms
from pdfqa_core.types import Answer, Citation, Support

WEIGHTS = Path(__file__).with_name("sureness_weights.json")
JUDGED, SUPPORTED, AGREES = "judged", "supported", "agrees"
REPEATED = "This was the answer before, too: look whether it answers this question."


@cache
def weights() -> Mapping[str, float]:
    """Return the weights of a logistic regression, fitted by `benchmarks/outcomes.py`: by signal, and "constant"."""
    found: Mapping[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return found


def speaks_for(answer: Answer, lines: Citation | None, language: str) -> Mapping[str, float]:
    """Return what speaks for a written answer, each in 0..1.

    The judgement of the passages, the share of sentences that the passages say, and the share of the answer's words
    that stand in the lines that fit the question best.
    """
    said = set(content_terms(answer.text, language))
    there = set(compared_terms(lines.quote, language)) if lines is not None else set()
    compared = set(compared_terms(" ".join(sorted(said)), language))
    supported = sum(one.support is Support.SUPPORTED for one in answer.sentences)
    return {
        JUDGED: answer.confidence if answer.confidence is not None else 1.0,
        SUPPORTED: supported / max(1, len(answer.sentences)),
        AGREES: len(compared & there) / max(1, len(compared)),
    }


def sureness(signals: Mapping[str, float]) -> float:
    """Return the probability (0..1) that an answer is right, by what speaks for it."""
    found = weights()
    total = found["constant"] + found[JUDGED] * logit(min(0.999, max(0.001, signals[JUDGED])))
    return probability(total + sum(found[name] * signals[name] for name in (SUPPORTED, AGREES)))


def decided(answer: Answer, lines: Citation | None, sure_from: float, language: str, last: str = "") -> Answer:
    """Return an answer as what it is shown as; `lines` fit the question best, `last` is the answer before.

    Where the reader wrote none the lines are its text. One that repeats the last answer is never sure.
    """
    if answer.stopped:
        return answer
    if answer.refused:
        if lines is None:
            return answer
        text = " ".join(lines.quote.split())
        quoted = replace(lines, end=len(text))
        return replace(answer, text=text, refused=False, perhaps=True, nearest=lines, citations=(quoted,), sentences=())
    signals = speaks_for(answer, lines, language)
    found = {**answer.signals, "sure": sureness(signals), **{f"sure: {name}": value for name, value in signals.items()}}
    answer = replace(answer, signals=found)
    repeated = bool(last) and terms(answer.text) == terms(last)
    if repeated:
        answer = replace(answer, notes=(*answer.notes, REPEATED))
    if lines is None or (found["sure"] >= sure_from and not repeated):
        return answer
    return replace(answer, perhaps=True, nearest=lines)
