"""Weighted kappa for ordinal scales: a disagreement counts the more, the further the two labels lie apart.

κ_w = 1 - Σ w·observed / Σ w·expected, with w = |i - j| (linear) or (i - j)² (quadratic) over places on the scale.
Source: Cohen 1968; percentile bootstrap over items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pdfqa_core.metrics.base import Measure, declare

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

POWERS = {"linear": 1, "quadratic": 2}
LINEAR, QUADRATIC = (
    declare(
        Measure(
            f"kappa_{name}",
            f"Weighted kappa, {name}",
            f"1 - Σ w·observed / Σ w·expected, w = |i - j|{'' if power == 1 else '²'} over places on the scale",
            "Cohen 1968",
            low=-1.0,
            group="Agreement of annotators",
        )
    )
    for name, power in POWERS.items()
)
_LEAST_DEFINED = 0.6  # share of resamples with a value below which there is no interval
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
    first: Sequence[str], second: Sequence[str], scale: Sequence[str], *, seed: int = 0, resamples: int = 10_000
) -> tuple[WeightedKappa, ...]:
    """Return the linearly and the quadratically weighted kappa; `scale` holds all labels from lowest to highest."""
    import numpy as np

    size = len(scale)
    place = {label: i for i, label in enumerate(scale)}
    counts = np.zeros((size, size))
    for one, other in zip(first, second, strict=True):
        counts[place[one], place[other]] += 1
    n = int(counts.sum())
    if n == 0:
        return tuple(WeightedKappa(name, None) for name in POWERS)
    cells = np.random.default_rng(seed).multinomial(n, counts.ravel() / n, size=resamples)
    drawn = cells.reshape(-1, size, size).astype(float)
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    found = []
    for name, power in POWERS.items():
        (kappa,) = _kappas(counts[None], steps**power)
        kappas = _kappas(drawn, steps**power)
        defined = kappas[np.isfinite(kappas)]
        if not np.isfinite(kappa):
            found.append(WeightedKappa(name, None))
        elif len(defined) < _LEAST_DEFINED * resamples:
            found.append(WeightedKappa(name, float(kappa)))
        else:
            low, high = np.percentile(defined, [2.5, 97.5])
            found.append(WeightedKappa(name, float(kappa), float(low), float(high)))
    return tuple(found)


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
