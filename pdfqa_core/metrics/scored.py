"""Systems scored on the same items: what a protocol returns, and what tables, figures and reports are made of.

A value is None where an item could not be scored: it is counted, never taken for 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.dr import linearised
from pdfqa_core.metrics.statistics import Summary, holm, paired_difference, permutation_test, summarise

SIGNIFICANT = 0.05
# Measures of a whole set: from which two measures of its items, and how as one value per item.
_OF_THE_SET = {"dr": ("rouge_l_sum", "disambig_f1", linearised)}


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """The values of one item by measure; `texts` are what a reader of a report wants to see ("question", …)."""

    id: str
    metrics: Mapping[str, float | None]
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredSystem:
    """All items of one system, in the order of the data."""

    name: str
    items: tuple[ScoredItem, ...]

    def values(self, measure: str) -> list[float | None]:
        """Return the value per item, in order; for a measure of the whole set, each item's part in it."""
        if measure in _OF_THE_SET:
            first, second, of_the_set = _OF_THE_SET[measure]
            return of_the_set(self.values(first), self.values(second))
        return [item.metrics.get(measure) for item in self.items]

    def summary(self, measure: str, *, seed: int = 0) -> Summary:
        """Return the mean with its interval."""
        return summarise(self.values(measure), seed=seed)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Systems measured by one protocol on one data set, with everything needed to say how the numbers came about.

    `settings` are the choices that the numbers depend on, in words; `published` are results that others reported for
    this data set, by system and measure, to be shown beside. `notes` are sentences for the reader.
    """

    protocol: str
    dataset: str
    measures: tuple[str, ...]
    systems: tuple[ScoredSystem, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))


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


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of an evaluation by system and measure; `baseline` is empty where there is one system only."""

    measures: tuple[str, ...]
    baseline: str
    cells: Mapping[str, Mapping[str, Cell]]


def tabulate(evaluation: Evaluation, *, baseline: str = "", seed: int = 0) -> Table:
    """Return means, intervals and differences to the baseline (without one: the first system).

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
    cells: dict[str, dict[str, Cell]] = {name: {} for name in systems}
    for measure in evaluation.measures:
        values = base.values(measure)
        cells[base.name][measure] = Cell(summarise(values, seed=seed))
        for other, p in zip(others, _p_values(others, values, measure, seed), strict=True):
            own = other.values(measure)
            cells[other.name][measure] = Cell(
                summarise(own, seed=seed), paired_difference(own, values, seed=seed), p
            )  # fmt: skip
    return Table(evaluation.measures, base.name if others else "", cells)


def _p_values(
    others: Sequence[ScoredSystem], base: Sequence[float | None], measure: str, seed: int
) -> list[float | None]:
    found = [permutation_test(other.values(measure), base, seed=seed) for other in others]
    adjusted = iter(holm([p for p in found if p is not None]))
    return [None if p is None else next(adjusted) for p in found]


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
