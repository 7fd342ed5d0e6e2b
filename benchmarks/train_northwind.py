"""Retrievers fine-tuned on questions made of the Northwind PDFs: MRR and HR@k on questions of people, before and after.

The way of the program: PDFs are read, questions are made of passages (by rules, or by the language model with --kind
zero-shot), models are trained on those that a search finds again, and measured on questions_50.jsonl with 95 %
intervals: as the program shows hits, by passage, and with one passage a page, beside BM25. Baseline: the same recipe
with the model that training started from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from pdfqa_core.training import LATE_INTERACTION, RECORD, read_record, said

MEASURES = ("MRR", "HR@1", "HR@3", "HR@5")
BEFORE, AFTER = ", before", ", after"
WAYS: Mapping[str, Mapping[str, Any]] = {
    "": {},  # as the program shows them: overlapping passages as one
    ", by passage": {"merge_overlaps": False, "per_page": 0},
    ", one a page": {"merge_overlaps": False, "per_page": 1},
}  # how hits are counted: settings of retrieval by name
QUICK_FILES = ("PerksPlus.pdf", "Benefit_Options.pdf", "employee_handbook.pdf")


def recipes(settings: Settings, kind: str, setting: str, model: str) -> dict[str, Settings]:
    """Return what is compared, by name: each form of a model and each way to count, before and after; what is without.

    Forms that no model is trained for, BM25 and dense beside late interaction, have one row.
    """
    settings = settings.changed("retrieval", embedding_precision="exact")  # both alike, however fast each is here
    untouched = {"bm25": {"retriever": "bm25"}}
    if kind == LATE_INTERACTION:
        untouched["dense"] = {"retriever": "dense"}
    found = {}
    for way, counted in WAYS.items():
        for form, values in untouched.items():
            found[form + way] = settings.changed("retrieval", **values, **counted)
        for form, values in FORMS[kind].items():
            for when, name in ((BEFORE, ""), (AFTER, model)):
                found[form + way + when] = settings.changed("retrieval", **values, **counted, **{setting: name})
    return found


def scored(services: Services, settings: Settings, kind: str, setting: str, model: str, data: Path) -> float:
    """Print the scores before and after, and return MRR after / before of the model alone."""
    gold = read_gold(data / "questions_50.jsonl")
    chosen = recipes(settings, kind, setting, model)
    evaluation = next(
        event
        for event in services.evaluation.evaluate_retrieval(LOCAL_OWNER, gold, chosen)
        if isinstance(event, Evaluation)
    )
    forms = [name.removesuffix(BEFORE) for name in chosen if not name.endswith(AFTER)]
    for form in forms:
        if form in chosen:
            cells = compare(evaluation, measures=MEASURES, baseline=form).cells[form]
            for measure in MEASURES:
                print(f"  {form:<32} {measure:<5} {said(cells[measure].summary)}")
        else:
            _print_pair(evaluation, form, form + BEFORE, form + AFTER)
    alone = next(iter(FORMS[kind]))
    for other in [form for form in forms if form in chosen]:
        way = next(way for way in reversed(WAYS) if other.endswith(way))
        _print_pair(evaluation, f"{other} | {alone}, tuned", other, alone + way + AFTER)
    cells = compare(evaluation, measures=["MRR"]).cells
    old, new = (cells[alone + when]["MRR"].summary.mean for when in (BEFORE, AFTER))
    return (new or 0.0) / (old or 1.0)


def _print_pair(evaluation: Evaluation, name: str, first: str, second: str) -> None:
    cells = compare(evaluation, measures=MEASURES, baseline=first).cells
    for measure in MEASURES:
        before, after = cells[first][measure].summary, cells[second][measure]
        assert after.difference is not None
        gain = said(after.difference, sign=True)
        print(f"  {name:<32} {measure:<5} {said(before)} -> {said(after.summary)}, difference {gain}")


def measured(services: Services, settings: Settings, folder: Path, data: Path) -> float:
    """Measure a model that was trained before; return MRR after / before of it alone."""
    record = read_record(folder)
    if record is None:
        raise SystemExit(f"{folder} holds no model that was trained here: there is no {RECORD} in it.")
    model = TrainedModel(record.name, str(folder.resolve()), record)
    print(f"{record.name}: {record.warning or 'training helped on held-out questions'}")
    held_out(model)
    return scored(services, settings, record.kind, model.setting, model.path, data)


def main() -> None:
    parser = options_of_pdfs(__doc__.splitlines()[0], per_passage=2)
    parser.add_argument("--kind", nargs="+", choices=(RULES, ZERO_SHOT), default=[RULES], help="how questions are made")
    parser.add_argument("--keep", action="store_true", help="keep the models that are trained")
    parser.add_argument(
        "--measure", nargs="+", type=Path, default=[], metavar="FOLDER",
        help="measure models that were trained before, and train nothing",
    )  # fmt: skip
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
        for folder in chosen.measure:
            ratios[folder.name] = measured(services, settings, folder, chosen.data)
        for kind in [] if chosen.measure else chosen.kind:
            made(services, settings, SynthesisPlan(kind, chosen.per_document, chosen.per_passage))
        for kind in [] if chosen.measure else chosen.models:
            plan = TrainingPlan(kind, f"northwind-benchmark-{kind}", settings=training, unreviewed=True, restart=True)
            with trained(services, settings, plan, keep=chosen.keep) as model:
                ratios[kind] = held_out(model)
                if not chosen.quick:
                    ratios[kind] = scored(services, settings, kind, model.setting, model.name, chosen.data)
    for kind, ratio in ratios.items():
        print(f"MRR of the fine-tuned / the untouched model, {kind}, alone: {ratio:.2f}")


if __name__ == "__main__":
    main()
