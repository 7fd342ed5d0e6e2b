"""Retrievers fine-tuned on questions that were made of PDFs: what they find before and after.

The way of the program: PDFs are read, questions are made of passages, models are trained on those that a search finds
again. Sets (--set):
  northwind  six PDFs; questions by rules, or by the language model with --kind zero-shot. Measured on the 50 questions
             of people, none of which was trained on: as the program shows hits, by passage, and one passage a page.
  filings    rows of tables of four 10-Q filings, by rules ("What was Net sales for Three Months Ended …?"). Measured on
             questions about whole filings that were held out; their rows are those of the filings trained on, with
             other figures and dates.
All means have 95 % intervals, differences are paired. Baseline: the same recipe with the model that training started
from; last the ratio to it of the model alone, MRR (filings: HR@5).

    python benchmarks/train.py [--quick] [--set NAME] [--kind rules zero-shot] [--models bi-encoder] [--steps N]
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from common import options, row, there, workspace

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.models import TrainedModel
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.synthesis import SynthesisPlan, SynthesisResult
from pdfqa_core.services.training import Prepared, TrainingPlan
from pdfqa_core.settings import Settings
from pdfqa_core.storage.records import Outcome
from pdfqa_core.synthesis import RULES, ZERO_SHOT, of_rows
from pdfqa_core.training import BI_ENCODER, KINDS, LATE_INTERACTION, Precision, Scored, TrainingSettings, said

FOLDERS = {"northwind": "northwind", "filings": "aapl_10q"}
PER_PASSAGE = {"northwind": 2, "filings": 4}  # questions
MEASURES = ("MRR", "HR@1", "HR@3", "HR@5")
BEFORE, AFTER = ", before", ", after"
FORMS: Mapping[str, Mapping[str, dict[str, str]]] = {
    BI_ENCODER: {"dense": {"retriever": "dense"}, "hybrid": {"retriever": "hybrid"}},
    LATE_INTERACTION: {
        "late interaction": {"retriever": "late_interaction"},
        "late, of hybrid": {"retriever": "late_interaction", "first_stage": "hybrid"},
    },
}  # what a model is measured in: settings of retrieval by name, the model alone first
WAYS: Mapping[str, Mapping[str, Any]] = {
    "": {},  # as the program shows them: overlapping passages as one
    ", by passage": {"merge_overlaps": False, "per_page": 0},
    ", one a page": {"merge_overlaps": False, "per_page": 1},
}  # how hits are counted
QUICK = TrainingSettings(steps=2, batch=4, chunk=4, evaluate_every=2)


def rows_alone(services: Services, settings: Settings) -> None:
    """Leave out the questions that are not about a row of a table."""
    passages = {one.id: one for one in services.index.passages(LOCAL_OWNER, settings)}
    for question in services.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW]):
        passage = passages.get(question.passage_id)
        if passage is None or question.text not in of_rows(passage):
            services.training.synthesis.kept.decide(LOCAL_OWNER, question.id, Outcome.REJECTED)


def trained(services: Services, settings: Settings, plan: TrainingPlan) -> TrainedModel:
    """Return a model, telling how its training goes and what it is worth on held-out questions."""
    began = time.monotonic()
    for event in services.training.train(LOCAL_OWNER, plan, settings):
        minutes = (time.monotonic() - began) / 60
        if isinstance(event, Prepared):
            print(f"{plan.kind}: {event.questions} questions, {event.held_out} held out", flush=True)
        elif isinstance(event, Scored):
            print(
                f"  {minutes:.1f} min, round {event.round}, step {event.step}: held-out MRR {event.mrr:.3f}", flush=True
            )
        elif isinstance(event, TrainedModel):
            print(f"  {event.record.warning or 'training helped on held-out questions'}")
            for name, one in event.record.compared.items():
                row(f"  held out, {name}", said(one.before), said(one.after), said(one.difference, sign=True), width=26)
            return event
    raise SystemExit("Training ended without a model.")


def scored(services: Services, settings: Settings, model: TrainedModel, questions: Path) -> float:
    """Print what people's questions find before and after, and return MRR after / before of the model alone."""
    settings = settings.changed("retrieval", embedding_precision="exact")  # both alike, however fast each is here
    forms = FORMS[model.record.kind]
    alone, others = next(iter(forms)), ("bm25",) if model.record.kind == BI_ENCODER else ("bm25", "dense")
    recipes, pairs = {}, []
    for way, counted in WAYS.items():
        for other in others:
            recipes[other + way] = settings.changed("retrieval", retriever=other, **counted)
        for form, values in forms.items():
            for when, name in ((BEFORE, ""), (AFTER, model.name)):
                changes = {**values, **counted, model.setting: name}
                recipes[form + way + when] = settings.changed("retrieval", **changes)
            pairs.append((form + way + BEFORE, form + way + AFTER))
        pairs += [(other + way, alone + way + AFTER) for other in others]
    events = services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(questions), recipes)
    evaluation = next(event for event in events if isinstance(event, Evaluation))
    row("", "before, or the other", "after", "difference", first=64, width=26)
    for first, second in pairs:
        cells = compare(evaluation, measures=MEASURES, baseline=first).cells
        for measure in MEASURES:
            gained = cells[second][measure].difference
            shown = [said(cells[one][measure].summary) for one in (first, second)]
            row(
                f"  {second} | {first} {measure}", *shown, said(gained, sign=True) if gained else "", first=64, width=26
            )
    cells = compare(evaluation, measures=MEASURES, baseline=alone + BEFORE).cells
    return (cells[alone + AFTER]["MRR"].summary.mean or 0.0) / (cells[alone + BEFORE]["MRR"].summary.mean or 1.0)


def main() -> None:
    usual = TrainingSettings()
    parser = options(__doc__, quick="a few steps on little data, which teach nothing: some minutes")
    parser.add_argument("--set", choices=FOLDERS, default="northwind")
    parser.add_argument("--kind", nargs="+", choices=(RULES, ZERO_SHOT), default=[RULES], help="how questions are made")
    parser.add_argument("--models", nargs="+", choices=KINDS, default=KINDS, help="kinds of model to train")
    parser.add_argument("--steps", type=int, default=usual.steps, help="of each round")
    parser.add_argument("--precision", choices=get_args(Precision), default=usual.precision)
    parser.add_argument("--per-document", type=int, default=0, help="passages questions are made of, 0: all")
    parser.add_argument("--workspace", type=Path, help="folder that keeps documents and questions for the next run")
    chosen = parser.parse_args()
    folder, settings = chosen.data / FOLDERS[chosen.set], Settings()
    there(folder)
    files, training = sorted(folder.glob("*.pdf")), TrainingSettings(steps=chosen.steps, precision=chosen.precision)
    if chosen.quick:
        files, training, chosen.kind, chosen.per_document = files[:2], QUICK, [RULES], 15
        settings = settings.changed("retrieval", retriever="bm25")
    ratios = {}
    with workspace(settings, files, chosen.workspace) as services:
        for kind in chosen.kind:
            plan = SynthesisPlan(kind, chosen.per_document, PER_PASSAGE[chosen.set])
            for event in services.training.synthesis.make(LOCAL_OWNER, plan, settings):
                if isinstance(event, SynthesisResult):
                    print(f"{kind}: {event.passages} passages, questions {dict(event.outcomes)}", flush=True)
        if chosen.set == "filings":
            rows_alone(services, settings)
        for kind in chosen.models:
            name = f"benchmark-{chosen.set}-{kind}"
            if any(known.name == name for known in services.models.files.encoders.trained()):
                services.models.files.encoders.remove(name)
            asked = TrainingPlan(kind, name, settings=training, unreviewed=True, restart=True)
            model = trained(services, settings, asked)
            held = model.record.compared["HR@5"]
            ratios[kind] = (held.after.mean or 0.0) / (held.before.mean or 1.0)
            if chosen.set == "northwind" and not chosen.quick:
                ratios[kind] = scored(services, settings, model, folder / "questions_50.jsonl")
            services.models.files.encoders.remove(model.name)
    for kind, ratio in ratios.items():
        print(f"the fine-tuned / the untouched model, {kind}, alone: {ratio:.2f}")


if __name__ == "__main__":
    main()
