"""The bootstrap over clusters: what shares a turn or a conversation is drawn together, or not at all.

Items of one cluster are alike, so that drawing them one by one makes intervals too narrow (Davison and Hinkley 1997,
section 3.8). Without clusters every item is one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

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


def bootstrap(sums: Floats, statistic: Callable[[Floats], Any], *, seed: int, resamples: int) -> Interval:
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
