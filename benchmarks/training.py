"""What the scripts that train retrievers share: their options, making questions, and telling how a training goes."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from northwind import arguments

from pdfqa_core.models import TrainedModel
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.synthesis import SynthesisPlan, SynthesisResult
from pdfqa_core.services.training import Prepared, TrainingPlan
from pdfqa_core.settings import Settings
from pdfqa_core.training import (
    BI_ENCODER,
    KINDS,
    LATE_INTERACTION,
    Precision,
    RoundRecord,
    Scored,
    TrainingSettings,
    said,
)

FORMS: Mapping[str, Mapping[str, dict[str, str]]] = {
    BI_ENCODER: {"dense": {"retriever": "dense"}, "hybrid": {"retriever": "hybrid"}},
    LATE_INTERACTION: {
        "late interaction": {"retriever": "late_interaction"},
        "late, of hybrid": {"retriever": "late_interaction", "first_stage": "hybrid"},
    },
}  # what a model is measured in: settings of retrieval by name, the model alone first
QUICK = TrainingSettings(steps=2, batch=4, chunk=4, evaluate_every=2)


def options(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all trainings."""
    usual = TrainingSettings()
    parser = arguments(description, quick="a few steps on little data, which teach nothing: some minutes")
    parser.add_argument("--models", nargs="+", choices=KINDS, default=KINDS, help="kinds of model to train")
    parser.add_argument("--steps", type=int, default=usual.steps, help="of each round")
    parser.add_argument("--learning-rate", type=float, default=usual.learning_rate)
    parser.add_argument("--precision", choices=get_args(Precision), default=usual.precision)
    return parser


def options_of_pdfs(description: str, *, per_passage: int) -> argparse.ArgumentParser:
    """Return a parser with the options of trainings on questions made of PDFs."""
    parser = options(description)
    parser.add_argument("--per-document", type=int, default=0, help="passages questions are made of, 0: all")
    parser.add_argument("--per-passage", type=int, default=per_passage, help="questions of each")
    parser.add_argument("--workspace", type=Path, help="folder that keeps documents and questions for the next run")
    return parser


def settings_of(chosen: argparse.Namespace) -> TrainingSettings:
    """Return how a model is trained."""
    precision: Precision = chosen.precision
    return TrainingSettings(steps=chosen.steps, learning_rate=chosen.learning_rate, precision=precision)


@contextmanager
def opened(chosen: argparse.Namespace, settings: Settings, files: list[Path]) -> Iterator[Services]:
    """Open the workspace of the options, or one for this run alone, with the files read."""
    with tempfile.TemporaryDirectory() as folder, Services.open(chosen.workspace or Path(folder), settings) as services:
        there = {one.filename for one in services.documents.list(LOCAL_OWNER)}
        for _ in services.documents.ingest(LOCAL_OWNER, [file for file in files if file.name not in there]):
            pass
        yield services


def made(services: Services, settings: Settings, plan: SynthesisPlan) -> None:
    """Make the questions and say how many are left."""
    began = time.monotonic()
    for event in services.synthesis.make(LOCAL_OWNER, plan, settings):
        if isinstance(event, SynthesisResult):
            minutes = (time.monotonic() - began) / 60
            print(f"{plan.kind}: {event.passages} passages ({event.done_before} done before), {minutes:.1f} min; "
                  f"questions: {dict(event.outcomes)}; dropped: {dict(event.reasons)}", flush=True)  # fmt: skip


def told(name: str, events: Iterator[object], began: float) -> TrainedModel | None:
    """Tell what happens in a training; return the model that comes of it."""
    for event in events:
        if isinstance(event, Prepared):
            found = event.estimate
            print(f"{name}: {event.questions} questions, {event.negatives} hard negatives, {event.held_out} held "
                  f"out; at most {found.seconds / 60:.0f} minutes, {found.memory / 1e9:.1f} GB expected")  # fmt: skip
            print("\n".join(event.notes))
        elif isinstance(event, Scored):
            minutes = (time.monotonic() - began) / 60
            print(f"  {minutes:5.1f} min  round {event.round} step {event.step:>3}: held-out HR@5 "
                  f"{event.hit_rate:.3f}, MRR {event.mrr:.3f}, loss {event.loss or 0:.3f}", flush=True)  # fmt: skip
        elif isinstance(event, RoundRecord):
            print(f"  round {event.round}: {event.kept} of {event.questions} questions kept")
        elif isinstance(event, TrainedModel):
            return event
    return None


@contextmanager
def trained(
    services: Services, settings: Settings, plan: TrainingPlan, *, keep: bool = False
) -> Iterator[TrainedModel]:
    """Train a model, telling what happens; it is deleted behind unless it is to be kept."""
    if any(known.name == plan.name for known in services.training.list()):
        services.models.files.encoders.remove(plan.name)
    model = told(plan.kind, services.training.train(LOCAL_OWNER, plan, settings), time.monotonic())
    if model is None:
        raise SystemExit("Training ended without a model.")
    try:
        print(f"{model.name}: {model.record.warning or 'training helped on held-out questions'}")
        yield model
    finally:
        if keep:
            print(f"{model.name} lies in {model.path}")
        else:
            services.models.files.encoders.remove(model.name)


def held_out(model: TrainedModel, measure: str = "MRR") -> float:
    """Print the scores on held-out questions, and return those of a measure after / before."""
    for name, one in model.record.compared.items():
        print(f"  held out         {name:<5} {said(one.before)} -> {said(one.after)}, "
              f"difference {said(one.difference, sign=True)}")  # fmt: skip
    found = model.record.compared[measure]
    return (found.after.mean or 0.0) / (found.before.mean or 1.0)
