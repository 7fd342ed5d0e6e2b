"""Repeats of a sampled system with other seeds: how far its means lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.metrics.comparison import item_values


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
