"""DR: what ASQA ranks systems by, from the means of ROUGE-L and Disambig-F1 over the whole set."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure


@measure(
    "dr",
    "DR",
    "sqrt(mean ROUGE-L × mean Disambig-F1), over the whole set and not per item",
    "Stelmakh et al. 2022 (ASQA)",
    group=Group.ASQA,
)
def dr(rouge_l: float, disambig_f1: float) -> float:
    """Return the geometric mean of the two means, in their unit (0..1 or percent). Raises UsageError below 0."""
    if rouge_l < 0 or disambig_f1 < 0:
        raise UsageError(f"DR of {rouge_l} and {disambig_f1} is not defined.", "Both means are 0 or more.")
    return sqrt(rouge_l * disambig_f1)


measure(
    "dr_rouge_l",
    "DR (ROUGE-L)",
    "as DR, with ROUGE-L in the place of ROUGE-Lsum",
    "rageval",
    group=Group.ASQA,
)(dr.compute)


def _mean(values: Sequence[float | None]) -> float | None:
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else None


def linearised(rouge_l: Sequence[float | None], disambig_f1: Sequence[float | None]) -> list[float | None]:
    """Return each item's part in DR, over the items that both measures scored: their mean is DR, its spread DR's.

    DR/2 · (r_i / mean r + d_i / mean d), the first-order expansion of DR around its means, so that intervals and tests
    for means hold for DR. Source: the delta method, Efron and Tibshirani 1993, ch. 21.
    """
    both = [None if r is None or d is None else (r, d) for r, d in zip(rouge_l, disambig_f1, strict=True)]
    means = [_mean([None if pair is None else pair[place] for pair in both]) for place in (0, 1)]
    if means[0] is None or means[1] is None:
        return [None] * len(both)
    whole = dr(means[0], means[1])
    if not whole:
        return [None if pair is None else 0.0 for pair in both]
    return [None if pair is None else whole / 2 * (pair[0] / means[0] + pair[1] / means[1]) for pair in both]
