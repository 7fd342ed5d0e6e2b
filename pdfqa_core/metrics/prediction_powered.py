"""A system's accuracy on many answers from the judgements of people on few and the scores of a measure on all.

Prediction-powered inference: the mean of the scores on all items, put right by how far scores and people differ on the
items that people judged. The interval holds whatever the scores are worth, if those items are a random part of all;
good scores make it shorter than that of the judged items alone, worthless ones leave it as long.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from pdfqa_core.errors import UsageError

_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Powered:
    """The accuracy on `n` judged and `others` more items, with its 95 % interval; beside it that of the judged alone.

    `weight` is how much the scores count, 0 to 1.
    """

    measure: str
    n: int
    others: int
    mean: float
    low: float
    high: float
    plain: float
    plain_low: float
    plain_high: float
    weight: float


def prediction_powered(
    measure: str, labels: Sequence[float], scores: Sequence[float], others: Sequence[float], *,
    clusters: Sequence[Hashable] = (), other_clusters: Sequence[Hashable] = (),
) -> Powered | None:  # fmt: skip
    """Return the accuracy by `labels` and `scores` of the judged items and the scores of the `others`.

    None without two clusters of judged items and two others. `clusters` name what items share with one another (as
    turns share a conversation); the variances are those of clusters. θ = ȳ + λ (f̄_others - f̄_judged) with
    λ = cov(y, f) / ((1 + n/N) var f), held to 0..1; its variance is that of y - λf over the judged plus that of λf over
    the others; intervals are normal. Both are cut to 0..1. Raises UsageError if labels and scores differ in length.
    Sources: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, "Prediction-Powered Inference"; λ after
    Angelopoulos, Duchi and Zrnic 2023, "PPI++", equation 8 for means.
    """
    if len(labels) != len(scores):
        raise UsageError(f"There are {len(labels)} labels and {len(scores)} scores.", "Give one of each for an item.")
    mine = list(clusters) or [*range(len(labels))]
    theirs = list(other_clusters) or [*range(len(others))]
    if len({*mine}) < 2 or len({*theirs}) < 2:
        return None
    n, more = len(labels), len(others)
    y, f = fsum(labels) / n, fsum(scores) / n
    covariance = fsum((a - y) * (b - f) for a, b in zip(labels, scores, strict=True)) / (n - 1)
    everything = (*scores, *others)
    centre = fsum(everything) / len(everything)
    spread = fsum((one - centre) ** 2 for one in everything) / (len(everything) - 1)
    weight = min(1.0, max(0.0, covariance / ((1 + n / more) * spread))) if spread else 0.0
    mean = y + weight * (fsum(others) / more - f)
    corrected = [a - weight * b for a, b in zip(labels, scores, strict=True)]
    error = sqrt(_variance(corrected, mine) + weight**2 * _variance(others, theirs))
    alone = sqrt(_variance(labels, mine))
    return Powered(
        measure, n, more, min(1.0, max(0.0, mean)), *_interval(mean, error), y, *_interval(y, alone), weight
    )  # fmt: skip


def _variance(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the variance of the mean where values of a cluster may be alike."""
    mean = fsum(values) / len(values)
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    return len(sums) / (len(sums) - 1) * fsum(one**2 for one in sums.values()) / len(values) ** 2


def _interval(mean: float, error: float) -> tuple[float, float]:
    return max(0.0, mean - _NORMAL_95 * error), min(1.0, mean + _NORMAL_95 * error)
