"""What a threshold of the confidence costs and brings, as measured on questions with and without an answer.

The numbers are counted by `benchmarks/refusal.py --write` and lie beside this file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).with_name("refusal_curve.json")
STEPS = 100  # thresholds are 0, 0.01, …, 1


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Refusals on one data set by threshold, for one way to refuse ("retrieval", "model", "combined").

    `wrongly[n]` of the `answerable` questions and `rightly[n]` of the `unanswerable` ones have a confidence below
    n / 100. `measured` is the date, `model` the language model that was asked.
    """

    refusal: str
    dataset: str
    model: str
    measured: str
    answerable: int
    unanswerable: int
    wrongly: tuple[int, ...]
    rightly: tuple[int, ...]

    def recall(self, threshold: float) -> float:
        """Return the share of the unanswerable questions that is turned away."""
        return self.rightly[_step(threshold)] / self.unanswerable

    def lost(self, threshold: float) -> float:
        """Return the share of the answerable questions that is turned away."""
        return self.wrongly[_step(threshold)] / self.answerable

    def precision(self, threshold: float) -> float | None:
        """Return the share of unanswerable ones among the questions turned away, None where none is."""
        step = _step(threshold)
        refused = self.rightly[step] + self.wrongly[step]
        return self.rightly[step] / refused if refused else None

    def points(self) -> tuple[tuple[float, float], ...]:
        """Return (recall, precision) for every threshold at which at least one question is turned away."""
        pairs = ((self.recall(n / STEPS), self.precision(n / STEPS)) for n in range(STEPS + 1))
        return tuple((recall, precision) for recall, precision in pairs if precision is not None)


def _step(threshold: float) -> int:
    return min(STEPS, max(0, round(threshold * STEPS)))


@cache
def refusal_curves(refusal: str) -> tuple[RefusalCurve, ...]:
    """Return the measured curves of a way to refuse, one per data set; none for "none" and for unknown names."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    return tuple(
        RefusalCurve(**{**row, "wrongly": tuple(row["wrongly"]), "rightly": tuple(row["rightly"])})
        for row in rows
        if row["refusal"] == refusal
    )
