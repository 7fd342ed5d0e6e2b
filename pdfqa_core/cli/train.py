"""`pdfqa train`: fine-tunes a retriever on the accepted questions of one's own documents.

A run that was stopped goes on where it ended when the same command is given again. It says first how long it will take.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import (
    add_common,
    add_questions,
    add_settings,
    scope_of,
    settings_of,
    workspace_of,
    write_file,
)
from pdfqa_core.cli.terminal import stopping
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.evaluation_files import TRIPLES
from pdfqa_core.metrics.statistics import Summary
from pdfqa_core.models import TrainedModel
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.training import Prepared, TrainingPlan, compared_on
from pdfqa_core.settings import Settings
from pdfqa_core.streaming import result_of
from pdfqa_core.text import duration
from pdfqa_core.training import (
    KINDS,
    Keep,
    Precision,
    RoundRecord,
    Scored,
    Similarity,
    Step,
    TrainingSettings,
    said,
)
from pdfqa_core.types import Progress

Row = tuple[Summary, Summary, Summary]

_NUMBERS: Mapping[str, tuple[str, type, str]] = {  # option: (field of TrainingSettings, type, help)
    "steps": ("steps", int, "steps of each of the two rounds"),
    "batch": ("batch", int, "questions of a step; the passages of the others are in-batch negatives"),
    "hard-negatives": ("hard_negatives", int, "hard negatives of each question in a step"),
    "learning-rate": ("learning_rate", float, "highest learning rate of AdamW"),
    "warm-up": ("warm_up", float, "share of the steps in which the learning rate rises"),
    "scale": ("scale", float, "factor of scores before the softmax; 0: 20 for cosines of texts, 1 for others"),
    "chunk": ("chunk", int, "texts computed at once; fewer take less memory and more time"),
    "evaluate-every": ("evaluate_every", int, "steps between two scorings of held-out questions"),
    "patience": ("patience", int, "scorings without a better one after which a round ends; 0: never"),
    "seed": ("seed", int, "draws the held-out documents and the batches"),
}
_CHOICES: Mapping[str, tuple[Any, str]] = {  # field of TrainingSettings: values, help
    "precision": (
        Precision, "bf16 computes with 16 bits and is slow where the processor has none; auto takes it where it has"
    ),
    "similarity": (
        Similarity, "what a bi-encoder compares by, in search too; dot: inner products, which dpr always takes"
    ),
    "keep": (
        Keep, "the weights that scored best on held-out questions, or the last ones, as with --held-out 0"
    ),
}  # fmt: skip


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    plan, usual = TrainingPlan(), TrainingSettings()
    command = subparsers.add_parser("train", help="fine-tune a retriever on one's own documents", description=__doc__)
    command.add_argument(
        "--kind",
        choices=KINDS,
        default=plan.kind,
        help="one vector a text, two such encoders (one of questions, one of passages), or one vector a token "
        f"(default: {plan.kind})",
    )
    command.add_argument("--name", default="", help="of the model to be (default: my-KIND, the first free one)")
    command.add_argument(
        "--base",
        default="",
        metavar="MODEL",
        help="folder, hub name or name of the model to start from (default: what the settings name)",
    )
    for option, (name, kind, text) in _NUMBERS.items():
        command.add_argument(
            f"--{option}",
            type=kind,
            default=getattr(usual, name),
            metavar="N",
            help=f"{text} (default: {getattr(usual, name):g})",
        )
    for name, (values, text) in _CHOICES.items():
        usually = getattr(usual, name)
        command.add_argument(
            f"--{name}", choices=get_args(values), default=usually, help=f"{text} (default: {usually})"
        )
    command.add_argument(
        "--among",
        type=int,
        default=plan.k,
        metavar="N",
        help="hard negatives are of the retriever's first N hits; a question whose passage neither the new model nor "
        f"the retriever has among its first N is dropped after a round (default: {plan.k})",
    )
    command.add_argument(
        "--margin",
        type=float,
        default=plan.margin,
        metavar="SHARE",
        help="a hit that scores above this share of the right passage's score is no negative; 0: all are "
        f"(default: {plan.margin:g})",
    )
    command.add_argument(
        "--held-out",
        type=float,
        default=plan.held_out,
        metavar="SHARE",
        help=f"share of the questions whose documents are held out; 0: none (default: {plan.held_out:g})",
    )
    command.add_argument("--unreviewed", action="store_true", help="train with questions that nobody has reviewed too")
    command.add_argument("--device", default="", help="cpu, cuda, … (default: a GPU where there is one)")
    command.add_argument("--restart", action="store_true", help="forget a run of this name that was stopped")
    command.add_argument("--estimate", action="store_true", help="tell what training would take, and train nothing")
    command.add_argument(
        "--triples",
        type=Path,
        metavar="FILE",
        help="write the triples (question, right passage, hard negative) as .tsv (MS MARCO's form) or .jsonl, and "
        "train nothing",
    )
    command.add_argument(
        "--evaluate",
        type=Path,
        metavar="FILE",
        help="score the model before and after on these questions too; none may be made of what it was trained on",
    )
    add_questions(command)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, tell what happens, and print what came of it."""
    settings = settings_of(arguments)
    gold = read_gold(arguments.evaluate) if arguments.evaluate else None
    prepared: Prepared | None = None
    model: TrainedModel | None = None
    evaluated: dict[str, Row] = {}
    with Services.open(workspace_of(arguments), settings) as services, stopping(services):
        plan = _plan(services, arguments, settings)
        if arguments.triples:
            return _triples(services, arguments, plan, settings)
        asked = services.evaluation.gold(LOCAL_OWNER, gold, settings, plan.document_ids).items if gold else ()
        for event in services.training.train(LOCAL_OWNER, plan, settings, asked, only_prepare=arguments.estimate):
            if isinstance(event, Prepared):
                prepared = event
            elif isinstance(event, TrainedModel):
                model = event
            _show(event, quiet=arguments.json)
        if model is not None and gold is not None:
            systems = services.training.systems(model, settings)
            measuring = services.evaluation.evaluate_retrieval(
                LOCAL_OWNER, gold, systems, document_ids=plan.document_ids
            )
            evaluated = compared_on(terminal.last(measuring))
            model = services.training.note_people(model, gold.name, evaluated)
    terminal.clear()
    said_last = [_said(model, evaluated)] if model is not None else []
    return terminal.told(arguments, _object(prepared, model, evaluated), *said_last)


def _triples(services: Services, arguments: argparse.Namespace, plan: TrainingPlan, settings: Settings) -> int:
    """Write the triples that training would begin with. Raises UsageError for another kind of file."""
    write = TRIPLES.get(arguments.triples.suffix.lower())
    if write is None:
        raise UsageError(f"{arguments.triples.name}: triples end in .tsv or .jsonl.", "Give it another name.")
    found = result_of(services.training.triples(LOCAL_OWNER, plan, settings), terminal.show)
    terminal.clear()
    write_file(arguments.triples, write(found))
    said = {"triples": len(found), "file": str(arguments.triples)}
    return terminal.told(arguments, said, f"{len(found)} triples in {arguments.triples}")


def _plan(services: Services, arguments: argparse.Namespace, settings: Settings) -> TrainingPlan:
    scope = services.documents.collections.searched(LOCAL_OWNER, scope_of(services, arguments)).document_ids
    numbers = {name: getattr(arguments, option.replace("-", "_")) for option, (name, _, _) in _NUMBERS.items()}
    chosen = {name: getattr(arguments, name) for name in _CHOICES}
    return TrainingPlan(
        arguments.kind,
        arguments.name,
        arguments.base,
        TrainingSettings(**numbers, **chosen, k=settings.retrieval.k),
        arguments.among,
        arguments.margin,
        arguments.held_out,
        arguments.unreviewed,
        arguments.restart,
        arguments.device,
        tuple(scope),
    )


def _show(event: object, *, quiet: bool) -> None:
    """Show what happens: on a terminal a line that changes, and what stays where no JSON is wanted."""
    if isinstance(event, Progress):
        terminal.show(event)
    elif isinstance(event, Step):
        left = (event.steps - event.step) * event.seconds
        terminal.show(Progress(f"round {event.round}, loss {event.loss:.3f}, step", event.step, event.steps, left))
    elif not quiet:
        terminal.clear()
        if isinstance(event, Prepared):
            print(_prepared(event))
        elif isinstance(event, Scored):
            loss = "" if event.loss is None else f", loss {event.loss:.3f}"
            scores = f"HR@k {event.hit_rate:.3f}, MRR {event.mrr:.3f}{loss}"
            print(f"round {event.round}, step {event.step}: {scores}")
        elif isinstance(event, RoundRecord):
            print(
                f"round {event.round} ended after {event.steps} steps: {event.kept} of {event.questions} questions "
                f"kept ({event.found_by_new} found by the new model, {event.found_by_old} by the old one)"
            )


def _prepared(event: Prepared) -> str:
    found = event.estimate
    counts = f"{event.questions} questions to train on with {event.negatives} hard negatives, {event.held_out} held out"
    sizes = f"{found.memory / 1e9:.1f} GB of memory and {found.disk / 1e9:.1f} GB of disk"
    time = f"At most {duration(found.seconds)}, {sizes}. Ctrl-C stops it; the same command goes on from there."
    return "\n".join([f"{event.name}: {counts}; {event.passages} passages", time, *event.notes])


def _object(prepared: Prepared | None, model: TrainedModel | None, evaluated: Mapping[str, Row]) -> dict[str, Any]:
    assert prepared is not None
    told = {
        "name": prepared.name,
        "questions": prepared.questions,
        "held_out": prepared.held_out,
        "passages": prepared.passages,
        "negatives": prepared.negatives,
        "estimate": asdict(prepared.estimate),
        "notes": list(prepared.notes),
    }
    if model is None:
        return told
    record = model.record
    return told | {
        "model": {"name": model.name, "kind": record.kind, "path": model.path, "setting": model.setting},
        "rounds": [asdict(one) for one in record.rounds],
        "losses": [loss for _, _, loss in record.losses],
        "scores": {name: asdict(one) for name, one in record.compared.items()},
        "helped": record.helped,
        "warning": record.warning,
        "seconds": round(record.seconds, 1),
        "evaluated": {
            name: dict(zip(("before", "after", "difference"), map(asdict, row), strict=True))
            for name, row in evaluated.items()
        },
    }


def _said(model: TrainedModel, evaluated: Mapping[str, Row]) -> str:
    record = model.record
    rows = {name: (one.before, one.after, one.difference) for name, one in record.compared.items()}
    lines = [f"{model.name} lies in {model.path}"]
    if rows:
        lines += [f"{record.held_out} held-out questions:", *_table(rows)]
    if evaluated:
        lines += ["questions of the file:", *_table(evaluated)]
    lines += [record.verdict] if record.warning or not rows else []
    return "\n".join([*lines, f"Use it with --{model.setting.replace('_', '-')} {model.name}"])


def _table(rows: Mapping[str, Row]) -> list[str]:
    return [
        f"  {name}: {said(before)} before, {said(after)} after, difference {said(difference, sign=True)}"
        for name, (before, after, difference) in rows.items()
    ]
