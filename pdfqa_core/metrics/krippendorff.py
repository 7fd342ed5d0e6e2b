"""Krippendorff's alpha: agreement of any number of annotators, with missing judgements, on four kinds of scales.

α = 1 - D_o / D_e from the matrix of coincidences o: each item of m judgements adds 1 / (m - 1) for every ordered pair
of its values. With n_c = Σ_k o_ck and n = Σ_c n_c, D_o = Σ o_ck δ²_ck / n and D_e = Σ n_c n_k δ²_ck / (n (n - 1)).
Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; percentile bootstrap over items or
clusters of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import ordered
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.resampling import bootstrap, cluster_sums

if TYPE_CHECKING:
    from pdfqa_core.metrics.resampling import Floats

SCALES = ("nominal", "ordinal", "interval", "ratio")
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Alpha:
    """Alpha with its 95 % bootstrap interval over `n` items that have two or more judgements; None where undefined."""

    alpha: float | None
    low: float | None
    high: float | None
    n: int
    scale: str = "nominal"


@measure(
    "krippendorff_alpha",
    "Krippendorff's alpha",
    "1 - D_o / D_e: observed over expected disagreement, any number of annotators, gaps allowed",
    "Krippendorff 2011",
    low=-1.0,
    group=Group.AGREEMENT,
)
def krippendorff_alpha(
    items: Sequence[Sequence[str | None]],
    *,
    scale: str = "nominal",
    labels: Sequence[str] = (),
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Alpha:
    """Return alpha; `items[i]` holds the labels that item i got, None for a missing one.

    Items with fewer than two labels do not count. `labels` is the scale in order (else numbers in their order, or texts
    in theirs); interval and ratio scales need numbers. `clusters[i]` names what item i shares with others: clusters are
    resampled then. Alpha is None where all labels are the same, or nothing counts.
    Raises UsageError for an unknown scale, a label that is not on the scale or, where it must be, no number.
    """
    import numpy as np

    if scale not in SCALES:
        raise UsageError(f"There is no scale called {scale!r}.", f"Choose one of: {', '.join(SCALES)}.")
    labelled = [[label for label in item if label is not None] for item in items]
    units = [unit for unit in labelled if len(unit) > 1]
    kept = [cluster for cluster, unit in zip(clusters, labelled, strict=False) if len(unit) > 1]
    found = {label for unit in units for label in unit}
    if labels and not found <= set(labels):
        raise UsageError(f"{min(found - set(labels))!r} is not on the scale {', '.join(labels)}.")
    places = tuple(labels) or ordered(list(found))
    if len(found) < 2:
        return Alpha(None, None, None, len(units), scale)
    values = _values(places, scale)
    coincidences = np.stack([_coincidences(unit, places) for unit in units])
    (alpha,) = _alphas(coincidences.sum(axis=0)[None], scale, values)
    interval = bootstrap(
        cluster_sums(coincidences, kept), partial(_alphas, scale=scale, values=values), seed=seed, resamples=resamples
    )
    return Alpha(float(alpha), interval.low, interval.high, len(units), scale)


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
