"""Means with intervals, and differences between two systems on the same items."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, fsum, sqrt

from pdfqa_core.errors import UsageError

RESAMPLES = 9_999
LARGE = 2_000  # items; from here on the mean is as good as normal, and resampling would take minutes
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean of `n` scored items with its 95 % bootstrap interval; `unscored` items had no value.

    `mean` is None without a scored item, `low` and `high` are None with fewer than two.
    """

    n: int
    unscored: int
    mean: float | None
    low: float | None
    high: float | None


def summarise(values: Sequence[float | None], *, seed: int = 0, resamples: int = RESAMPLES) -> Summary:
    """Return mean and interval of per-item values, where None stands for an item that could not be scored.

    Source of the interval: bias-corrected and accelerated bootstrap over items, Efron 1987; with LARGE or more items
    the normal interval, which it then equals.
    """
    scored = [float(value) for value in values if value is not None]
    low, high = _interval(scored, seed, resamples)
    mean = fsum(scored) / len(scored) if scored else None
    return Summary(len(scored), len(values) - len(scored), mean, low, high)


def paired_difference(
    first: Sequence[float | None], second: Sequence[float | None], *, seed: int = 0, resamples: int = RESAMPLES
) -> Summary:
    """Return the mean of `first[i] - second[i]` with its interval, over the items that both systems were scored on.

    The difference counts as significant at the 5 % level where the interval excludes 0. Raises UsageError if the two
    differ in length.
    """
    if len(first) != len(second):
        raise UsageError(f"The systems were scored on {len(first)} and {len(second)} items.", "Use the same items.")
    differences = [
        None if one is None or other is None else one - other for one, other in zip(first, second, strict=True)
    ]
    return summarise(differences, seed=seed, resamples=resamples)


def permutation_test(
    first: Sequence[float | None], second: Sequence[float | None], *, seed: int = 0, resamples: int = RESAMPLES
) -> float | None:
    """Return the two-sided p-value of the mean paired difference under random exchange of the systems per item.

    Exact where all exchanges are fewer than `resamples`, by the normal limit with LARGE or more items; None with fewer
    than two items that both were scored on.
    Raises UsageError if the two differ in length. Source: Fisher's randomisation test as in Smucker et al. 2007.
    """
    if len(first) != len(second):
        raise UsageError(f"The systems were scored on {len(first)} and {len(second)} items.", "Use the same items.")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if len(pairs) < 2:
        return None
    differences = [a - b for a, b in pairs]
    if not any(differences):
        return 1.0
    if len(differences) >= LARGE:
        return erfc(abs(fsum(differences)) / sqrt(2 * fsum(d * d for d in differences)))
    import numpy as np
    from scipy.stats import permutation_test as resampled

    found = resampled(
        (np.asarray(differences),), lambda values, axis: np.mean(values, axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=resamples, batch=1_000, rng=np.random.default_rng(seed),
    )  # fmt: skip
    return float(found.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number, in their order; each 0..1. Source: Holm 1979."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def _interval(scored: list[float], seed: int, resamples: int) -> tuple[float | None, float | None]:
    if len(scored) < 2:
        return None, None
    if min(scored) == max(scored):
        return scored[0], scored[0]
    if len(scored) >= LARGE:
        mean = fsum(scored) / len(scored)
        error = sqrt(fsum((value - mean) ** 2 for value in scored) / (len(scored) - 1) / len(scored))
        return max(min(scored), mean - _NORMAL_95 * error), min(max(scored), mean + _NORMAL_95 * error)
    import numpy as np
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BCa warns where it is undefined; the percentile interval follows then
        for method in ("BCa", "percentile"):
            found = bootstrap(
                (np.asarray(scored),),
                np.mean,
                n_resamples=resamples,
                batch=1_000,
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
            if np.isfinite(found.low) and np.isfinite(found.high):
                break
    return float(found.low), float(found.high)
