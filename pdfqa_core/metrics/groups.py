"""Systems compared on parts of their items: by turn depth, by the type of the question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pdfqa_core.metrics.comparison import Cell, compare
from pdfqa_core.types import Evaluation

TURN, TYPE = "turn", "type"
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
    if not evaluation.systems:
        return ()
    values = sorted({item.texts[by] for item in evaluation.systems[0].items if by in item.texts}, key=_order)
    found = []
    for value in values:
        systems = tuple(
            replace(system, items=tuple(item for item in system.items if item.texts.get(by) == value))
            for system in evaluation.systems
        )
        part = replace(evaluation, systems=systems, measures=measures)
        found.append(
            ItemGroup(value, len(systems[0].items), compare(part, baseline=baseline, seed=seed).cells)
        )  # fmt: skip
    return tuple(found)


def _order(value: str) -> tuple[int, int, str]:
    return (0, int(value), "") if _NUMBER.fullmatch(value) else (1, 0, value)
