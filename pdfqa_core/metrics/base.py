"""What every measure says about itself; tables, help texts and axis titles come from here."""

from __future__ import annotations

from dataclasses import dataclass

from pdfqa_core.registry import Registry


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as people meet it. `name` is its key in files, `low` and `high` its range (`high` None: unbounded).

    `formula` and `source` are one line each.
    """

    name: str
    pretty_name: str
    formula: str
    source: str = ""
    higher_is_better: bool = True
    low: float = 0.0
    high: float | None = 1.0


measures: Registry[Measure] = Registry("measure")


def declare(measure: Measure) -> Measure:
    """File a measure under its name."""
    return measures.register(measure.name)(measure)
