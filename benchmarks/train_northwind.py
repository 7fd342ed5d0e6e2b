"""Retrievers fine-tuned on questions made of the Northwind PDFs: MRR and HR@k on questions of people, before and after.

The way of the program: PDFs are read, questions are made of passages (by rules, or by the language model with --kind
zero-shot), models are trained on those that a search finds again, and measured on questions_50.jsonl with 95 %
intervals. Baseline: the same recipe with the model that training started from.
"""

from __future__ import annotations

from pathlib import Path

from northwind import check
from training import FORMS, QUICK, held_out, made, opened, options_of_pdfs, settings_of, trained

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.models import TrainedModel
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import TrainingPlan
from pdfqa_core.settings import Settings
from pdfqa_core.synthesis import RULES, ZERO_SHOT
from pdfqa_core.training import said

MEASURES = ("MRR", "HR@1", "HR@3", "HR@5")
QUICK_FILES = ("PerksPlus.pdf", "Benefit_Options.pdf", "employee_handbook.pdf")


def systems(kind: str, setting: str, name: str) -> dict[str, dict[str, str]]:
    """Return what is compared: settings of retrieval by name, those before first."""
    return {
        f"{form}, {when}": {**values, setting: model}
        for form, values in FORMS[kind].items()
        for when, model in (("before", ""), ("after", name))
    }


def scored(services: Services, settings: Settings, model: TrainedModel, data: Path) -> float:
    """Print the scores before and after, and return MRR after / before of the model alone."""
    forms = list(FORMS[model.record.kind])
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


def main() -> None:
    parser = options_of_pdfs(__doc__.splitlines()[0], per_passage=2)
    parser.add_argument("--kind", nargs="+", choices=(RULES, ZERO_SHOT), default=[RULES], help="how questions are made")
    chosen = parser.parse_args()
    check(chosen.data)
    training, settings = settings_of(chosen), Settings()
    files = sorted(chosen.data.glob("*.pdf"))
    if chosen.quick:
        print(f"--quick: {', '.join(QUICK_FILES)} and {2 * QUICK.steps} steps, on held-out questions:")
        print("too few to learn anything")
        files, training = [file for file in files if file.name in QUICK_FILES], QUICK
        chosen.kind, chosen.per_document = [RULES], 15
        settings = settings.changed("retrieval", retriever="bm25")
    ratios = {}
    with opened(chosen, settings, files) as services:
        for kind in chosen.kind:
            made(services, settings, SynthesisPlan(kind, chosen.per_document, chosen.per_passage))
        for kind in chosen.models:
            plan = TrainingPlan(kind, f"northwind-benchmark-{kind}", settings=training, unreviewed=True, restart=True)
            with trained(services, settings, plan) as model:
                ratios[kind] = held_out(model)
                if not chosen.quick:
                    ratios[kind] = scored(services, settings, model, chosen.data)
    for kind, ratio in ratios.items():
        print(f"MRR of the fine-tuned / the untouched {kind} model, alone: {ratio:.2f}")


if __name__ == "__main__":
    main()
