"""Systems compared on parts of their items: by turn depth, by the type of the question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pdfqa_core.evaluation_types import Evaluation, ScoredSystem
from pdfqa_core.metrics.comparison import Cell, compare, item_values
from pdfqa_core.metrics.statistics import Summary, summarise

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
        found.append(
            ItemGroup(value, len(systems[0].items), compare(part, baseline=baseline, seed=seed).cells)
        )  # fmt: skip
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
        GroupMeans(value, len(systems[0].items), {one.name: summarise(item_values(one, measure)) for one in systems})
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
