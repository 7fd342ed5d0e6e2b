"""Retrievers fine-tuned on questions made of the Northwind PDFs: MRR and HR@k on questions of people, before and after.

The way of the program: PDFs are read, questions are made of passages (by rules, or by the language model with --kind
zero-shot), models are trained on those that a search finds again, and measured on questions_50.jsonl with 95 %
intervals. Baseline: the same recipe with the model that training started from.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from northwind import arguments, check

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.models import TrainedModel
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.synthesis import SynthesisPlan, SynthesisResult
from pdfqa_core.services.training import Prepared, TrainingPlan
from pdfqa_core.settings import Settings
from pdfqa_core.synthesis import RULES, ZERO_SHOT
from pdfqa_core.training import BI_ENCODER, KINDS, LATE_INTERACTION, RoundRecord, Scored, TrainingSettings, said

MEASURES = ("MRR", "HR@1", "HR@3", "HR@5")
QUICK_FILES = ("PerksPlus.pdf", "Benefit_Options.pdf", "employee_handbook.pdf")
QUICK = TrainingSettings(steps=2, batch=4, chunk=4, evaluate_every=2)


def made(services: Services, settings: Settings, kind: str, per_document: int, per_passage: int) -> None:
    """Make the questions and say how many are left."""
    plan = SynthesisPlan(kind, per_document, per_passage)
    for event in services.synthesis.make(LOCAL_OWNER, plan, settings):
        if isinstance(event, SynthesisResult):
            print(f"{event.passages} passages, questions: {dict(event.outcomes)}; dropped: {dict(event.reasons)}")


def trained(services: Services, settings: Settings, plan: TrainingPlan) -> TrainedModel:
    """Train a model, telling what happens."""
    began = time.monotonic()
    for event in services.training.train(LOCAL_OWNER, plan, settings):
        if isinstance(event, Prepared):
            found = event.estimate
            print(f"{plan.kind}: {event.questions} questions, {event.negatives} hard negatives, {event.held_out} held "
                  f"out; at most {found.seconds / 60:.0f} minutes, {found.memory / 1e9:.1f} GB expected")  # fmt: skip
            print("\n".join(event.notes))
        elif isinstance(event, Scored):
            minutes = (time.monotonic() - began) / 60
            print(f"  {minutes:5.1f} min  round {event.round} step {event.step:>3}: "
                  f"held-out HR@5 {event.hit_rate:.3f}, MRR {event.mrr:.3f}", flush=True)  # fmt: skip
        elif isinstance(event, RoundRecord):
            print(f"  round {event.round}: {event.kept} of {event.questions} questions kept")
        elif isinstance(event, TrainedModel):
            return event
    raise SystemExit("Training ended without a model.")


def systems(kind: str, setting: str, name: str) -> dict[str, dict[str, str]]:
    """Return what is compared: settings of retrieval by name, those before first."""
    forms: dict[str, dict[str, str]] = (
        {"dense": {"retriever": "dense"}, "hybrid": {"retriever": "hybrid"}}
        if kind == BI_ENCODER
        else {
            "late interaction": {"retriever": "late_interaction"},
            "late, of hybrid": {"retriever": "late_interaction", "first_stage": "hybrid"},
        }
    )
    return {
        f"{form}, {when}": {**values, setting: model}
        for form, values in forms.items()
        for when, model in (("before", ""), ("after", name))
    }


def scored(services: Services, settings: Settings, model: TrainedModel, data: Path, forms: list[str]) -> float:
    """Print the scores before and after, and return MRR after / before of the first of `forms`."""
    chosen = systems(model.record.kind, model.setting, model.name)
    recipes = {name: settings.changed("retrieval", **values) for name, values in chosen.items()}
    gold = read_gold(data / "questions_50.jsonl")
    (evaluation,) = [
        event
        for event in services.evaluation.evaluate_retrieval(LOCAL_OWNER, gold, recipes)
        if isinstance(event, Evaluation)
    ]
    ratio = 0.0
    for form in forms:
        cells = compare(evaluation, measures=MEASURES, baseline=f"{form}, before").cells
        for measure in MEASURES:
            before, after = cells[f"{form}, before"][measure].summary, cells[f"{form}, after"][measure]
            assert after.difference is not None
            gain = said(after.difference, sign=True)
            print(f"  {form:<16} {measure:<5} {said(before)} -> {said(after.summary)}, difference {gain}")
        if form == forms[0]:
            old, new = (cells[f"{form}, {when}"]["MRR"].summary.mean for when in ("before", "after"))
            ratio = (new or 0.0) / (old or 1.0)
    return ratio


def held_out(model: TrainedModel) -> float:
    """Print the scores on held-out questions, and return MRR after / before."""
    for name, one in model.record.compared.items():
        print(f"  held out         {name:<5} {said(one.before)} -> {said(one.after)}, "
              f"difference {said(one.difference, sign=True)}")  # fmt: skip
    found = model.record.compared["MRR"]
    return (found.after.mean or 0.0) / (found.before.mean or 1.0)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=(RULES, ZERO_SHOT), default=RULES, help="how questions are made")
    parser.add_argument("--models", nargs="+", choices=KINDS, default=KINDS, help="kinds of model to train")
    parser.add_argument("--steps", type=int, default=TrainingSettings().steps, help="of each round")
    parser.add_argument("--per-document", type=int, default=0, help="passages questions are made of, 0: all")
    parser.add_argument("--per-passage", type=int, default=2, help="questions of each")
    options = parser.parse_args()
    check(options.data)
    training, kinds = TrainingSettings(steps=options.steps), tuple(options.models)
    settings = Settings()
    forms = {BI_ENCODER: ["dense", "hybrid"], LATE_INTERACTION: ["late interaction", "late, of hybrid"]}
    if options.quick:
        print(f"--quick: {', '.join(QUICK_FILES)} and {2 * QUICK.steps} steps, on held-out questions:")
        print("too few to learn anything")
        training = QUICK
        settings = settings.changed("retrieval", retriever="bm25")
    ratios = {}
    with tempfile.TemporaryDirectory() as folder, Services.open(Path(folder), settings) as services:
        files = sorted(options.data.glob("*.pdf"))
        chosen = [file for file in files if not options.quick or file.name in QUICK_FILES]
        for _ in services.documents.ingest(LOCAL_OWNER, chosen):
            pass
        kind, per_document = (RULES, 15) if options.quick else (options.kind, options.per_document)
        made(services, settings, kind, per_document, options.per_passage)
        for one in kinds:
            name = f"northwind-benchmark-{one}"
            if any(known.name == name for known in services.training.list()):
                services.models.files.encoders.remove(name)
            model = trained(
                services, settings, TrainingPlan(one, name, settings=training, unreviewed=True, restart=True)
            )
            try:
                print(f"{model.name}: {model.record.warning or 'training helped on held-out questions'}")
                ratios[one] = (
                    held_out(model) if options.quick else scored(services, settings, model, options.data, forms[one])
                )
            finally:
                services.models.files.encoders.remove(name)
    for one, ratio in ratios.items():
        print(f"MRR of the fine-tuned / the untouched {one} model, alone: {ratio:.2f}")


if __name__ == "__main__":
    main()
