"""Scores of a run that is not finished: of what is answered so far, by the measures that need no model."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from pdfqa_core.errors import PdfQAError
from pdfqa_core.evaluation_types import Prediction, Run
from pdfqa_core.metrics.comparison import item_values
from pdfqa_core.protocols.runs import CaseFile, RunProtocol, Tools, run_protocols
from pdfqa_core.protocols.runs.profile import profile_named
from pdfqa_core.services.runs import RunService

PAUSE = 4.0  # seconds between two computations for the same run
MOST_MEASURES = 5


@dataclass(frozen=True, slots=True)
class SoFar:
    """What is known of a system so far: how many of its answers are there, and their means by measure."""

    system: str
    done: int
    total: int
    failed: int
    means: tuple[tuple[str, float | None], ...] = ()


class RunProgress:
    """Scores what runs have answered so far; kept until more is answered. Raises as `RunService.get` does."""

    def __init__(self, runs: RunService) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._files: dict[str, CaseFile] = {}
        self._known: dict[str, tuple[int, float, tuple[SoFar, ...]]] = {}

    def of(self, owner: str, run_id: str) -> tuple[SoFar, ...]:
        """Return what is known of each system, in the order of the run; without means where scoring needs a model."""
        run = self._runs.get(owner, run_id)
        predictions = self._runs.predictions(owner, run_id)
        with self._lock:
            done, when, found = self._known.get(run_id, (-1, 0.0, ()))
            if done == len(predictions) or (done > 0 and time.monotonic() - when < PAUSE):
                return found
            found = self._scored(owner, run, predictions)
            self._known = {**dict(list(self._known.items())[-3:]), run_id: (len(predictions), time.monotonic(), found)}
        return found

    def _scored(
        self, owner: str, run: Run, predictions: dict[tuple[str, str], Prediction]
    ) -> tuple[SoFar, ...]:  # fmt: skip
        total = run.total // max(1, len(run.plan.systems))
        protocol = run_protocols.get(run.plan.protocol)
        file = self._file(owner, run) if predictions and "llm" not in protocol.needs else None
        found = []
        for system in run.plan.systems:
            own = {item: one for (name, item), one in predictions.items() if name == system.name}
            means = _means(run, protocol, file, system.name, own) if file is not None and own else ()
            found.append(SoFar(system.name, len(own), total, sum(one.failed for one in own.values()), means))
        return tuple(found)

    def _file(self, owner: str, run: Run) -> CaseFile | None:
        if run.id not in self._files:
            try:
                self._files = {run.id: self._runs.cases(owner, run.plan)}
            except PdfQAError:
                return None  # the run itself says what is wrong with its data
        return self._files[run.id]


def _means(
    run: Run, protocol: RunProtocol, file: CaseFile, name: str, own: dict[str, Prediction]
) -> tuple[tuple[str, float | None], ...]:
    tools = Tools(profile=profile_named(run.plan.profile))
    try:
        system = protocol.score(name, file.cases, own, tools)
    except PdfQAError:
        return ()  # when all is answered, the page says what cannot be scored
    found = []
    for measure in protocol.measures([system], tools)[:MOST_MEASURES]:
        scored = [one for one in item_values(system, measure) if one is not None]
        found.append((measure, sum(scored) / len(scored) if scored else None))
    return tuple(found)
