"""`pdfqa evaluate run PROTOCOL`: put questions to systems, score the answers, keep both; what is done stays done."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.cli import terminal
from pdfqa_core.cli.evaluate.shown import (
    add_outputs,
    add_profile,
    add_scoring,
    add_trained_on,
    finish,
    groups_of,
    means_of,
    scoring_options,
)
from pdfqa_core.cli.options import add_common, add_settings, listed, settings_of, workspace_of, write_file
from pdfqa_core.cli.terminal import stopping
from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run
from pdfqa_core.exports.runs import with_answers
from pdfqa_core.exports.table import measure_of, spread_text
from pdfqa_core.json_codec import plain
from pdfqa_core.metrics.comparison import TURN, spreads
from pdfqa_core.protocols import EVIDENCE, GOLD, PREDICTED, run_protocols
from pdfqa_core.protocols.base import profile_named
from pdfqa_core.protocols.gold import forms
from pdfqa_core.protocols.gold.hub import fetched, is_hub_name
from pdfqa_core.protocols.gold.rows import FIELDS, columns_of, guessed, mapped
from pdfqa_core.services import LOCAL_OWNER, RunRequest, Services
from pdfqa_core.services.evaluation import RunEstimate
from pdfqa_core.services.run_asking import TRAINED_ON, YES
from pdfqa_core.services.run_export import answer_files
from pdfqa_core.services.systems import DIMENSIONS, read_systems, run_grid, system_of
from pdfqa_core.settings import Settings
from pdfqa_core.text import duration
from pdfqa_core.whole_files import temporary_folder


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    listed = "; ".join(f"{name}: {run_protocols.words(name)}" for name in run_protocols.names())
    command = protocols.add_parser(
        "run",
        help="ask systems the questions, and score their answers",
        description="Put the questions of a file to one or several systems, score the answers, and keep both in the "
        "workspace. Ctrl-C stops; the same command goes on where it stopped, and nothing is asked twice.",
        epilog=f"Protocols: {listed}. {forms()}.",
    )
    command.add_argument("protocol", choices=run_protocols.names(), help="what is asked and measured, see below")
    command.add_argument("--data", type=Path, required=True, metavar="FILE", help="questions with gold answers")
    command.add_argument(
        "--split", default="dev", help="part of a data set of the hub: --data din0s/asqa (default: dev)"
    )
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help=f"which column of a table or of its rows holds {', '.join(field.name for field in FIELDS)} (repeatable)",
    )
    command.add_argument(
        "--unanswerable", type=Path, metavar="FILE", help="more questions, none of which the documents answer"
    )
    command.add_argument(
        "--limit",
        "--max-num-examples",
        type=int,
        default=0,
        help="ask so many questions, drawn with --seed (default: all)",
    )
    command.add_argument(
        "--repeats",
        type=int,
        default=1,
        help="ask systems that sample (--temperature) so often, with --seed and those after it (default: 1)",
    )
    add_profile(command)
    add_trained_on(command)
    command.add_argument("--name", default="", help="the run's name in the list")
    command.add_argument("--new", action="store_true", help="begin a new run even if there is one like it")
    command.add_argument("--retry-failures", action="store_true", help="ask again what failed, and nothing else")
    command.add_argument("--estimate", action="store_true", help="tell what the run would take, and ask nothing")
    command.add_argument("--document", action="append", default=[], metavar="NAME", help="only in this file")
    command.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write the answers of each system and the gold answers, as “evaluate answers” reads them",
    )
    _add_systems(command)
    add_scoring(command)
    add_outputs(command)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval", "conversation", "reading", "llm")
    command.set_defaults(run=run)


def _add_systems(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("systems", "Without any of these: the one that the settings describe.")
    for name, (section, setting) in DIMENSIONS.items():
        group.add_argument(f"--{name}", default="", metavar="A,B", help=f"each value of {section}.{setting}, in a grid")
    group.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="'NAME: SETTING=VALUE …'",
        help="one system, by the settings in which it differs; repeatable",
    )
    group.add_argument("--systems", type=Path, metavar="FILE.toml", help="more systems: [name.retrieval] settings …")
    said = "; ".join(f"{name}: {words}" for name, words in EVIDENCE.items())
    group.add_argument(
        "--evidence",
        default="",
        metavar="A,B",
        help=f"what a system may read, each a system of its own. {said} (default: as suits protocol and file)",
    )
    group.add_argument(
        "--history",
        default="",
        metavar="A,B",
        help=f"whose answers stand in the conversation so far: {GOLD}, {PREDICTED} (default: {GOLD})",
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A finished run."""

    run: Run
    evaluation: Evaluation
    predictions: Mapping[tuple[str, str], Prediction]
    files: Mapping[str, bytes]


def run(arguments: argparse.Namespace) -> int:
    """Run, go on, or show what is done; print the table."""
    if arguments.limit < 0:
        raise UsageError(f"--limit is {arguments.limit}.", "Give a number of questions, or leave it out for all.")
    settings = settings_of(arguments)
    systems = _systems(arguments, profile_named(arguments.profile).set_in(settings))
    opened = Services.open(workspace_of(arguments), settings)
    with temporary_folder() as folder, opened as services, stopping(services):
        arguments.data = _data(arguments, folder)
        begun, takes = _begun(arguments, services, _request(arguments, services, systems))
        if arguments.estimate:
            return terminal.told(arguments, {"estimate": plain(takes)}, _said_of(takes))
        if not arguments.json:
            print(_said_of(takes), flush=True)
        found = _done(arguments, services, begun)
    for name, data in found.files.items():
        write_file(arguments.out / name, data)
    groups = groups_of(found.evaluation, arguments.baseline)
    means = means_of(found.evaluation, groups)
    above = [means.pop(TURN)] if TURN in means and found.evaluation.protocol == "conversations" else []
    return finish(
        arguments,
        found.evaluation,
        first=above,
        said=[*means.values(), *_said(found)],
        more=lambda results: with_answers(results, found.run.id, found.predictions, groups),
    )


def _data(arguments: argparse.Namespace, folder: Path) -> Path:
    """Return the file of questions; with --column a copy in `folder` with its columns renamed.

    Of a data set of the hub it is a split. Raises UsageError.
    """
    path: Path = arguments.data
    if is_hub_name(path):
        path = fetched(path.as_posix(), arguments.split, folder)
    if not arguments.column:
        return path
    chosen = guessed(columns_of(path))
    for text in arguments.column:
        field, equals, column = text.partition("=")
        if not equals:
            raise UsageError(f"--column {text!r} is no choice.", "Write FIELD=COLUMN, such as question=Frage.")
        chosen[field.strip()] = column.strip()
    renamed = folder / path.name
    write_file(renamed, mapped(path, chosen))
    return renamed


def _begun(arguments: argparse.Namespace, services: Services, request: RunRequest) -> tuple[Run, RunEstimate]:
    """Return the run and what it takes; with --estimate none is left behind that was not there before."""
    known = {one.id for one in services.evaluation.list_runs(LOCAL_OWNER)}
    begun = services.evaluation.begin(LOCAL_OWNER, request, anew=arguments.new)
    try:
        return begun, services.evaluation.estimate(LOCAL_OWNER, begun)
    finally:
        if arguments.estimate and begun.id not in known:
            services.evaluation.remove_run(LOCAL_OWNER, begun.id)


def _said_of(takes: RunEstimate) -> str:
    total = takes.questions * takes.systems
    asked = f"{takes.questions} questions × {takes.systems} systems" if takes.systems > 1 else f"{total} questions"
    done = f", {total - takes.open} answered" if takes.open < total else ""
    time = f"about {duration(takes.seconds)}" if takes.seconds is not None else "no earlier run tells how long"
    size = ""
    if takes.memory is not None:
        size = f", about {takes.memory / 1e9:.1f} GB of memory for the model ({takes.free / 1e9:.1f} GB are free)"
    if not takes.open:
        return f"{asked}{done}."
    return f"{asked}{done}: {time}{size}. Ctrl-C stops it; the same command goes on."


def _done(arguments: argparse.Namespace, services: Services, begun: Run) -> _Found:
    try:
        evaluation = terminal.last(services.evaluation.go(LOCAL_OWNER, begun.id, retry=arguments.retry_failures))
    except StoppedError as error:
        raise StoppedError(f"{error.what} The same command goes on.") from error
    predictions = services.evaluation.runs.predictions(LOCAL_OWNER, begun.id)
    files: Mapping[str, bytes] = {}
    if arguments.out:
        files = answer_files(begun, services.evaluation.cases(LOCAL_OWNER, begun.plan), predictions)
    return _Found(begun, evaluation, predictions, files)


def _systems(arguments: argparse.Namespace, settings: Settings) -> dict[str, Settings]:
    """Return the systems of the call by name. Raises UsageError."""
    choices = {name: listed(getattr(arguments, name)) for name in DIMENSIONS}
    others = dict(system_of(text, settings) for text in arguments.system)
    if arguments.systems:
        others |= read_systems(arguments.systems, settings)
    return {**(run_grid(settings, choices) if any(choices.values()) or not others else {}), **others}


def _request(arguments: argparse.Namespace, services: Services, systems: dict[str, Settings]) -> RunRequest:
    return RunRequest(
        arguments.protocol,
        arguments.data,
        systems,
        tuple(listed(arguments.evidence)),
        tuple(listed(arguments.history)),
        arguments.limit,
        getattr(arguments, "llm.seed") or 0,
        arguments.profile,
        arguments.name,
        arguments.unanswerable,
        scoring_options(arguments) | ({TRAINED_ON: YES} if arguments.trained_on else {}),
        services.documents.document_ids(LOCAL_OWNER, arguments.document),
        arguments.repeats,
    )


def _said(found: _Found) -> list[str]:
    """Return what stands below the means: how far repeats lie apart, what failed, and the run's id."""
    said = []
    if found_spreads := spreads(found.evaluation):
        lines = [f"  {one.system}, {measure_of(one.measure).pretty_name}: {spread_text(one)}" for one in found_spreads]
        said.append("\n".join(["Over the seeds (mean ± standard deviation of the repeats)", *lines]))
    failed = [(name, one) for (name, _), one in found.predictions.items() if one.failed]
    if failed:
        lines = [f"  {one.item_id} ({name}): {one.error}" for name, one in failed[:20]]
        more = [f"  and {len(failed) - 20} more"] if len(failed) > 20 else []
        said.append("\n".join(["Failed (again with --retry-failures):", *lines, *more]))
    said.append(f"run {found.run.id}: {found.run.name}")
    return said
