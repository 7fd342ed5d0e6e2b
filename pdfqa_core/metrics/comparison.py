"""Systems that were scored on the same items, compared: means with intervals, differences to a baseline, p-values.

A value is None where an item could not be scored: it is counted, never taken for 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import fsum, sqrt

from pdfqa_core.cores import over_cores
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, ScoredSystem
from pdfqa_core.metrics.asqa import linearised
from pdfqa_core.metrics.catalogue import is_proportion
from pdfqa_core.metrics.statistics import (
    FEWEST_CONVERSATIONS,
    Summary,
    holm,
    paired_difference,
    permutation_test,
    summarise,
)

SIGNIFICANT = 0.05
# Measures of a whole set: from which two measures of its items, and how as one value per item.
_OF_THE_SET = {
    "dr": ("rouge_l_sum", "disambig_f1", linearised), "dr_rouge_l": ("rouge_l", "disambig_f1", linearised),
}  # fmt: skip


def item_values(system: ScoredSystem, measure: str) -> list[float | None]:
    """Return the value per item, in order; for a measure of the whole set, each item's part in it."""
    if measure in _OF_THE_SET:
        first, second, of_the_set = _OF_THE_SET[measure]
        return of_the_set(item_values(system, first), item_values(system, second))
    return [item.metrics.get(measure) for item in system.items]


def mean_of(system: ScoredSystem, measure: str) -> Summary:
    """Return the mean of a system's values with its interval."""
    return summarise(item_values(system, measure), proportion=is_proportion(measure))


def hit_curve(system: ScoredSystem) -> tuple[float, ...]:
    """Return the means of HR@1, HR@2, … as far as the items have them; nothing where none has a value."""
    found: list[float] = []
    while scored := [one for one in item_values(system, f"HR@{len(found) + 1}") if one is not None]:
        found.append(sum(scored) / len(scored))
    return tuple(found)


def latency(system: ScoredSystem) -> tuple[float, float] | None:
    """Return the 50th and the 95th percentile of the seconds per item; None if they were not measured."""
    seconds = [item.seconds for item in system.items if item.seconds is not None]
    if not seconds:
        return None
    import numpy as np

    middle, slow = np.percentile(seconds, [50, 95])
    return float(middle), float(slow)


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean and, where there is a baseline, the difference to it on the same items.

    `p` is that of a paired permutation test, adjusted by Holm's method for the number of systems that are compared with
    the baseline; None where too few items were scored.
    """

    summary: Summary
    difference: Summary | None = None
    p: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the difference is, at the 5 % level after the adjustment."""
        return self.p is not None and self.p < SIGNIFICANT


Change = tuple[str, int | None, int | None]  # an item, its rank, its rank with the baseline


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cells of an evaluation by system and measure; `baseline` is empty where there is one system only.

    `changes` are, where systems rank, the items on which a system did better and worse than the baseline.
    """

    measures: tuple[str, ...]
    baseline: str
    cells: Mapping[str, Mapping[str, Cell]]
    changes: Mapping[str, tuple[tuple[Change, ...], tuple[Change, ...]]]


def compare(evaluation: Evaluation, *, measures: Sequence[str] = (), baseline: str = "", seed: int = 0) -> Comparison:
    """Return means, intervals and differences to the baseline (none given: the first system), of some or all measures.

    Raises UsageError if there is no such system, two have one name, or they were scored on different items.
    """
    systems = {system.name: system for system in evaluation.systems}
    if len(systems) < len(evaluation.systems):
        names = [system.name for system in evaluation.systems]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"Two systems are called {twice!r}.", "Give them different names.")
    if baseline and baseline not in systems:
        raise UsageError(f"There is no system called {baseline!r}.", f"Choose one of: {', '.join(systems)}.")
    base = systems[baseline or next(iter(systems))]
    others = [system for system in evaluation.systems if system is not base]
    for other in others:
        _check_same_items(base, other)
    chosen = tuple(measures) or evaluation.measures
    clusters = _clusters(base)
    pairs = [
        (item_values(system, measure), None if system is base else item_values(base, measure), is_proportion(measure))
        for measure in chosen
        for system in (base, *others)
    ]
    found = iter(over_cores(partial(_cell, clusters=clusters, seed=seed), pairs))
    cells: dict[str, dict[str, Cell]] = {name: {} for name in systems}
    for measure in chosen:
        cells[base.name][measure] = next(found)
        own = list(islice(found, len(others)))
        for other, cell, p in zip(others, own, _adjusted(own), strict=True):
            cells[other.name][measure] = replace(cell, p=p)
    ranked = any(item.rank is not None for system in evaluation.systems for item in system.items)
    changes = {other.name: _changes(other, base) for other in others if ranked}
    return Comparison(chosen, base.name if others else "", cells, changes)


def _changes(system: ScoredSystem, base: ScoredSystem) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    better: list[Change] = []
    worse: list[Change] = []
    for one, other in zip(system.items, base.items, strict=True):
        if one.rank != other.rank:
            ahead = one.rank is not None and (other.rank is None or one.rank < other.rank)
            (better if ahead else worse).append((one.id, one.rank, other.rank))
    return tuple(better), tuple(worse)


def _clusters(system: ScoredSystem) -> list[str]:
    """Return the conversation of each item, nothing where all are on their own or the conversations are too few."""
    found = [item.conversation or item.id for item in system.items]
    return found if FEWEST_CONVERSATIONS <= len(set(found)) < len(found) else []


def _cell(
    values: tuple[list[float | None], list[float | None] | None, bool], *, clusters: Sequence[str], seed: int
) -> Cell:
    """Return the cell of a system's values, compared with those of the baseline where they are given; p as it is.

    The third of `values` says whether their mean is a proportion.
    """
    own, theirs, proportion = values
    summary = summarise(own, proportion=proportion, clusters=clusters, seed=seed)
    if theirs is None:
        return Cell(summary)
    return Cell(
        summary,
        paired_difference(own, theirs, clusters=clusters, seed=seed),
        permutation_test(own, theirs, clusters=clusters, seed=seed),
    )


def _adjusted(cells: Sequence[Cell]) -> list[float | None]:
    """Return the p-values of the systems that are compared with the baseline, by Holm's method."""
    adjusted = iter(holm([cell.p for cell in cells if cell.p is not None]))
    return [None if cell.p is None else next(adjusted) for cell in cells]


def _check_same_items(base: ScoredSystem, other: ScoredSystem) -> None:
    for place, (one, two) in enumerate(zip(base.items, other.items, strict=False), start=1):
        if one.id != two.id:
            raise UsageError(
                f"Item {place} of {base.name} is {one.id!r}, that of {other.name} is {two.id!r}.",
                "Systems are compared on the same items in the same order.",
            )
    if len(base.items) != len(other.items):
        raise UsageError(
            f"{base.name} was scored on {len(base.items)} items and {other.name} on {len(other.items)}.",
            "Systems are compared on the same items.",
        )


# ----------------------------------------------------------------------------------------------------
# Repeats of a sampled system with other seeds: how far its means lie apart.


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of a system's means over its repeats, their standard deviation (n - 1), the lowest and the highest."""

    system: str
    measure: str
    repeats: int
    mean: float
    deviation: float
    low: float
    high: float


def spreads(evaluation: Evaluation, measures: Sequence[str] = ()) -> tuple[Spread, ...]:
    """Return the spread of every repeated system by measure; nothing where none was repeated.

    It is that of the model's sampling alone; the intervals of the means are those of the questions.
    """
    repeated = dict.fromkeys(system.repeat_of for system in evaluation.systems if system.repeat_of)
    found = []
    for name in repeated:
        own = [system for system in evaluation.systems if system.repeat_of == name]
        for measure in measures or evaluation.measures:
            scored = [[v for v in item_values(system, measure) if v is not None] for system in own]
            means = [fsum(values) / len(values) for values in scored if values]
            if len(means) < 2:
                continue
            mean = fsum(means) / len(means)
            deviation = sqrt(fsum((one - mean) ** 2 for one in means) / (len(means) - 1))
            found.append(Spread(name, measure, len(means), mean, deviation, min(means), max(means)))
    return tuple(found)


# ----------------------------------------------------------------------------------------------------
# Systems compared on parts of their items: by turn depth, by the type of the question.

TURN, TYPE = "turn", "type"
MOST_GROUPS = 30  # of a text that items are grouped by
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """The items with one value of a text, such as turn 3; `cells` by system and measure."""

    value: str
    n: int
    cells: Mapping[str, Mapping[str, Cell]]


def grouped(
    evaluation: Evaluation, by: str, measures: tuple[str, ...], *, baseline: str = "", seed: int = 0
) -> tuple[ItemGroup, ...]:
    """Return the groups of items by one of their texts ("turn", "type"), numbers ascending; none where none has it.

    Means, intervals and differences to the baseline are as in `compare`, within each group.
    """
    found = []
    for value, systems in _parts(evaluation, by):
        part = replace(evaluation, systems=systems, measures=measures)
        found.append(ItemGroup(value, len(systems[0].items), compare(part, baseline=baseline, seed=seed).cells))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """The items with one value of a text; `means` of one measure by system."""

    value: str
    n: int
    means: Mapping[str, Summary]


def group_means(evaluation: Evaluation, by: str, measure: str) -> tuple[GroupMeans, ...]:
    """Return the means of one measure by one of the items' texts, as `grouped` does, without differences."""
    return tuple(
        GroupMeans(value, len(systems[0].items), {one.name: mean_of(one, measure) for one in systems})
        for value, systems in _parts(evaluation, by)
    )


def _parts(evaluation: Evaluation, by: str) -> Iterator[tuple[str, tuple[ScoredSystem, ...]]]:
    """Yield each value of a text, numbers ascending, with the systems' items that have it."""
    first = evaluation.systems[0].items if evaluation.systems else ()
    for value in sorted({item.texts[by] for item in first if by in item.texts}, key=_order):
        yield (
            value,
            tuple(
                replace(system, items=tuple(item for item in system.items if item.texts.get(by) == value))
                for system in evaluation.systems
            ),
        )


def _order(value: str) -> tuple[int, int, str]:
    return (0, int(value), "") if _NUMBER.fullmatch(value) else (1, 0, value)
