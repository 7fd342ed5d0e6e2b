"""Means with intervals, and differences between two systems on the same items."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from pdfqa_core.errors import UsageError

RESAMPLES = 9_999


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

    Source of the interval: bias-corrected and accelerated bootstrap over items, Efron 1987.
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


def _interval(scored: list[float], seed: int, resamples: int) -> tuple[float | None, float | None]:
    if len(scored) < 2:
        return None, None
    if min(scored) == max(scored):
        return scored[0], scored[0]
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
