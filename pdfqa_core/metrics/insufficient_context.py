"""Whether missing evidence is noticed: the exact phrase, and refusals over answerable and unanswerable questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Measure, declare
from pdfqa_core.metrics.normalisation import normalise_answer

PHRASE = "insufficient context"
MEASURE = declare(
    Measure(
        "insufficient_context_detection",
        "Insufficient context detection",
        "1 if the prediction is “insufficient context” where the gold answer is; other items are not scored",
        group="Missing evidence",
    )
)
_GROUP = "Missing evidence"
REFUSAL_RECALL = declare(
    Measure("refusal_recall", "Refusal recall", "refused unanswerable questions / unanswerable questions", group=_GROUP)
)
REFUSAL_PRECISION = declare(
    Measure(
        "refusal_precision", "Refusal precision", "refused unanswerable questions / refused questions", group=_GROUP
    )
)
ANSWERED = declare(
    Measure("answered", "Answered", "answered answerable questions / answerable questions", group=_GROUP)
)
BALANCED_ACCURACY = declare(
    Measure(
        "refusal_balanced_accuracy", "Balanced accuracy of refusing", "(refusal recall + answered) / 2", group=_GROUP
    )
)


def insufficient_context_detection(prediction: str, gold: str) -> float | None:
    """Return whether the prediction normalises to "insufficient context"; None where the gold answer does not."""
    if normalise_answer(gold) != PHRASE:
        return None
    return float(normalise_answer(prediction) == PHRASE)


@dataclass(frozen=True, slots=True)
class RefusalScores:
    """Counts and shares of refusals; a share whose denominator is empty is None.

    `recall`: refused among the unanswerable. `precision`: unanswerable among the refused. `answered`: not refused among
    the answerable. `balanced_accuracy`: mean of recall and answered.
    """

    unanswerable: int
    answerable: int
    refused: int
    recall: float | None
    precision: float | None
    answered: float | None
    balanced_accuracy: float | None


def refusal_scores(refused: Sequence[bool], answerable: Sequence[bool]) -> RefusalScores:
    """Return how refusals fall on answerable and unanswerable questions.

    Raises UsageError if the two differ in length.
    """
    if len(refused) != len(answerable):
        raise UsageError(f"There are {len(refused)} decisions for {len(answerable)} questions.", "Give one for each.")
    right = sum(no and not can for no, can in zip(refused, answerable, strict=True))
    wrong = sum(no and can for no, can in zip(refused, answerable, strict=True))
    can = sum(answerable)
    cannot = len(answerable) - can
    recall = right / cannot if cannot else None
    answered = (can - wrong) / can if can else None
    return RefusalScores(
        cannot,
        can,
        right + wrong,
        recall,
        right / (right + wrong) if right + wrong else None,
        answered,
        (recall + answered) / 2 if recall is not None and answered is not None else None,
    )
