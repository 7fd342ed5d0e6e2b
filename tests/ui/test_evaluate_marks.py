"""The ✓ of a question's evidence: on what the rank in the table counts, for gold of a quote and for a whole page."""

from __future__ import annotations

import json
import re

import gradio as gr
import pytest

from pdfqa_core.evaluation_types import Evaluation, GoldItem, RankedPlace, Ranking
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.protocols.retrieval import counted, gold_places, judge
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.systems import grid
from pdfqa_core.types import Hit, Passage, Question, Span
from pdfqa_core.ui.evaluate_results import Results
from pdfqa_core.ui.session import EvaluateState, Session
from tests.services.helpers import BM25
from tests.serving_fakes import FakeModels

SESSION = Session(LOCAL_OWNER, BM25)
QUESTION = "How high is the deposit in tariff 3.0?"
QUOTE = "25 euros are charged on registration"
PARAGRAPHS = (  # the best passage for QUESTION is not the one with QUOTE
    "The deposit, high or low, is in the tariff 3.0: how high the deposit of tariff 3.0 is, this deposit table tells.",
    "Riders must be sixteen years old and know the rules of the road before they hire a bicycle from any station.",
    f"Deposit and cancellation: {QUOTE} and are paid back within two weeks after the account was closed by its owner.",
)


@pytest.mark.parametrize(
    ("gold", "match", "rank", "place", "meaning"),
    [
        ({"quote": QUOTE}, "overlap", 2, "quote", "another passage of the same page does not count"),
        ({"quote": QUOTE}, "exact", 3, "quote", "is the one passage that has most of the gold quote"),
        ({"quote": QUOTE}, "page", 1, "whole page", "lies on the gold page"),
        ({}, "overlap", 1, "whole page", "lies on the gold page"),
    ],
)
def test_the_first_mark_is_at_the_rank_of_the_table(gold, match, rank, place, meaning, tmp_path, make_pdf):
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"question": QUESTION, "document": "tariff.pdf", "page": 1, **gold}), encoding="utf-8")
    systems = grid(BM25.changed("chunking", size=24, step=24), ["windows"], ["bm25"])
    with Services.open(tmp_path / "workspace", BM25, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [make_pdf(PARAGRAPHS, name="tariff.pdf")]))
        *_, evaluation = services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(file), systems, gold_match=match)
        assert isinstance(evaluation, Evaluation)
        (item,) = evaluation.systems[0].items
        event = gr.EventData(None, {"action": "item", "item": item.id})
        html = Results(services).item_clicked(EvaluateState(evaluation.id), SESSION, event)[1]
    marked = [at for at, hit in enumerate(re.findall("<li.*?</li>", html), start=1) if "✓" in hit]
    assert (item.rank, marked[0]) == (rank, rank)
    assert f"tariff.pdf, p. 1, {place}</button>" in html
    assert meaning in html


@pytest.mark.parametrize("seed", range(20))
def test_the_first_mark_is_at_the_rank_whatever_covers_the_gold(seed: int):
    starts = [(7 * seed + 3 * n * n) % 40 for n in range(8)]
    item = GoldItem(Question("q", "q?"), (), (Span("d", 1, 0, 6), Span("d", 1, 20, 24)), (("d", 2),))
    passages = [Passage(f"p{n}", (Span("d", 1 + start % 2, start, start + 9),), "") for n, start in enumerate(starts)]
    places = judge(item, [Hit(one, 1.0, rank, "fake") for rank, one in enumerate(passages, start=1)])
    ranking = Ranking(places, gold_places(item), tuple((one.id, one.pages, "d") for one in passages))
    marks = counted(ranking)
    assert marks.index(True) + 1 == ranking.rank if ranking.rank else not any(marks)
    assert marks.count(False) == sum(place.gain == 0 for place in places)


def test_a_passage_that_covers_two_places_has_one_mark():
    places = (RankedPlace("d#1:0-5", 1.0, 2.0), RankedPlace("d#2", 1.0, 2.0), RankedPlace("other", 0.0, 1.0))
    hits = (("both", (1, 2), "d"), ("other", (2,), "d"))
    assert counted(Ranking(places, ("d#1:0-5", "d#2"), hits)) == (True, False)
