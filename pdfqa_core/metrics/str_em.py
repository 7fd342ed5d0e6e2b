"""STR-EM: the share of the short answers of an ambiguous question that the long answer contains."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.normalisation import normalise_answer


@measure(
    "str_em",
    "STR-EM",
    "mean over disambiguated questions: 1 if a normalised short answer stands in the normalised prediction",
    "Stelmakh et al. 2022 (ASQA)",
    group=Group.ASQA,
)
def str_em(prediction: str, short_answers: Sequence[Sequence[str]]) -> float | None:
    """Return the share (0..1) of disambiguated questions one of whose short answers stands in the prediction.

    `short_answers` holds the accepted answers of each disambiguated question. One that normalises to nothing never
    stands anywhere. None without questions.
    """
    if not short_answers:
        return None
    text = normalise_answer(prediction)
    hits = sum(
        any(answer and answer in text for answer in map(normalise_answer, accepted)) for accepted in short_answers
    )
    return hits / len(short_answers)
