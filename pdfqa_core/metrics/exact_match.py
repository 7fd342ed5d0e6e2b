"""Exact match: whether prediction and reference are the same after normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.metrics.base import measure
from pdfqa_core.metrics.normalisation import normalise_answer


@measure(
    "answer_em",
    "Answer EM",
    "1 if the normalised prediction equals a normalised reference, else 0",
    "Rajpurkar et al. 2016 (SQuAD)",
)
def exact_match(prediction: str, references: Sequence[str]) -> float | None:
    """Return 1.0 if the prediction equals one of the references after normalisation, else 0.0.

    Two empty texts are equal. None without references.
    """
    if not references:
        return None
    wanted = normalise_answer(prediction)
    return float(any(normalise_answer(reference) == wanted for reference in references))
