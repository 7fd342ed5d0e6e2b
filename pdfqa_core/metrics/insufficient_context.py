"""Whether missing evidence is noticed: the exact phrase, and refusals of answerable and unanswerable questions."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.normalisation import normalise_answer
from pdfqa_core.types import Outcome

PHRASE = "insufficient context"


@measure(
    "insufficient_context_detection",
    "Insufficient context detection",
    "1 if the prediction is “insufficient context” where a gold answer is; other items are not scored",
    group=Group.MISSING,
)
def insufficient_context_detection(prediction: str, references: Sequence[str]) -> float | None:
    """Return whether the prediction normalises to "insufficient context"; None where no reference does."""
    if not any(normalise_answer(reference) == PHRASE for reference in references):
        return None
    return float(normalise_answer(prediction) == PHRASE)


@measure(
    "refusal_recall", "Refusal recall", "refused unanswerable questions / unanswerable questions", group=Group.MISSING
)
def refusal_recall(refused: bool | None, answerable: bool) -> float | None:
    """Return whether an unanswerable question was refused; None for others, and where `refused` is not known."""
    return None if refused is None or answerable else float(refused)


@measure(
    "refusal_precision", "Refusal precision", "refused unanswerable questions / refused questions", group=Group.MISSING
)
def refusal_precision(refused: bool | None, answerable: bool) -> float | None:
    """Return whether a refused question was unanswerable; None for others."""
    return float(not answerable) if refused else None


@measure(
    "answered",
    "Answered",
    "answerable questions that were answered / answerable questions",
    group=Group.MISSING,
)
def answered(refused: bool | None, answerable: bool) -> float | None:
    """Return whether an answerable question was answered; None for others, and where `refused` is not known."""
    return None if refused is None or not answerable else float(not refused)


@measure(
    "answered_surely",
    "Answered surely",
    "answerable questions with an answer that is sure / answerable questions",
    group=Group.MISSING,
)
def answered_surely(outcome: Outcome, answerable: bool) -> float | None:
    """Return whether the answer to an answerable question is a sure one; None for others."""
    return float(outcome is Outcome.ANSWER) if answerable else None


@measure(
    "wrongly_sure",
    "Wrongly sure",
    "unanswerable questions with an answer that is sure / unanswerable questions",
    higher_is_better=False,
    group=Group.MISSING,
)
def wrongly_sure(outcome: Outcome, answerable: bool) -> float | None:
    """Return whether the answer to an unanswerable question is a sure one; None for others."""
    return None if answerable else float(outcome is Outcome.ANSWER)
