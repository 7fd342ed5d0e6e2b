"""Stored runs beside each other: compared on what they share, and made into studies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction
from pdfqa_core.exports.insights import insights
from pdfqa_core.exports.report import report_html
from pdfqa_core.exports.results import read_results, write_results
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.metrics.repeats import spreads
from pdfqa_core.protocols.annotation import needed
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.runs_together import together
from pdfqa_core.ui import annotate_new
from pdfqa_core.ui.evaluate_runs_results import RunResults, RunsState
from pdfqa_core.ui.evaluate_runs_view import Wanted, answers_of, item_rows, marked, wanted_items
from pdfqa_core.ui.session import Session
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
    assert [one.id for one in services.runs_together.comparable(LOCAL_OWNER, two[0])] == [two[1]]
    found = services.runs_together.evaluation(LOCAL_OWNER, two)
    assert [one.name for one in found.systems] == ["monday: literal", "tuesday: literal", "tuesday: small"]
    assert {len(one.items) for one in found.systems} == {2}
    assert "Compared on the 2 questions that all runs have." in found.notes
    cells = compare(found, baseline="tuesday: literal").cells
    assert cells["monday: literal"]["answer_f1"].difference.mean == 0
    predictions = services.runs_together.predictions(LOCAL_OWNER, two)
    assert {name for name, _ in predictions} == {one.name for one in found.systems}
    alone = services.runs_together.evaluation(LOCAL_OWNER, two[:1])
    assert alone == services.runs.get(LOCAL_OWNER, two[0]).results
    services.runs.rename(LOCAL_OWNER, two[1], "monday")
    again = services.runs_together.evaluation(LOCAL_OWNER, two)
    assert [one.name for one in again.systems] == ["monday: literal", "monday: literal (2)", "monday: small"]
    other, _ = done(services, request("answers", write(SQUAD, "squad.json"), name="storks"))
    assert other not in {one.id for one in services.runs_together.comparable(LOCAL_OWNER, two[0])}
    with pytest.raises(UsageError, match="different questions"):
        services.runs_together.evaluation(LOCAL_OWNER, (two[0], other))
    services.runs.remove(LOCAL_OWNER, two[1])
    assert services.runs_together.comparable(LOCAL_OWNER, two[0]) == ()
    unscored = replace(services.runs.get(LOCAL_OWNER, two[0]), results=None)
    with pytest.raises(UsageError, match="has no scores yet"):
        together([unscored])


def test_what_was_searched_is_kept_and_scored_as_hits(services, write):
    run_id, _ = done(services, request("answers", write([{**QUESTIONS[0], "page": 4}, QUESTIONS[1]])))
    run, predictions = services.runs.get(LOCAL_OWNER, run_id), services.runs.predictions(LOCAL_OWNER, run_id)
    seen = set()
    for item in run.results.systems[0].items:
        gold, found = item.texts["gold_citations"], predictions["literal", item.id].found
        assert found
        hits = [float(any(gold in places for places in found[:k])) for k in range(1, 6)]
        assert [item.metrics[f"HR@{k}"] for k in range(1, 6)] == hits
        seen.update(hits)
    assert seen == {0.0, 1.0}
    assert run.results.measures[-2:] == ("HR@1", "HR@5")


def test_questions_are_chosen_by_who_was_right(services, two):
    found = services.runs_together.evaluation(LOCAL_OWNER, two)
    base, other, _ = found.systems
    right, wrong = ({"answer_f1": 0.9}, {"answer_f1": 0.1})
    systems = tuple(
        replace(one, items=tuple(replace(item, metrics=m) for item, m in zip(one.items, metrics, strict=True)))
        for one, metrics in zip((base, other), ((wrong, right), (right, wrong)), strict=True)
    )
    found = replace(found, systems=systems)

    def chosen(**how):
        return wanted_items(found, "answer_f1", Wanted(base.name, **how))

    assert (chosen(only="won"), chosen(only="lost"), chosen(only="failed")) == ((0,), (1,), ())
    assert chosen(only="better", other=other.name) == chosen(only="won")
    assert chosen(only="won", other=base.name) == ()
    assert chosen(part="type fact") == (0,)
    rows, count = item_rows(found, "answer_f1", Wanted(base.name, "worse"))
    assert (count, rows[0].values) == (1, ((".90", ""), (".10↓", "bad")))


def test_answers_of_runs_become_a_study_without_the_systems_names(services, two):
    study = services.run_studies.make(LOCAL_OWNER, "rate", two, seed=3, names="Ada, Ben")
    turns = services.study_setup.items(LOCAL_OWNER, study.id)
    assert len(turns) == 3 + 2 * 2
    first = turns[0]
    assert first.turn.question == QUESTIONS[0]["question"]
    assert first.details.references == ("Every 15 minutes.",)
    assert (first.details.gold[0].filename, first.details.gold[0].page) == ("harbour-heat.pdf", 2)
    assert first.details.gold[0].text
    (hit, *_) = first.turn.answer.hits
    assert (hit.rank, hit.retriever, hit.parts) == (1, "", {})
    assert first.filenames[hit.passage.document_id] == "harbour-heat.pdf"
    (document,) = (one for one in services.documents.list(LOCAL_OWNER) if one.id == hit.passage.document_id)
    page = services.documents.page(LOCAL_OWNER, document.id, document.extractor, hit.passage.spans[0].page)
    assert page.text[hit.passage.spans[0].start : hit.passage.spans[0].end].split()[0] == hit.passage.text.split()[0]
    assert {one.details.system for one in turns} == {"monday: literal", "tuesday: literal", "tuesday: small"}
    drawn = services.run_studies.make(LOCAL_OWNER, "drawn", two[:1], item_ids={"a", "b"}, n=1, seed=1)
    again = services.run_studies.make(LOCAL_OWNER, "again", two[:1], item_ids={"a", "b"}, n=1, seed=1)
    kept = [services.study_setup.items(LOCAL_OWNER, one.id) for one in (drawn, again)]
    assert len(kept[0]) == 1
    assert kept[0][0].turn.question == kept[1][0].turn.question
    pair = services.run_studies.make(
        LOCAL_OWNER, "pairs", two[1:], systems=("literal", "small"), preset="pairwise", seed=2
    )
    (one, _) = services.study_setup.items(LOCAL_OWNER, pair.id)
    assert {one.details.system, one.details.second_system} == {"literal", "small"}
    assert one.turn.answer.hits == ()
    rated = services.run_studies.make(LOCAL_OWNER, "passages", two[:1], preset="rag")
    item = services.study_setup.items(LOCAL_OWNER, rated.id)[0].turn
    criteria = services.studies.criteria_of(rated)
    asked = [part for part in needed(item, criteria) if "#" in part.key[0]]
    assert len(asked) == len(item.answer.hits) > 0
    with pytest.raises(UsageError, match="no answer to rate"):
        services.run_studies.make(LOCAL_OWNER, "none", two, item_ids={"zzz"})


def test_words_of_an_answer_that_differ_are_marked(services, two):
    assert marked("Two red frogs.", {"frogs", "two"}, ["two", "green", "frogs"]) == (
        ("Two", ""), ("red", "other differs"), ("frogs.", ""),
    )  # fmt: skip
    assert marked("Two red", set(), ["red"]) == (("Two", "differs"), ("red", ""))
    assert marked("Two red", {"red"}) == (("Two", "other"), ("red", ""))
    evaluation = services.runs.get(LOCAL_OWNER, two[1]).results
    names, asked = [system.name for system in evaluation.systems], evaluation.systems[0].items[0].id
    said = {
        (names[0], asked): Prediction(asked, "every 15 minutes"),
        (names[1], asked): Prediction(asked, "every 20 minutes"),
    }
    for swapped in (said, {(names[1], asked): said[names[0], asked], (names[0], asked): said[names[1], asked]}):
        shown = answers_of(evaluation, swapped, asked, {})
        assert [[word for word, marks in one.words if "differs" in marks] for one in shown] in (
            [["15"], ["20"]], [["20"], ["15"]],
        )  # fmt: skip
    alone = answers_of(evaluation, {(names[1], asked): said[names[1], asked]}, asked, {})
    assert not any("differs" in marks for one in alone for _, marks in one.words)


def test_what_is_answered_so_far_is_scored_without_waiting_for_the_end(services, write):
    run = services.runs.begin(LOCAL_OWNER, request("answers", write(QUESTIONS)))
    assert [(one.done, one.total, one.means) for one in services.run_progress.of(LOCAL_OWNER, run.id)] == [(0, 3, ())]
    events = services.runs.go(LOCAL_OWNER, run.id)
    next(event for event in events if "question 3" in event.phase)
    (half,) = services.run_progress.of(LOCAL_OWNER, run.id)
    assert (half.system, half.done, half.failed) == ("literal", 2, 0)
    *_, results = events
    first = [item.metrics["answer_f1"] for item in results.systems[0].items[:2]]
    assert dict(half.means)["answer_f1"] == pytest.approx(sum(first) / 2)
    unscored = services.runs.begin(LOCAL_OWNER, request("judge", write(QUESTIONS, "again.json")))
    assert services.run_progress.of(LOCAL_OWNER, unscored.id)[0].means == ()


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
    assert spreads(services.runs.get(LOCAL_OWNER, run_id).results) == spreads(found)
    assert any("sampled with 3 seeds" in words for words in insights(found, compare(found)))
    assert b"0.500 \xc2\xb1 0.500" in report_html(found, compare(found))
    saved = write_results(found, compare(found))
    assert [one.repeat_of for one in read_results(saved, "x.json").systems] == ["stork"] * 3
    greedy = request("answers", data, systems={"stork": LITERAL}, evidence=("none",), repeats=3)
    with pytest.raises(UsageError, match="repeats are all the same"):
        services.runs.begin(LOCAL_OWNER, greedy)
    quoting = services.runs.begin(LOCAL_OWNER, request("answers", write(QUESTIONS, "q.json"), repeats=3))
    assert len(quoting.plan.systems) == 1


def test_the_page_shows_runs_beside_each_other_and_forgets_what_is_gone(services, two):
    results, session = RunResults(services), Session(LOCAL_OWNER)
    asked = RunsState(two[0], beside=(two[1], "gone"), baseline="gone", sort="answer_em", part="type gone", other="x")
    state, listed, found = results.settled(asked, session)
    assert (state.runs, list(listed), state.sort) == (two, [two[1]], "answer_em")
    assert (state.baseline, state.part, state.other) == ("monday: literal", "", "")
    run = services.runs.get(LOCAL_OWNER, two[0])
    html = results.table(run, found, state, LOCAL_OWNER)
    assert "monday and 1 other run" in html
    assert "Differences to monday: literal" in html
    assert html.count("the same") >= 1
    _, _, drawn = results.charts(state, session, "answer_f1", "gone")
    assert drawn.count("<figure>") == 5
    assert "Answer F1 of every system" in drawn
    assert "tuesday: small" in results.item(found, replace(state, item="a"), session) + results.items(found, state)


def test_the_form_of_a_new_study_takes_a_stored_run(services, two):
    form = (services, LOCAL_OWNER, "of a run", "answers", annotate_new.RUN, [], None, None, None)
    study = annotate_new.make(*form, two[0], 2, 1, "", "Ada, Ben")
    assert len(study.turn_ids) == 2
    assert services.studies.names(LOCAL_OWNER, study.id) == ("Ada", "Ben")
    with pytest.raises(UsageError, match="No run is chosen"):
        annotate_new.make(*form, None, 2, 1, "", "")
