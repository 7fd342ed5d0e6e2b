"""Means with intervals, and differences between two systems on the same items."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import erfc, fsum, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

from pdfqa_core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]


# ----------------------------------------------------------------------------------------------------
# The bootstrap over clusters: what shares a turn or a conversation is drawn together, or not at all.
#
# Items of one cluster are alike, so that drawing them one by one makes intervals too narrow (Davison and Hinkley
# 1997, section 3.8). Without clusters every item is one of its own.

LEAST_DEFINED = 0.6  # share of resamples with a value below which there is no interval; only 2 items fall below
FEWEST_CONVERSATIONS = 10  # that are resampled whole; of fewer the bootstrap would say too little
_BATCH = 500  # resamples at a time, more where clusters have few kinds
_DRAWN = 200_000  # numbers drawn at a time
_PASSAGE = re.compile(r"(.+)#[0-9]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % interval, None if it is undefined; `undefined` counts the resamples that had no value."""

    low: float | None = None
    high: float | None = None
    undefined: int = 0


def turn_of(item: str) -> str:
    """Return the turn that an item belongs to: "TURN" for "TURN#RANK"; any other item is its own."""
    found = _PASSAGE.fullmatch(item)
    return found[1] if found else item


def clusters_of(items: Sequence[str], conversations: Mapping[str, str]) -> list[str]:
    """Return what each item shares with others: its conversation where there are FEWEST_CONVERSATIONS, else its turn.

    `conversations` gives the conversation of a turn.
    """
    turns = list(map(turn_of, items))
    larger = [conversations.get(turn, turn) for turn in turns]
    return larger if len(set(larger)) >= FEWEST_CONVERSATIONS else turns


def cluster_sums(parts: Floats, clusters: Sequence[Hashable] = ()) -> Floats:
    """Return the sums of `parts` (items, …) over the items of each cluster; the parts themselves without clusters."""
    import numpy as np

    if not clusters:
        return parts
    place: dict[Hashable, int] = {}
    at = [place.setdefault(cluster, len(place)) for cluster in clusters]
    sums = np.zeros((len(place), *parts.shape[1:]))
    np.add.at(sums, at, parts)
    return sums


def cluster_bootstrap(sums: Floats, statistic: Callable[[Floats], Any], *, seed: int, resamples: int) -> Interval:
    """Return the 2.5th and 97.5th percentile of a statistic over resamples of as many clusters as there are.

    `statistic` takes the sums over the drawn clusters, (resamples, …), and returns a value for each, NaN where it is
    undefined. If all resamples have one value, no interval is returned: it would claim certainty. Clusters
    with the same `sums` are drawn as one kind, from a multinomial distribution: the same, and faster.
    """
    import numpy as np

    if len(sums) < 2 or not resamples:
        return Interval()
    kinds, counts = np.unique(sums.reshape(len(sums), -1), axis=0, return_counts=True)
    kinds, counts = kinds[::-1], counts[::-1]
    rng = np.random.default_rng(seed)
    found = []
    batch = max(_BATCH, _DRAWN // max(kinds.size, 1))  # the numbers drawn do not depend on it
    for first in range(0, resamples, batch):
        times = rng.multinomial(len(sums), counts / len(sums), size=min(batch, resamples - first))
        found.append(statistic((times @ kinds).reshape(-1, *sums.shape[1:])))
    values = np.concatenate(found)
    defined = values[np.isfinite(values)]
    undefined = resamples - len(defined)
    if len(defined) >= LEAST_DEFINED * resamples:
        low, high = np.percentile(defined, [2.5, 97.5])
        if low < high:
            return Interval(float(low), float(high), undefined)
    return Interval(undefined=undefined)


def exact_interval(value: float, n: int) -> Interval:
    """Return the 95 % interval of a proportion that is 0 or 1 in all `n` cases. Source: Clopper and Pearson 1934."""
    width = 1 - 0.025 ** (1 / n)
    return Interval(0.0, width) if value == 0 else Interval(1 - width, 1.0)


# ----------------------------------------------------------------------------------------------------
# Means with intervals, and differences between two systems on the same items.

RESAMPLES = 9_999
LARGE = 2_000  # items; from here on the mean is as good as normal, and resampling would take minutes
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean of `n` scored items with its 95 % bootstrap interval; `unscored` items had no value.

    `mean` is None without a scored item, `low` and `high` are None with fewer than two, and where all values are the
    same: the bootstrap knows no others. `exact`: the interval is the exact one of a proportion.
    """

    n: int
    unscored: int
    mean: float | None
    low: float | None
    high: float | None
    exact: bool = False


def mean_of_scored(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None, None where all are."""
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else None


def summarise(
    values: Sequence[float | None],
    *,
    proportion: bool = False,
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Summary:
    """Return mean and interval of per-item values, where None stands for an item that could not be scored.

    `clusters[i]` names what item i shares with others, as turns share a conversation: clusters are resampled then.
    Sources of the interval: bias-corrected and accelerated bootstrap over items, Efron 1987; with LARGE or more items
    the normal interval, which it then equals; percentile bootstrap over clusters, Davison and Hinkley 1997; of a
    `proportion`, where all values are 0 or all are 1, the exact one, Clopper and Pearson 1934.
    """
    groups = _groups(values, clusters)
    found = _summary(values, groups, seed, resamples)
    if found.low is None or found.low != found.high:
        return found
    if not proportion or found.mean not in (0, 1):
        return replace(found, low=None, high=None)
    exact = exact_interval(found.mean, len(groups))
    return replace(found, low=exact.low, high=exact.high, exact=True)


def paired_difference(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Summary:
    """Return the mean of `first[i] - second[i]` with its interval, over the items that both systems were scored on.

    The difference counts as significant at the 5 % level where the interval excludes 0. `clusters` as in `summarise`.
    Raises UsageError if the two differ in length.
    """
    differences = _differences(first, second)
    return _summary(differences, _groups(differences, clusters), seed, resamples)


def permutation_test(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> float | None:
    """Return the two-sided p-value of the mean paired difference under random exchange of the systems per item.

    With `clusters` (as in `summarise`) the systems are exchanged for a whole cluster. Exact where all exchanges are
    fewer than `resamples`, by the normal limit with LARGE or more items; None with fewer than two that both were scored
    on. Raises UsageError if the two differ in length. Source: Fisher's randomisation test as in Smucker et al. 2007.
    """
    differences = [fsum(group) for group in _groups(_differences(first, second), clusters)]
    if len(differences) < 2:
        return None
    if not any(differences):
        return 1.0
    if len(differences) >= LARGE:
        return erfc(abs(fsum(differences)) / sqrt(2 * fsum(d * d for d in differences)))
    import numpy as np
    from scipy.stats import permutation_test as resampled

    found = resampled(
        (np.asarray(differences),),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=1_000,
        rng=np.random.default_rng(seed),
    )
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


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> list[float | None]:
    if len(first) != len(second):
        raise UsageError(f"The systems were scored on {len(first)} and {len(second)} items.", "Use the same items.")
    return [None if one is None or other is None else one - other for one, other in zip(first, second, strict=True)]


def _groups(values: Sequence[float | None], clusters: Sequence[Hashable]) -> list[list[float]]:
    """Return the values that were scored, those of a cluster together; without clusters each on its own."""
    groups: dict[Hashable, list[float]] = {}
    for cluster, value in zip(clusters or range(len(values)), values, strict=True):
        if value is not None:
            groups.setdefault(cluster, []).append(float(value))
    return list(groups.values())


def _summary(values: Sequence[float | None], groups: list[list[float]], seed: int, resamples: int) -> Summary:
    scored = [value for group in groups for value in group]
    low, high = _interval(groups, scored, seed, resamples)
    mean = fsum(scored) / len(scored) if scored else None
    return Summary(len(scored), len(values) - len(scored), mean, low, high)


def _interval(
    groups: list[list[float]], scored: list[float], seed: int, resamples: int
) -> tuple[float | None, float | None]:
    if len(groups) < 2:
        return None, None
    if min(scored) == max(scored):
        return scored[0], scored[0]
    import numpy as np

    if len(groups) < len(scored):
        sums = np.array([(fsum(group), len(group)) for group in groups])
        means = cluster_bootstrap(sums, lambda drawn: drawn[:, 0] / drawn[:, 1], seed=seed, resamples=resamples)
        return means.low, means.high
    if len(scored) >= LARGE:
        mean = fsum(scored) / len(scored)
        error = sqrt(fsum((value - mean) ** 2 for value in scored) / (len(scored) - 1) / len(scored))
        return max(min(scored), mean - _NORMAL_95 * error), min(max(scored), mean + _NORMAL_95 * error)
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
