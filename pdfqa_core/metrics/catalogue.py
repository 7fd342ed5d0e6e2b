"""All measures, and the table that says what each of them is.

Importing this module declares every measure; a new one is imported here.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

# isort: off
from pdfqa_core.metrics import (  # noqa: F401 - each declares its measures, in the order of the docs
    short_answers,
    rouge,
    bertscore,
    llm_judge,
    entailment,
    rag,
    refusal,
    asqa,
    ranking,
    agreement,
)

# isort: on
from pdfqa_core.metrics.base import Group, Measure, measures

_CUTOFF = re.compile(r"(HR|R|nDCG|MRR)(?:@\d+)?")


def all_measures() -> tuple[Measure[..., Any], ...]:
    """Return every measure, those of a group together, in the order of the modules above."""
    modules = [value.__name__ for value in globals().values() if isinstance(value, ModuleType)]

    def place(one: Measure[..., Any]) -> tuple[int, int]:
        module = one.compute.__module__
        return list(Group).index(one.group), modules.index(module) if module in modules else len(modules)

    return tuple(sorted(map(measures.get, measures.names()), key=place))


def measure_named(name: str) -> Measure[..., Any]:
    """Return the measure of a name as it stands in files: "answer_f1", "HR@5". Raises UsageError for an unknown one."""
    cutoff = _CUTOFF.fullmatch(name)
    return measures.get(name if cutoff is None else "MRR" if cutoff[1] == "MRR" else f"{cutoff[1]}@k")


def is_proportion(name: str) -> bool:
    """Return whether the mean of a measure is a proportion; False for one that is not declared."""
    return (name in measures.names() or _CUTOFF.fullmatch(name) is not None) and measure_named(name).proportion


def markdown_table() -> str:
    """Return the table of all measures in Markdown, one per group under its heading."""
    head = "| measure | name in files | what it is | range | better | source |\n| --- | --- | --- | --- | --- | --- |"
    rows: dict[Group, list[str]] = {}
    for one in all_measures():
        cells = (one.pretty_name, f"`{one.name}`", one.formula, one.range, one.direction, one.source)
        rows.setdefault(one.group, []).append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n\n".join(f"### {group}\n\n{head}\n" + "\n".join(lines) for group, lines in rows.items())
