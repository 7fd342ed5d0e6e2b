"""Retrievers fine-tuned on questions about rows of tables in quarterly reports: HR@5 and MRR before and after.

Questions are made by rules of the rows of four filings ("What was Net sales for Three Months Ended ...?"); those that a
search finds the passage of are trained on. Whole filings are held out: their questions tell HR@k and MRR with 95 %
intervals. Rows of a filing come again in the next one, so held-out questions are new by their figures and dates, hardly
by their words. Baseline: the model that training started from.
"""

from __future__ import annotations

from northwind import ROOT
from training import QUICK, held_out, made, opened, options_of_pdfs, settings_of, trained

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import TrainingPlan
from pdfqa_core.settings import Settings
from pdfqa_core.storage.records import Outcome
from pdfqa_core.synthesis import RULES, of_rows

DATA = ROOT.parent / "shared" / "data" / "aapl_10q"


def rows_alone(services: Services, settings: Settings) -> None:
    """Leave out the questions that are not about a row of a table."""
    passages = {one.id: one for one in services.indexes.passages(LOCAL_OWNER, settings)}
    left = 0
    for question in services.synthesis.list(LOCAL_OWNER, [Outcome.NEW]):
        passage = passages.get(question.passage_id)
        if passage is None or question.text not in of_rows(passage):
            services.synthesis.decide(LOCAL_OWNER, question.id, Outcome.REJECTED)
        else:
            left += 1
    print(f"{left} of the questions are about rows of tables")


def main() -> None:
    parser = options_of_pdfs(__doc__.splitlines()[0], per_passage=4)
    parser.set_defaults(data=DATA)
    chosen = parser.parse_args()
    files = sorted(chosen.data.glob("*.pdf"))
    if len(files) < 2:
        raise SystemExit(f"There are not two filings in {chosen.data}. Give their folder with --data.")
    training, settings = settings_of(chosen), Settings()
    if chosen.quick:
        print(f"--quick: two filings and {2 * QUICK.steps} steps: too few to learn anything")
        files, training, chosen.per_document = files[:2], QUICK, 15
        settings = settings.changed("retrieval", retriever="bm25")
    ratios = {}
    with opened(chosen, settings, files) as services:
        made(services, settings, SynthesisPlan(RULES, chosen.per_document, chosen.per_passage))
        rows_alone(services, settings)
        for kind in chosen.models:
            plan = TrainingPlan(kind, f"filings-benchmark-{kind}", settings=training, unreviewed=True, restart=True)
            with trained(services, settings, plan) as model:
                ratios[kind] = held_out(model, "HR@5")
    for kind, ratio in ratios.items():
        print(f"HR@5 of the fine-tuned / the untouched {kind} model, held-out filings: {ratio:.2f}")


if __name__ == "__main__":
    main()
