"""Runs: questions through systems, stored answer by answer, scored; stopped, resumed, failed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.evaluation_types import Evaluation, RunState
from pdfqa_core.metrics.bertscore import TokenVectors
from pdfqa_core.metrics.comparison import grouped
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, LITERAL, until

QUESTIONS = [
    {"id": "a", "question": "When are the meters read?", "answer": "Every 15 minutes.", "document": "harbour-heat.pdf",
     "page": 2, "type": "fact"},
    {"id": "b", "question": "Who cleaned the intake screen?", "answer": "A diver.", "document": "harbour-heat.pdf",
     "page": 3, "type": "person"},
    {"id": "c", "question": "And before?", "answer": "Nobody.", "follow_up_of": "b", "document": "harbour-heat.pdf",
     "page": 3, "type": "person"},
]  # fmt: skip
SQUAD = {"data": [{"title": "Storks", "paragraphs": [{"context": "Storks eat frogs. They nest on roofs.", "qas": [
    {"id": "x", "question": "What do storks eat?", "answers": [{"text": "frogs"}]},
    {"id": "y", "question": "Where do storks nest?", "answers": [{"text": "on roofs"}]},
]}]}]}  # fmt: skip


def request(protocol, data, *, systems=None, **more):
    return RunRequest(protocol, data, systems or {"literal": LITERAL}, options={"bertscore": "no"}, **more)


def done(services, wanted, **how):
    """Run to the end; return the run's id and its scores."""
    run = services.evaluation.begin(LOCAL_OWNER, wanted)
    *_, last = services.evaluation.go(LOCAL_OWNER, run.id, **how)
    assert isinstance(last, Evaluation)
    return run.id, last


def by_id(evaluation, place=0):
    return {item.id: item for item in evaluation.systems[place].items}


class DyingLLM(FakeLLM):
    """Answers so many questions, then works no more until `alive` is set again."""

    def __init__(self, answers):
        super().__init__()
        self.left, self.asked = answers, 0

    def write(self, schema, stop):
        if self.left <= 0:
            raise ModelError("The model died.", "Start it again.")
        self.left -= 1
        self.asked += 1
        yield from ("Storks ", "eat ", "frogs.")


def test_a_run_is_stored_with_answers_scores_and_all_that_decides_them(services, write):
    run_id, found = done(services, request("answers", write(QUESTIONS), seed=3))
    run = services.evaluation.runs.get(LOCAL_OWNER, run_id)
    assert (run.state, run.total, run.name) == (RunState.DONE, 3, "Answers: questions.json")
    assert run.results == found
    assert len(run.plan.data_hash) == 64
    assert run.versions["pdfqa"]
    (system,) = run.plan.systems
    assert (system.evidence, system.model) == ("search", "")
    assert json.loads(system.settings)["llm"]["seed"] == 3
    items = by_id(found)
    assert set(items["a"].metrics) >= {"answer_f1", "answer_em", "rouge_l", "citation_recall"}
    assert items["a"].texts["gold_citations"] == "harbour-heat.pdf#page=2"
    assert items["a"].seconds > 0
    assert "searched_for" not in items["c"].texts
    predictions = services.evaluation.runs.predictions(LOCAL_OWNER, run_id)
    assert "intake" in predictions["literal", "c"].evidence[0].text
    assert predictions["literal", "a"].evidence[0].text
    assert {place.filename for place in predictions["literal", "a"].citations} == {"harbour-heat.pdf"}
    assert found.settings["seed"] == "3"


def test_the_results_say_which_pipeline_answered(services, write):
    plain = LITERAL.changed("reading", plain=True)
    _, found = done(services, request("answers", write(QUESTIONS), systems={"whole": LITERAL, "plain": plain}))
    assert {name: "plain pipeline" in found.settings[f"system, {name}"] for name in ("whole", "plain")} == {
        "whole": False, "plain": True
    }  # fmt: skip
    _, alone = done(services, request("answers", write(QUESTIONS), systems={"plain": plain}))
    assert "Misspelt" in " ".join(found.notes)
    assert "Misspelt" not in " ".join(alone.notes)


def test_a_place_that_is_not_among_the_documents_is_not_scored(services, write):
    elsewhere = [{**QUESTIONS[0], "document": "elsewhere.pdf"}, *QUESTIONS[1:]]
    _, found = done(services, request("answers", write(elsewhere)))
    items = by_id(found)
    assert items["a"].metrics["citation_recall"] is None
    assert items["b"].metrics["citation_recall"] is not None
    assert any("elsewhere.pdf is not in the documents searched" in note for note in found.notes)


def test_the_same_request_goes_on_with_its_run_and_another_one_begins_a_new_one(services, write):
    data = write(QUESTIONS)
    first = services.evaluation.begin(LOCAL_OWNER, request("answers", data))
    assert services.evaluation.begin(LOCAL_OWNER, request("answers", data)).id == first.id
    others = [
        request("answers", data, seed=1), request("answers", data, limit=2), request("answers", data, profile="seed"),
        request("answers", write(QUESTIONS[:2], "other.json")),
        request("answers", data, systems={"literal": LITERAL.changed("retrieval", k=2)}),
    ]  # fmt: skip
    ids = [services.evaluation.begin(LOCAL_OWNER, one).id for one in others]
    assert len({first.id, *ids}) == 6
    assert services.evaluation.begin(LOCAL_OWNER, request("answers", data), anew=True).id not in {first.id, *ids}


def test_a_stopped_run_keeps_what_is_done_and_goes_on_with_the_rest(services, write):
    run = services.evaluation.begin(LOCAL_OWNER, request("answers", write(QUESTIONS)))
    events = services.evaluation.go(LOCAL_OWNER, run.id)
    for event in events:
        if "question 3" in event.phase:
            services.evaluation.stop(run.id)
            break
    with pytest.raises(StoppedError, match="Stopped after 2 of 3 answers"):
        list(events)
    assert services.evaluation.list_runs(LOCAL_OWNER)[0].state is RunState.STOPPED
    before = services.evaluation.runs.predictions(LOCAL_OWNER, run.id)
    assert list(before) == [("literal", "a"), ("literal", "b")]
    asked = [event.phase for event in services.evaluation.go(LOCAL_OWNER, run.id) if not isinstance(event, Evaluation)]
    assert [phase for phase in asked if "question" in phase] == ["literal: question 3"]
    after = services.evaluation.runs.predictions(LOCAL_OWNER, run.id)
    assert {key: after[key] for key in before} == before
    whole, other = done(services, request("answers", write(QUESTIONS), name="again"))
    assert (whole, services.evaluation.runs.get(LOCAL_OWNER, run.id).results.systems) == (run.id, other.systems)


def test_a_run_that_is_left_without_being_stopped_counts_as_stopped(services, write):
    run = services.evaluation.begin(LOCAL_OWNER, request("answers", write(QUESTIONS)))
    events = services.evaluation.go(LOCAL_OWNER, run.id)
    next(event for event in events if "question 2" in event.phase)
    assert services.evaluation.list_runs(LOCAL_OWNER)[0].state is RunState.RUNNING
    events.close()
    assert services.evaluation.list_runs(LOCAL_OWNER)[0].state is RunState.STOPPED
    services.evaluation.runs.set_state(run.id, RunState.RUNNING)  # as a killed program leaves it
    assert services.evaluation.list_runs(LOCAL_OWNER)[0].state is RunState.STOPPED


def test_a_model_that_dies_keeps_what_was_answered_and_the_run_goes_on(open_services, write):
    llm = DyingLLM(1)
    services = open_services(BM25, llm)
    rows = [{"question": f"What is number {n}?", "answer": "frogs"} for n in range(5)]
    wanted = request("answers", write(rows), systems={"model": BM25}, evidence=("none",))
    run = services.evaluation.begin(LOCAL_OWNER, wanted)
    with pytest.raises(ModelError, match="died"):
        list(services.evaluation.go(LOCAL_OWNER, run.id))
    kept = services.evaluation.runs.get(LOCAL_OWNER, run.id)
    assert (kept.state, kept.error) == (RunState.FAILED, "The model died. Start it again.")
    assert [item for _, item in services.evaluation.runs.predictions(LOCAL_OWNER, run.id)] == ["1"]
    llm.left = 9
    list(services.evaluation.go(LOCAL_OWNER, run.id))
    assert len(services.evaluation.runs.predictions(LOCAL_OWNER, run.id)) == 5
    assert llm.asked == 5
    assert services.evaluation.runs.get(LOCAL_OWNER, run.id).state is RunState.DONE


def test_what_fails_alone_is_counted_and_asked_again_on_demand(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue(["Frogs."])
    rows = [{"question": "What? " * 2100, "answer": "x"}, {"question": "What do storks eat?", "answer": "Frogs."}]
    wanted = request("answers", write(rows), systems={"model": BM25}, evidence=("search", "none"))
    run = services.evaluation.begin(LOCAL_OWNER, wanted)
    llm.enqueue(["Frogs."] * 9)
    *_, found = services.evaluation.go(LOCAL_OWNER, run.id)
    failed = [key for key, one in services.evaluation.runs.predictions(LOCAL_OWNER, run.id).items() if one.failed]
    assert failed == [("model · search", "1")]
    assert by_id(found)["1"].metrics["answer_f1"] is None
    assert "2,100 words" in by_id(found)["1"].texts["error"]
    assert any("1 of 4 answers failed" in note for note in found.notes)
    assert services.evaluation.list_runs(LOCAL_OWNER)[0].failed == 1
    phases = [e.phase for e in services.evaluation.go(LOCAL_OWNER, run.id, retry=True) if not isinstance(e, Evaluation)]
    assert [one for one in phases if "question" in one] == ["model · search: question 1"]


def test_the_same_prompt_is_answered_once(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue(["Frogs."])
    rows = [{"id": n, "question": "What do storks eat?", "answer": "Frogs."} for n in ("a", "b")]
    wanted = request("answers", write(rows), systems={"model": BM25}, evidence=("none",))
    run_id, found = done(services, wanted)
    assert len(llm.history) == 1
    assert [item.metrics["answer_em"] for item in found.systems[0].items] == [1.0, 1.0]
    assert found.systems[0].items[1].seconds is None
    assert any("remembered" in note for note in found.notes)
    again = services.evaluation.begin(LOCAL_OWNER, wanted, anew=True)
    *_, other = services.evaluation.go(LOCAL_OWNER, again.id)
    assert (again.id != run_id, len(llm.history)) == (True, 1)
    assert [i.texts["prediction"] for i in other.systems[0].items] == ["Frogs.", "Frogs."]


def test_a_data_set_with_its_own_texts_is_searched_or_given(services, write):
    _, found = done(services, request("answers", write(SQUAD), evidence=("search", "given")))
    assert [system.name for system in found.systems] == ["literal · search", "literal · given passages"]
    for place in (0, 1):
        items = by_id(found, place)
        assert items["x"].texts["prediction"].startswith("Storks eat frogs.")
        assert items["x"].metrics["citation_f1"] == 1.0


class WordLengths:
    """Token vectors made of nothing but the words' lengths."""

    def __init__(self, name):
        self.name = name or "word lengths"

    def token_ids(self, texts):
        return [tuple(text.lower().split()) for text in texts]

    def embed(self, texts):
        words = [text.lower().split() for text in texts]
        return [TokenVectors(tuple(w), np.array([[1.0, len(x)] for x in w]), (False,) * len(w)) for w in words]


def test_conversations_go_on_with_gold_or_own_answers(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    services.evaluation.embedder = WordLengths
    llm.enqueue(["At noon.", "A robot.", "A boat.", "A fish."])
    wanted = RunRequest(
        "conversations", write(QUESTIONS), {"model": BM25}, evidence=("none",), histories=("gold", "predicted"),
        options={"bertscore_encoder": "own/bert", "beta": "2"},
    )  # fmt: skip
    _, found = done(services, wanted)
    names = [system.name for system in found.systems]
    assert names == ["model · gold answers so far", "model · own answers so far"]
    assert [found.settings[f"system, {name}"].endswith("with its own answers") for name in names] == [False, True]
    assert found.measures[0] == "bertscore_f1"
    assert found.settings["BERTScore"] == "own/bert, no idf"
    assert found.settings["ROUGE-L"] == "β = 2"
    assert any("plain inner products" in note for note in found.notes)
    assert {item.texts["turn"] for item in found.systems[0].items} == {"1", "2"}
    follow_ups = [prompt[0].content for prompt in llm.history if "And before?" in prompt[0].content]
    assert ["Answer given: A diver." in one for one in follow_ups] == [True, False]
    assert "Answer given: A robot." in follow_ups[1]
    turns = grouped(found, "turn", ("bertscore_f1",))
    assert [(group.value, group.n) for group in turns] == [("1", 2), ("2", 1)]


def test_recorded_answers_are_scored_without_a_system(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    rows = [
        {"question": f"{n}?", "truth": "gold", "answer": "right" if n % 2 else "wrong", "human": bool(n % 2)}
        for n in range(10)
    ]
    prior = {"Yes": 0.5, "No": 0.5}
    llm.decide({"Yes": 0.6, "No": 0.4}, prior, {"Yes": 0.8, "No": 0.2})  # wrong, no text, right: all else is remembered
    wanted = RunRequest("judge", write(rows), {"model": BM25}, options={"judge_prompt": "strict", "calibrate": "yes"})
    _, found = done(services, wanted)
    assert [system.name for system in found.systems] == ["recorded answers"]
    assert [item.metrics["llm_accuracy"] for item in found.systems[0].items] == [0.0, 1.0] * 5
    assert any("kappa 1.000" in note and "Balanced accuracy 1.000" in note for note in found.notes)
    plain = RunRequest("judge", write(rows), {"model": BM25}, options={"judge_prompt": "strict"})
    _, found = done(services, plain)
    assert [item.metrics["llm_accuracy"] for item in found.systems[0].items] == [1.0] * 10
    assert any("Balanced accuracy 0.500" in note for note in found.notes)
    assert len(llm.history) == 3


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"systems": {}}, "no system"),
        ({"evidence": ("guess",)}, "no evidence called 'guess'"),
        ({"histories": ("predicted",)}, "no history called 'predicted'"),
        ({"profile": "mine"}, "no profile called 'mine'"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_stored(services, write, wanted, message):
    more = {"systems": {"literal": LITERAL}} | wanted
    with pytest.raises(UsageError, match=message):
        services.evaluation.begin(LOCAL_OWNER, RunRequest("answers", write(QUESTIONS), **more))
    assert services.evaluation.list_runs(LOCAL_OWNER) == ()


def test_a_run_goes_on_in_a_thread_of_its_own(services, write):
    run = services.evaluation.begin(LOCAL_OWNER, request("answers", write(QUESTIONS)))
    services.evaluation.start(LOCAL_OWNER, run.id)
    with pytest.raises(PdfQAError, match="Another run is under way"):
        services.evaluation.start(LOCAL_OWNER, run.id)
    assert services.evaluation.under_way(LOCAL_OWNER)[0] == run.id
    assert services.evaluation.under_way("visitor") == ("", None)
    until(lambda: services.evaluation.under_way(LOCAL_OWNER) == ("", None))
    assert services.evaluation.runs.get(LOCAL_OWNER, run.id).state is RunState.DONE
    assert services.evaluation.said(run.id) == ""


def test_visitors_of_a_demo_run_nothing(open_services, write):
    demo = open_services(BM25.changed("server", demo=True), empty=True)
    with pytest.raises(PdfQAError, match="Visitors of a demo"):
        demo.evaluation.launch("visitor", request("answers", write(SQUAD)))


def test_systems_that_do_not_search_are_not_run_for_every_way_to_search(services, write):
    both = {f"{name} · windows 120/60": LITERAL.changed("retrieval", retriever=name) for name in ("bm25", "dense")}
    wanted = request("answers", write(SQUAD), systems=both, evidence=("given", "search"))
    plan = services.evaluation.begin(LOCAL_OWNER, wanted).plan
    assert [system.name for system in plan.systems] == [
        "given passages", "bm25 · windows 120/60 · search", "dense · windows 120/60 · search",
    ]  # fmt: skip
    alone = request("answers", write(SQUAD), systems={"bm25 · windows 120/60": LITERAL}, evidence=("given",))
    assert [(one.name, one.model) for one in services.evaluation.begin(LOCAL_OWNER, alone).plan.systems] == [
        ("quotes", "")
    ]
    closed = request("answers", write(SQUAD), systems={"bm25 · windows 120/60": LITERAL}, evidence=("none",))
    (system,) = services.evaluation.begin(LOCAL_OWNER, closed).plan.systems
    assert system.name == system.model != ""
