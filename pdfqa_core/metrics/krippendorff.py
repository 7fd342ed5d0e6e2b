"""Krippendorff's alpha: agreement of any number of annotators, with missing judgements, on four kinds of scales.

α = 1 - D_o / D_e from the matrix of coincidences o: each item of m judgements adds 1 / (m - 1) for every ordered pair
of its values. With n_c = Σ_k o_ck and n = Σ_c n_c, D_o = Σ o_ck δ²_ck / n and D_e = Σ n_c n_k δ²_ck / (n (n - 1)).
Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; percentile bootstrap over items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Measure, declare
from pdfqa_core.metrics.weighted_kappa import ordered

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

MEASURE = declare(
    Measure(
        "krippendorff_alpha",
        "Krippendorff's alpha",
        "1 - D_o / D_e: observed over expected disagreement, any number of annotators, gaps allowed",
        "Krippendorff 2011",
        low=-1.0,
        group="Agreement of annotators",
    )
)
SCALES = ("nominal", "ordinal", "interval", "ratio")
RESAMPLES = 2_000
_LEAST_DEFINED = 0.6  # share of resamples with an alpha below which there is no interval
_BATCH = 200  # resamples at a time


@dataclass(frozen=True, slots=True)
class Alpha:
    """Alpha with its 95 % bootstrap interval over `n` items that have two or more judgements; None where undefined."""

    alpha: float | None
    low: float | None
    high: float | None
    n: int
    scale: str = "nominal"


def krippendorff_alpha(
    items: Sequence[Sequence[str | None]],
    *,
    scale: str = "nominal",
    labels: Sequence[str] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Alpha:
    """Return alpha; `items[i]` holds the labels that item i got, None for a missing one.

    Items with fewer than two labels do not count. `labels` is the scale in order (else numbers in their order, or texts
    in theirs); interval and ratio scales need numbers. Alpha is None where all labels are the same, or nothing counts.
    Raises UsageError for an unknown scale, a label that is not on the scale or, where it must be, no number.
    """
    import numpy as np

    if scale not in SCALES:
        raise UsageError(f"There is no scale called {scale!r}.", f"Choose one of: {', '.join(SCALES)}.")
    units = [[label for label in item if label is not None] for item in items]
    units = [unit for unit in units if len(unit) > 1]
    found = {label for unit in units for label in unit}
    if labels and not found <= set(labels):
        raise UsageError(f"{min(found - set(labels))!r} is not on the scale {', '.join(labels)}.")
    places = tuple(labels) or ordered(list(found))
    if len(found) < 2:
        return Alpha(None, None, None, len(units), scale)
    values = _values(places, scale)
    coincidences = np.stack([_coincidences(unit, places) for unit in units])
    (alpha,) = _alphas(coincidences.sum(axis=0)[None], scale, values)
    drawn = _resampled(coincidences, scale, values, seed, resamples)
    if len(units) < 2 or len(drawn) == 0 or len(drawn) < _LEAST_DEFINED * resamples:
        return Alpha(float(alpha), None, None, len(units), scale)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Alpha(float(alpha), float(low), float(high), len(units), scale)


def _values(places: Sequence[str], scale: str) -> Floats:
    import numpy as np

    if scale in ("nominal", "ordinal"):
        return np.arange(len(places), dtype=float)
    try:
        return np.array([float(label) for label in places])
    except ValueError as error:
        raise UsageError(f"On {scale} scales labels are numbers: {error}.", "Use nominal or ordinal.") from error


def _coincidences(unit: Sequence[str], places: Sequence[str]) -> Floats:
    import numpy as np

    counts = np.array([unit.count(label) for label in places], dtype=float)
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1))


def _resampled(coincidences: Floats, scale: str, values: Floats, seed: int, resamples: int) -> Floats:
    import numpy as np

    n, size, _ = coincidences.shape
    flat = coincidences.reshape(n, -1)
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for first in range(0, resamples, _BATCH):
        times = rng.multinomial(n, np.full(n, 1 / n), size=min(_BATCH, resamples - first))
        alphas = _alphas((times @ flat).reshape(-1, size, size), scale, values)
        found.append(alphas[np.isfinite(alphas)])
    return np.concatenate(found) if found else np.zeros(0)


def _alphas(coincidences: Floats, scale: str, values: Floats) -> Floats:
    """Return alpha of each (size, size) matrix of coincidences, NaN where it is undefined."""
    import numpy as np

    margins = coincidences.sum(axis=2)
    total = margins.sum(axis=1)
    distances = _distances(margins, scale, values)
    top = (coincidences * distances).sum(axis=(1, 2))
    bottom = (margins[:, :, None] * margins[:, None, :] * distances).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > 0, 1 - (total - 1) * top / bottom, np.nan)


def _distances(margins: Floats, scale: str, values: Floats) -> Floats:
    """Return δ² between labels, as (1 or resamples, size, size): on ordinal scales it depends on how often each is."""
    import numpy as np

    if scale == "nominal":
        return (1.0 - np.eye(len(values)))[None]
    if scale == "ordinal":
        middle = np.cumsum(margins, axis=1) - margins / 2
        return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)
    apart = np.subtract.outer(values, values)
    if scale == "interval":
        return np.asarray(apart**2)[None]
    sums = np.add.outer(values, values)
    return np.asarray(np.divide(apart, sums, out=np.zeros_like(apart), where=sums != 0) ** 2)[None]
