"""Stored runs beside each other: compared on what they share, and made into studies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.comparison import compare, spreads
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.run_export import together
from tests.conftest import FakeLLM
from tests.services.helpers import LITERAL
from tests.services.test_runs import QUESTIONS, SQUAD, done, request

SMALL = LITERAL.changed("chunking", size=40, step=20)


@pytest.fixture
def two(services, write):
    """Two runs on the same file: all its questions, and two of them by two systems."""
    data = write(QUESTIONS)
    first, _ = done(services, request("answers", data, name="monday"))
    second, _ = done(services, request("answers", data, systems={"literal": LITERAL, "small": SMALL}, limit=2,
                                       name="tuesday"))  # fmt: skip
    return first, second


def test_runs_are_compared_on_the_questions_that_all_of_them_have(services, two, write):
    assert [one.id for one in services.evaluation.comparable(LOCAL_OWNER, two[0])] == [two[1]]
    found = services.evaluation.together(LOCAL_OWNER, two)
    assert [one.name for one in found.systems] == ["monday: literal", "tuesday: literal", "tuesday: small"]
    assert {len(one.items) for one in found.systems} == {2}
    assert "Compared on the 2 questions that all runs have." in found.notes
    cells = compare(found, baseline="tuesday: literal").cells
    assert cells["monday: literal"]["answer_f1"].difference.mean == 0
    predictions = services.evaluation.predicted(LOCAL_OWNER, two)
    assert {name for name, _ in predictions} == {one.name for one in found.systems}
    alone = services.evaluation.together(LOCAL_OWNER, two[:1])
    assert alone == services.evaluation.runs.get(LOCAL_OWNER, two[0]).results
    services.evaluation.runs.rename(LOCAL_OWNER, two[1], "monday")
    again = services.evaluation.together(LOCAL_OWNER, two)
    assert [one.name for one in again.systems] == ["monday: literal", "monday: literal (2)", "monday: small"]
    other, _ = done(services, request("answers", write(SQUAD, "squad.json"), name="storks"))
    assert other not in {one.id for one in services.evaluation.comparable(LOCAL_OWNER, two[0])}
    with pytest.raises(UsageError, match="different questions"):
        services.evaluation.together(LOCAL_OWNER, (two[0], other))
    services.evaluation.remove_run(LOCAL_OWNER, two[1])
    assert services.evaluation.comparable(LOCAL_OWNER, two[0]) == ()
    unscored = replace(services.evaluation.runs.get(LOCAL_OWNER, two[0]), results=None)
    with pytest.raises(UsageError, match="has no scores yet"):
        together([unscored])


def test_what_was_searched_is_kept_and_scored_as_hits(services, write):
    run_id, _ = done(services, request("answers", write([{**QUESTIONS[0], "page": 4}, QUESTIONS[1]])))
    run, predictions = (
        services.evaluation.runs.get(LOCAL_OWNER, run_id),
        services.evaluation.runs.predictions(LOCAL_OWNER, run_id),
    )
    seen = set()
    for item in run.results.systems[0].items:
        gold, found = item.texts["gold_citations"], predictions["literal", item.id].found
        assert found
        hits = [float(any(gold in places for places in found[:k])) for k in range(1, 6)]
        assert [item.metrics[f"HR@{k}"] for k in range(1, 6)] == hits
        seen.update(hits)
    assert seen == {0.0, 1.0}
    assert run.results.measures[-2:] == ("HR@1", "HR@5")


def test_answers_of_runs_become_a_study_without_the_systems_names(services, two):
    study = services.evaluation.study_of(LOCAL_OWNER, "rate", two, seed=3, names="Ada, Ben")
    turns = services.studies.items(LOCAL_OWNER, study.id)
    assert len(turns) == 3 + 2 * 2
    first = turns[0]
    assert first.turn.question == QUESTIONS[0]["question"]
    assert first.details.references == ("Every 15 minutes.",)
    assert (first.details.gold[0].filename, first.details.gold[0].page) == ("harbour-heat.pdf", 2)
    assert first.details.gold[0].text
    (hit, *_) = first.turn.answer.hits
    assert (hit.rank, hit.retriever, hit.parts) == (1, "", {})
    assert first.filenames[hit.passage.document_id] == "harbour-heat.pdf"
    (document,) = (one for one in services.documents.kept.list(LOCAL_OWNER) if one.id == hit.passage.document_id)
    page = services.documents.kept.page(LOCAL_OWNER, document.id, document.extractor, hit.passage.spans[0].page)
    assert page.text[hit.passage.spans[0].start : hit.passage.spans[0].end].split()[0] == hit.passage.text.split()[0]
    assert {one.details.system for one in turns} == {"monday: literal", "tuesday: literal", "tuesday: small"}
    pair = services.evaluation.study_of(
        LOCAL_OWNER, "pairs", two[1:], systems=("literal", "small"), preset="pairwise", seed=2
    )
    (one, _) = services.studies.items(LOCAL_OWNER, pair.id)
    assert {one.details.system, one.details.second_system} == {"literal", "small"}
    assert one.turn.answer.hits == ()
    with pytest.raises(UsageError, match="no answer to rate"):
        services.evaluation.study_of(LOCAL_OWNER, "none", two, item_ids={"zzz"})


def test_what_is_answered_so_far_is_scored_without_waiting_for_the_end(services, write):
    run = services.evaluation.begin(LOCAL_OWNER, request("answers", write(QUESTIONS)))
    assert [(one.done, one.total, one.means) for one in services.evaluation.so_far(LOCAL_OWNER, run.id)] == [(0, 3, ())]
    events = services.evaluation.go(LOCAL_OWNER, run.id)
    next(event for event in events if "question 3" in event.phase)
    (half,) = services.evaluation.so_far(LOCAL_OWNER, run.id)
    assert (half.system, half.done, half.failed) == ("literal", 2, 0)
    *_, results = events
    first = [item.metrics["answer_f1"] for item in results.systems[0].items[:2]]
    assert dict(half.means)["answer_f1"] == pytest.approx(sum(first) / 2)
    unscored = services.evaluation.begin(LOCAL_OWNER, request("judge", write(QUESTIONS, "again.json")))
    assert services.evaluation.so_far(LOCAL_OWNER, unscored.id)[0].means == ()


def test_a_sampled_system_is_repeated_with_seeds_and_its_spread_told(open_services, write):
    llm = FakeLLM()
    services = open_services(LITERAL, llm)
    data = write([{"question": "What do storks eat?", "answer": "frogs"}, {"question": "Where?", "answer": "on roofs"}])
    sampled = LITERAL.changed("llm", temperature=0.7)
    wanted = request("answers", data, systems={"stork": sampled}, evidence=("none",), seed=5, repeats=3)
    llm.enqueue(["frogs", "on roofs", "frogs", "in trees", "mice", "in trees"])
    run_id, found = done(services, wanted)
    assert [one.name for one in found.systems] == [f"stork · seed {n}" for n in (5, 6, 7)]
    assert {one.repeat_of for one in found.systems} == {"stork"}
    assert [[item.metrics["answer_em"] for item in one.items] for one in found.systems] == [[1, 1], [1, 0], [0, 0]]
    one = next(spread for spread in spreads(found) if spread.measure == "answer_em")
    assert (one.system, one.repeats, one.mean, one.low, one.high) == ("stork", 3, 0.5, 0.0, 1.0)
    assert one.deviation == pytest.approx(0.5)
    assert spreads(services.evaluation.runs.get(LOCAL_OWNER, run_id).results) == spreads(found)
    greedy = request("answers", data, systems={"stork": LITERAL}, evidence=("none",), repeats=3)
    with pytest.raises(UsageError, match="repeats are all the same"):
        services.evaluation.begin(LOCAL_OWNER, greedy)
    quoting = services.evaluation.begin(LOCAL_OWNER, request("answers", write(QUESTIONS, "q.json"), repeats=3))
    assert len(quoting.plan.systems) == 1
