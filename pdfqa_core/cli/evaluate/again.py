"""What `evaluate answers` does with files that `evaluate run --out` wrote: all scores of their protocol once more."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from pdfqa_core.cli import progress
from pdfqa_core.cli.evaluate.shown import finish, groups_of, language_model, scoring_options
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports.runs import groups_text, with_answers
from pdfqa_core.interfaces import LLM
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols.runs import run_protocols
from pdfqa_core.protocols.runs.written import Written, read_written
from pdfqa_core.services.run_scoring import run_of_files, scored, tools_of
from pdfqa_core.types import Progress


def score_again(arguments: argparse.Namespace, protocol: str, profile: str, data: Mapping[str, Path]) -> int:
    """Score the files of each system by a protocol, and print the means, also by turn and type."""
    written = read_written(protocol, arguments.gold, data)
    evaluation = _evaluation(arguments, protocol, profile, written, tuple(data))
    groups = groups_of(evaluation, arguments.baseline)

    def more(results: dict[str, Any]) -> dict[str, Any]:
        found = with_answers(results, "", written.predictions, groups)
        del found["run"]
        return found

    said = [groups_text(by, parts, evaluation.measures[0]) for by, parts in groups.items()]
    return finish(arguments, evaluation, said=said, more=more)


def _evaluation(
    arguments: argparse.Namespace, protocol: str, profile: str, written: Written, systems: tuple[str, ...]
) -> Evaluation:
    run = run_of_files(
        protocol, arguments.gold, systems, profile=profile, seed=getattr(arguments, "llm.seed") or 0,
        options=scoring_options(arguments),
    )  # fmt: skip
    chosen = run_protocols.get(protocol)
    chosen.check(written.file, run.plan.options)
    with ExitStack() as stack:

        @cache
        def llm() -> LLM:
            return stack.enter_context(language_model(arguments))

        tools = tools_of(run.plan, llm, token_embedder, chosen.needs, threading.Event())
        return _showing(scored(run, chosen, written.file, written.predictions, tools))


def _showing(steps: Generator[Progress, None, Evaluation]) -> Evaluation:
    while True:
        try:
            progress.show(next(steps))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
