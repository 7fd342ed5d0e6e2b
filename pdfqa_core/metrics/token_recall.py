"""Token recall: how much of the gold answer an answer has, however much it says besides."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.metrics.base import measure
from pdfqa_core.metrics.token_f1 import token_overlap


@measure(
    "token_recall",
    "Token recall",
    "shared words over those of the reference, whatever else the prediction says; best reference",
    "Adlakha et al. 2024",
)
def token_recall(prediction: str, references: Sequence[str]) -> float | None:
    """Return the largest share (0..1) of a reference's normalised words that the prediction has; None without any.

    Words count as often as they occur, as in token F1. Where gold answers are short and answers are sentences it fits
    people's judgement better than F1, which a longer answer lowers; it can be had by saying much. Source: Adlakha et
    al. 2024, Evaluating Correctness and Faithfulness of Instruction-Following Models for Question Answering, TACL 12.
    """
    return max((token_overlap(prediction, reference).recall for reference in references), default=None)
