"""What all protocols of `evaluate` share: options for files and statistics, models, printing, writing."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import settings_of, workspace_of, write_file
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports import frames
from pdfqa_core.exports.figure import FORMATS, figure
from pdfqa_core.exports.frames import comparison_frame, format_of, items_frame, write_frame
from pdfqa_core.exports.insights import items_text
from pdfqa_core.exports.report import report_html, table_latex
from pdfqa_core.exports.runs import charts_figure, groups_text, read_results, results_object, write_results
from pdfqa_core.exports.table import table_text
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.interfaces import LLM
from pdfqa_core.metrics.comparison import MOST_GROUPS, TURN, TYPE, Comparison, ItemGroup, compare, grouped
from pdfqa_core.metrics.llm_judge import PROMPTS
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.models.metrics import remembering
from pdfqa_core.services import Services
from pdfqa_core.types import Progress


def add_inputs(command: argparse.ArgumentParser, *, data: str = "predictions", gold: str = "") -> None:
    """Add the options for the files of the systems and, where the protocol has one, of the gold answers."""
    command.add_argument(
        "--data", type=Path, action="append", default=[], metavar="FILE", help=f"{data}, one system; repeatable"
    )
    if gold:
        command.add_argument("--gold", type=Path, metavar="FILE", help=gold)


def add_profile(command: argparse._ActionsContainer) -> None:
    """Add the option for computing as in the sources."""
    command.add_argument("--profile", choices=("seed",), default="", help="set and compute all as the sources do")


def add_trained_on(command: argparse.ArgumentParser) -> None:
    """Add the option that lets a model be measured with what it was trained on."""
    command.add_argument(
        "--trained-on",
        action="store_true",
        help="measure a model also with questions that it was trained on; a note in the results says so",
    )


def add_scoring(command: argparse.ArgumentParser) -> None:
    """Add the options for scores that a model gives."""
    group = command.add_argument_group("scoring")
    group.add_argument(
        "--bertscore",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="BERTScore precision, recall and F1 (default: where the protocol is scored by it)",
    )
    group.add_argument("--bertscore-encoder", default="", metavar="NAME", help="path or hub name (default: bundled)")
    group.add_argument("--beta", type=float, help="weight of recall in ROUGE-L (default: 1)")
    group.add_argument("--judge", action="store_true", help="LLM accuracy: the language model judges every answer")
    group.add_argument(
        "--judge-prompt",
        choices=tuple(PROMPTS),
        default="seed",
        help="seed asks whether the answer is correct, strict whether the gold answer follows from it (default: seed)",
    )
    group.add_argument(
        "--calibrate", action="store_true", help='take the judge\'s threshold from rows with "human": true or false'
    )
    group.add_argument("--nli", default="", metavar="NAME", help="NLI cross-encoder that tags, by path or hub name")
    add_disambig(group)


def add_disambig(command: argparse._ActionsContainer, modes: Sequence[str] = ("entities", "qa")) -> None:
    """Add the options for ASQA's Disambig-F1."""
    command.add_argument(
        "--disambig",
        choices=modes,
        default="entities",
        help="ASQA's Disambig-F1 by the entities of both texts (rageval), or by the answers that a model reads from "
        "the prediction (official) (default: entities)",
    )
    command.add_argument(
        "--qa-model",
        default="",
        metavar="NAME",
        help="extractive question answering model that reads: path or hub name (default: the language model)",
    )
    command.add_argument(
        "--ner",
        default="",
        metavar="NAME",
        help="NER model that finds entities: path or hub name (default: capitalised names and numbers, by rule)",
    )


def scoring_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return what `add_scoring` was given as the options of a run. Raises UsageError."""
    if arguments.beta is not None and not 0 < arguments.beta < inf:
        raise UsageError(f"--beta is {arguments.beta}; it is above 0.", "Leave it out for 1.")
    options = {
        "judge": "yes" if arguments.judge else "",
        "judge_prompt": arguments.judge_prompt,
        "calibrate": "yes" if arguments.calibrate else "",
        "nli": arguments.nli,
        "disambig": arguments.disambig,
        "qa_model": arguments.qa_model,
        "ner": arguments.ner,
        "bertscore": {True: "yes", False: "no"}.get(arguments.bertscore, "yes" if arguments.bertscore_encoder else ""),
        "bertscore_encoder": arguments.bertscore_encoder,
        "beta": "" if arguments.beta in (None, 1) else f"{arguments.beta:g}",
    }
    return {name: value for name, value in options.items() if value}


def groups_of(evaluation: Evaluation, baseline: str) -> dict[str, tuple[ItemGroup, ...]]:
    """Return the items of an evaluation by turn and by type, where there are several and not too many."""
    found = {by: grouped(evaluation, by, evaluation.measures, baseline=baseline) for by in (TURN, TYPE)}
    return {by: parts for by, parts in found.items() if 1 < len(parts) <= MOST_GROUPS}


def means_of(evaluation: Evaluation, groups: Mapping[str, Sequence[ItemGroup]]) -> dict[str, str]:
    """Return the means of the first measure as texts, by what the items are grouped by."""
    return {by: groups_text(by, parts, evaluation.measures[0]) for by, parts in groups.items()}


def add_outputs(command: argparse.ArgumentParser) -> None:
    """Add the options for statistics and result files."""
    group = command.add_argument_group("results")
    group.add_argument("--html", type=Path, metavar="FILE", help="write a report that needs no other file")
    group.add_argument("--latex", type=Path, metavar="FILE", help="write the table for a paper")
    group.add_argument(
        "--figure", type=Path, metavar="FILE", help=f"write the figure in six panels ({', '.join(FORMATS)} by its name)"
    )
    group.add_argument(
        "--charts", type=Path, metavar="FILE", help="write charts by turn, type, seconds and more, as for --figure"
    )
    endings = ", ".join(f".{suffix}" for suffix in frames.FORMATS.values())
    group.add_argument("--table", type=Path, metavar="FILE", help=f"write the table as data ({endings} by its name)")
    group.add_argument("--csv", type=Path, metavar="FILE", help="write a row per system, item and measure")
    group.add_argument("--parquet", type=Path, metavar="FILE", help="write the same rows as Parquet")
    group.add_argument("--save", type=Path, metavar="FILE", help="write all results as JSON")
    group.add_argument(
        "--load",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="add the systems of results that --save wrote; repeatable",
    )
    group.add_argument("--baseline", default="", metavar="NAME", help="system that the others are compared with")
    group.add_argument("--bootstrap-seed", type=int, default=0, help="seed of the intervals (default: 0)")


def finish(
    arguments: argparse.Namespace,
    evaluation: Evaluation | None,
    *,
    more: Callable[[dict[str, Any]], dict[str, Any]] = lambda found: found,
    said: Sequence[str] = (),
    first: Sequence[str] = (),
) -> int:
    """Add what --load brings, print the table or one JSON object, and write the files that were asked for.

    `more` adds to the object, `said` are texts below the table, `first` those above it. Raises UsageError if there is
    nothing, or the systems do not fit together; nothing is written then.
    """
    found = added(evaluation, arguments.load)
    seed = arguments.bootstrap_seed
    found = replace(found, settings={**found.settings, "bootstrap seed": str(seed)})
    table = compare(found, baseline=arguments.baseline, seed=seed)
    _write_files(arguments, found, table)
    terminal.clear()
    text = "\n\n".join(filter(None, (*first, table_text(found, table), items_text(found), *said)))
    return terminal.told(arguments, more(results_object(found, table)), text)


def added(evaluation: Evaluation | None, paths: Sequence[Path]) -> Evaluation:
    """Return the evaluation with the systems of saved ones, and the measures that all of them have."""
    parts = [] if evaluation is None else [evaluation]
    parts += [read_results(read_file(path), path.name) for path in paths]
    if not parts:
        raise UsageError("There is nothing to evaluate.", "Give --data, or saved results with --load.")
    first, *others = parts
    for other in others:
        if other.protocol != first.protocol:
            raise UsageError(
                f"Results of {first.protocol} and of {other.protocol} are not compared.", "Load those of one protocol."
            )
    measures = tuple(name for name in first.measures if all(name in other.measures for other in others))
    if not measures:
        raise UsageError("The results have no measure in common.", "Evaluate them with the same measures.")
    left = dict.fromkeys(name for part in parts for name in part.measures if name not in measures)
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    if left:
        notes[f"Not measured for every system, so not shown: {', '.join(left)}."] = None
    settings = {**first.settings}
    for other in others:
        for name, value in other.settings.items():
            if settings.setdefault(name, value) != value:
                notes[f"The systems were scored with different settings: {name} is {settings[name]} or {value}."] = None
    return replace(
        first,
        measures=measures,
        systems=tuple(system for part in parts for system in part.systems),
        notes=tuple(notes),
        settings=settings,
        versions={name: value for part in reversed(parts) for name, value in part.versions.items()},
    )


@contextmanager
def language_model(arguments: argparse.Namespace) -> Iterator[LLM]:
    """Give the language model of the settings, with its replies kept in the workspace."""
    settings, workspace = settings_of(arguments), workspace_of(arguments)
    with Services.open(workspace, settings) as services:
        yield remembering(services.models.language.llm(), workspace, settings.llm)


def reporter(phase: str) -> OnDone:
    """Return a function that shows how many are done."""
    return lambda done, total: terminal.show(Progress(phase, done, total))


# ------------------------------------------------------------------ files


def _write_files(arguments: argparse.Namespace, evaluation: Evaluation, table: Comparison) -> None:
    """Write the files of `add_outputs` that were asked for: all are made before the first is written."""
    for path in filter(None, (arguments.figure, arguments.charts)):
        if _kind(path) not in FORMATS:
            raise UsageError(f"{path.name}: figures end in .{', .'.join(FORMATS)}.", "Give it another name.")
    makers: tuple[tuple[Path | None, Callable[[], bytes]], ...] = (
        (arguments.html, lambda: report_html(evaluation, table)),
        (arguments.latex, lambda: table_latex(evaluation, table)),
        (arguments.figure, lambda: figure(evaluation, table, _kind(arguments.figure))),
        (arguments.charts, lambda: charts_figure(evaluation, _kind(arguments.charts))),
        (arguments.table, lambda: write_frame(comparison_frame(table), format_of(arguments.table))),
        (arguments.csv, lambda: write_frame(items_frame(evaluation))),
        (arguments.parquet, lambda: write_frame(items_frame(evaluation), "parquet")),
        (arguments.save, lambda: write_results(evaluation, table)),
    )
    made = [(path, make()) for path, make in makers if path is not None]
    for path, data in made:
        write_file(path, data)


def _kind(path: Path) -> str:
    return path.suffix.lower().lstrip(".")
