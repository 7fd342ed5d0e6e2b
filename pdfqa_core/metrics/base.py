"""What every measure says about itself; tables, help texts and axis titles come from here."""

from __future__ import annotations

from dataclasses import dataclass

from pdfqa_core.registry import Registry


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as people meet it: what tables, help texts and axis titles say of it.

    `name` is its key in files; `low` and `high` are its range, None where it has no bound; `higher_is_better` None: the
    value describes and does not judge. `formula` and `source` are one line each, `group` is what it measures.
    """

    name: str
    pretty_name: str
    formula: str
    source: str = ""
    higher_is_better: bool | None = True
    low: float | None = 0.0
    high: float | None = 1.0
    group: str = "Answer text"

    @property
    def direction(self) -> str:
        """An arrow up where higher is better, down where lower is, nothing where the value does not judge."""
        return {True: "↑", False: "↓", None: ""}[self.higher_is_better]

    @property
    def range(self) -> str:
        """The range in words, such as "0 to 1"."""
        low = "−∞" if self.low is None else f"{self.low:g}".replace("-", "−")
        return f"{low} to {'∞' if self.high is None else f'{self.high:g}'}"


measures: Registry[Measure] = Registry("measure")


def declare(measure: Measure) -> Measure:
    """File a measure under its name."""
    return measures.register(measure.name)(measure)
