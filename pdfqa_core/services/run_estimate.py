"""What a run will take: how many answers are open, and about how long they take and how much memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pdfqa_core.errors import PdfQAError
from pdfqa_core.evaluation_types import Run, RunSystem
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.llm.hardware import memory
from pdfqa_core.protocols.runs import RECORDED
from pdfqa_core.services.run_systems import load_settings
from pdfqa_core.services.runs import RunService
from pdfqa_core.settings import LLMSettings


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
    answers = {asking: sum(n for one, n in left.items() if _is(one, asking=asking)) for asking in (True, False)}
    asked = [load_settings(one).llm for one, number in left.items() if number and one.model]
    return RunEstimate(
        questions, len(systems), sum(left.values()), seconds_for(runs, owner, answers[True], answers[False]),
        memory_for(asked), memory().free,
    )  # fmt: skip


def _is(system: RunSystem, *, asking: bool) -> bool:
    """Return whether a system answers, and asks a language model for it or not."""
    return system.evidence != RECORDED and bool(system.model) == asking


def seconds_for(runs: RunService, owner: str, asked: int, quoted: int) -> float | None:
    """Return the seconds that answers of a language model and such without take, None where no earlier run tells."""
    found = 0.0
    for number, asking in ((asked, True), (quoted, False)):
        pace = runs.seconds_per_answer(owner, asking=asking) if number else 0.0
        if pace is None:
            return None
        found += number * pace
    return found


def memory_for(models: Iterable[LLMSettings]) -> int | None:
    """Return the bytes that the largest of these language models takes; None where none is here or known."""
    needed = []
    for llm in models:
        if llm.engine == "openai" or is_path(llm.model):
            continue
        try:
            needed.append(entry(llm.model).memory(llm.context_size, llm.batch_size))
        except PdfQAError:  # a model that the catalogue does not know: the run itself says what is wrong with it
            continue
    return max(needed, default=None)
