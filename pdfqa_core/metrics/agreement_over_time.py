"""Agreement of two annotators from the first items they rated to the last, which shows drift and learning."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

from pdfqa_core.metrics.agreement import RESAMPLES, Agreement, agreement

MOST_PARTS = 4
LEAST_ITEMS = 10  # of a part; fewer would say too little


def agreement_over_time(
    first: Sequence[str], second: Sequence[str], order: Sequence[float], *, labels: Sequence[str] = (),
    criterion: str = "", annotators: tuple[str, str] = ("first", "second"), clusters: Sequence[Hashable] = (),
    seed: int = 0, resamples: int = RESAMPLES,
) -> tuple[Agreement, ...]:  # fmt: skip
    """Return the agreement on the items in parts of the same size, the items that were rated first in the first.

    `order[i]` says when item i was rated, of two annotators with orders of their own as the mean of its two places.
    There are at most MOST_PARTS parts of LEAST_ITEMS items or more; without two such parts nothing is returned. The
    other arguments are those of `agreement`.
    """
    parts = min(MOST_PARTS, len(first) // LEAST_ITEMS)
    if parts < 2:
        return ()
    places = sorted(range(len(first)), key=lambda place: order[place])
    bounds = [round(len(places) * part / parts) for part in range(parts + 1)]
    found = []
    for start, end in pairwise(bounds):
        chosen = places[start:end]
        found.append(
            agreement(
                [first[place] for place in chosen], [second[place] for place in chosen], labels=labels,
                criterion=criterion, annotators=annotators, clusters=[clusters[p] for p in chosen] if clusters else (),
                seed=seed, resamples=resamples,
            )
        )  # fmt: skip
    return tuple(found)


def mean_places(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return the mean of the places that each item has by two annotators' moments."""
    ranks = []
    for moments in (first, second):
        by_time = sorted(range(len(moments)), key=lambda place: moments[place])
        ranks.append({place: rank for rank, place in enumerate(by_time)})
    return [(ranks[0][place] + ranks[1][place]) / 2 for place in range(len(first))]
