"""What a report says in words is counted from the values; the source's batch comes out number by number."""

from __future__ import annotations

import pytest

from pdfqa_core.evaluation_types import CitedPlace, Evaluation, Prediction, ScoredItem, ScoredSystem
from pdfqa_core.exports.insights import count_words, insights, successes
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.protocols import Case, Tools, run_protocols
from pdfqa_core.protocols.base import PROFILES

NOTHING = "insufficient context"
BATCH = (  # answer, what it cites, gold answer, what that cites
    ("Arthur's Magazine", (1, 2), "Arthur's Magazine", (1, 2)),
    ("respiratory droplets", (1, 3), "respiratory droplets and aerosols", (1, 3)),
    ("point guard", (2, 4, 5), "point guard", (2, 4)),
    ("1844", (1,), "1844", (1, 3)),
    (NOTHING, (), NOTHING, ()),
    ("2.5 million", (1, 2), "2.5 million", (1, 2)),
    ("Tesla", (2,), "SpaceX", (1, 3)),
    (NOTHING, (), NOTHING, ()),
)
EACH = {  # what the source prints for the examples, in their order
    "answer_f1": (1, 0.667, 1, 1, 1, 1, 0, 1), "answer_em": (1, 0, 1, 1, 1, 1, 0, 1),
    "citation_precision": (1, 1, 0.667, 1, 1, 1, 0, 1), "citation_recall": (1, 1, 1, 0.5, 1, 1, 0, 1),
    "citation_f1": (1, 1, 0.8, 0.667, 1, 1, 0, 1),
    "insufficient_context_detection": (None, None, None, None, 1, None, None, 1),
}  # fmt: skip
MEANS = {
    "answer_f1": 0.833, "answer_em": 0.75, "citation_precision": 0.833, "citation_recall": 0.812, "citation_f1": 0.808,
    "insufficient_context_detection": 1.0,
}  # fmt: skip


def batch(rows=BATCH, profile="seed") -> Evaluation:
    cases = [
        Case(str(n), f"Question {n}?", (gold,), answerable=gold != NOTHING, gold_citations=tuple(map(str, places)))
        for n, (_, _, gold, places) in enumerate(rows)
    ]
    made = {
        str(n): Prediction(str(n), answer, citations=tuple(CitedPlace(str(one)) for one in cited))
        for n, (answer, cited, _, _) in enumerate(rows)
    }
    tools = Tools(profile=PROFILES[profile])
    protocol = run_protocols.get("answers")
    system = protocol.score("reader", cases, made, tools)
    return Evaluation("answers", "batch", protocol.measures([system], tools), (system,))


def test_the_batch_of_the_source_comes_out_number_by_number_under_its_profile():
    found = batch()
    (system,) = found.systems
    for name, wanted in EACH.items():
        got = [item.metrics[name] for item in system.items]
        assert [value is None for value in got] == [value is None for value in wanted]
        assert [value for value in got if value is not None] == pytest.approx(
            [value for value in wanted if value is not None], abs=5e-4
        )
    cells = compare(found).cells["reader"]
    assert {name: cells[name].summary.mean for name in MEANS} == pytest.approx(MEANS, abs=6e-4)
    counts = {one.title: one.cells[0] for one in successes(found)}
    assert counts["Answer EM"] == "6/8 (75 %)"
    assert counts["Citation F1"] == "5/8 (62 %)"
    assert counts["Insufficient context detection"] == "2/2 (100 %)"


def test_what_neither_side_cites_and_what_applies_nowhere_are_numbers_under_the_profile_alone():
    rows = (("a", (), "a", ()), ("b", (), "c", ()))
    seed, plain = batch(rows), batch(rows, "")
    cells = compare(seed).cells["reader"]
    assert cells["citation_f1"].summary.mean == 1.0
    assert cells["insufficient_context_detection"].summary.mean == 0.0
    assert not {"citation_f1", "insufficient_context_detection"} & set(plain.measures)


def test_sentences_are_counted_from_the_values():
    said = insights(batch(), compare(batch()))
    assert said == (
        "1 of 8 answers (12 %) are partly right: F1 gives them credit, EM none.",
        "1 of 8 answers (12 %) share no word with the gold answer.",
        "2 of 8 answers (25 %) cite something that does not belong there, or nothing.",
        "2 of 8 answers (25 %) leave out a place that the gold answer cites.",
        "Of 6 exact answers, 4 cite all and only the right places.",
        "2 of 2 questions (100 %) without an answer in the texts are recognised as such.",
    )


def test_systems_and_groups_are_compared_in_words():
    def system(name, high, low):
        return ScoredSystem(name, tuple(
            ScoredItem(str(n), {"answer_f1": high if n % 2 else low}, {"type": "fact" if n % 2 else "reason"})
            for n in range(20)
        ))  # fmt: skip

    found = Evaluation("answers", "d", ("answer_f1",), (system("old", 0.4, 0.1), system("new", 0.9, 0.5)))
    said = insights(found, compare(found))
    assert said[0].startswith("new is above old on Answer F1: +0.450")
    assert said[-1] == "new does best on type fact (Answer F1 0.90, n = 10) and worst on type reason (0.50, n = 10)."
    same = Evaluation("answers", "d", ("answer_f1",), (system("old", 0.4, 0.1), system("new", 0.4, 0.1)))
    assert insights(same, compare(same))[0].startswith("No difference to old is significant")
    assert count_words(0, 0) == "–"
