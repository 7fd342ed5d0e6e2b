"""Weighted kappa for ordinal scales: a disagreement counts the more, the further the two labels lie apart.

κ_w = 1 - Σ w·observed / Σ w·expected, with w = |i - j| (linear) or (i - j)² (quadratic) over places on the scale.
Source: Cohen 1968; percentile bootstrap over items or clusters of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.resampling import bootstrap, cluster_sums

if TYPE_CHECKING:
    from pdfqa_core.metrics.resampling import Floats

POWERS = {"linear": 1, "quadratic": 2}
_LONGEST_SCALE = 101  # whole numbers that a scale is filled up to


@dataclass(frozen=True, slots=True)
class WeightedKappa:
    """κ_w with its 95 % bootstrap interval; `weights` is "linear" or "quadratic". None where undefined."""

    weights: str
    kappa: float | None
    low: float | None = None
    high: float | None = None


def ordered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels once each: as numbers where all are numbers, else by their text."""
    unique = set(labels)
    numbers = {label: number for label in unique if (number := _number(label)) is not None}
    return tuple(sorted(unique, key=numbers.__getitem__ if len(numbers) == len(unique) else str))


def whole_scale(labels: Sequence[str]) -> tuple[str, ...]:
    """Return every step of the scale that whole numbers among the labels span; empty if they are not all such."""
    unique = set(labels)
    if not unique or not all(label.lstrip("-").isdecimal() and label == str(int(label)) for label in unique):
        return ()
    first, last = min(map(int, unique)), max(map(int, unique))
    return tuple(map(str, range(first, last + 1))) if last - first < _LONGEST_SCALE else ordered(labels)


def weighted_kappas(
    first: Sequence[str], second: Sequence[str], scale: Sequence[str], *, clusters: Sequence[Hashable] = (),
    seed: int = 0, resamples: int = 10_000,
) -> tuple[WeightedKappa, ...]:  # fmt: skip
    """Return the linearly and the quadratically weighted kappa; `scale` holds all labels from lowest to highest."""
    import numpy as np

    if not first:
        return tuple(WeightedKappa(name, None) for name in POWERS)
    places = np.arange(len(scale))
    steps = np.abs(np.subtract.outer(places, places)).astype(float)
    sums = cluster_sums(confusions(first, second, scale), clusters)
    found = []
    for name, power in POWERS.items():
        (kappa,) = _kappas(sums.sum(axis=0)[None], steps**power)
        if not np.isfinite(kappa):
            found.append(WeightedKappa(name, None))
            continue
        interval = bootstrap(sums, partial(_kappas, weights=steps**power), seed=seed, resamples=resamples)
        found.append(WeightedKappa(name, float(kappa), interval.low, interval.high))
    return tuple(found)


def confusions(first: Sequence[str], second: Sequence[str], labels: Sequence[str]) -> Floats:
    """Return the confusion matrix of each item, a single 1, as (items, labels, labels)."""
    import numpy as np

    place = {label: i for i, label in enumerate(labels)}
    cells = np.zeros((len(first), len(labels), len(labels)))
    cells[range(len(first)), [place[one] for one in first], [place[other] for other in second]] = 1
    return cells


def _kappas(counts: Floats, weights: Floats) -> Floats:
    """Return κ_w of each (size, size) matrix of counts; NaN where all expected weights are 0."""
    import numpy as np

    shares = counts / counts.sum(axis=(1, 2), keepdims=True)
    expected = shares.sum(axis=2)[:, :, None] * shares.sum(axis=1)[:, None, :]
    top, bottom = (shares * weights).sum(axis=(1, 2)), (expected * weights).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > 1e-12, 1 - top / bottom, np.nan)


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


for _name, _power in POWERS.items():
    measure(
        f"kappa_{_name}",
        f"Weighted kappa, {_name}",
        f"1 - Σ w·observed / Σ w·expected, w = |i - j|{'' if _power == 1 else '²'} over places on the scale",
        "Cohen 1968",
        low=-1.0,
        group=Group.AGREEMENT,
    )(weighted_kappas)
