"""What a run will take: how many answers are open, and about how long they take and how much memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import PdfQAError
from pdfqa_core.evaluation_types import Run, RunSystem
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.llm.hardware import memory
from pdfqa_core.protocols.runs import RECORDED
from pdfqa_core.services.run_systems import load_settings
from pdfqa_core.services.runs import RunService


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What the open answers of a run take.

    `seconds` is None where no earlier run tells the pace. `memory` is what the largest model takes in bytes, None where
    none is asked here or that is not known; `free` is what is free now.
    """

    questions: int
    systems: int
    open: int
    seconds: float | None
    memory: int | None
    free: int


def run_estimate(runs: RunService, owner: str, run: Run) -> RunEstimate:
    """Return what the open answers of a run take, at the pace of earlier runs of the owner."""
    systems = run.plan.systems
    questions = run.total // max(1, len(systems))
    known = [name for name, _ in runs.predictions(owner, run.id)]
    left = {one: questions - known.count(one.name) for one in systems}
    return RunEstimate(
        questions, len(systems), sum(left.values()), _seconds(runs, owner, left), _memory([o for o in left if left[o]]),
        memory().free,
    )  # fmt: skip


def _seconds(runs: RunService, owner: str, left: dict[RunSystem, int]) -> float | None:
    found = 0.0
    for asking in (True, False):
        number = sum(n for one, n in left.items() if one.evidence != RECORDED and bool(one.model) == asking)
        pace = runs.seconds_per_answer(owner, asking=asking) if number else 0.0
        if pace is None:
            return None
        found += number * pace
    return found


def _memory(systems: Sequence[RunSystem]) -> int | None:
    needed = []
    for llm in (load_settings(one).llm for one in systems if one.model):
        if llm.engine == "openai" or is_path(llm.model):
            continue
        try:
            needed.append(entry(llm.model).memory(llm.context_size, llm.batch_size))
        except PdfQAError:  # a model that the catalogue does not know: the run itself says what is wrong with it
            continue
    return max(needed, default=None)
