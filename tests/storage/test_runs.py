from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import (
    CitedPlace,
    Evaluation,
    Prediction,
    ReadText,
    Run,
    RunPlan,
    RunState,
    RunSystem,
    ScoredItem,
    ScoredSystem,
)
from pdfqa_core.storage import Store
from tests.storage.conftest import NOW

PLAN = RunPlan(
    "answers", "questions.jsonl", ("/data/questions.jsonl",), "ab" * 32,
    (RunSystem("bm25", '{"retrieval": {}}', "abc", model="fake", model_hash="cd" * 32),), 2, 7, "seed", {"beta": "1"},
)  # fmt: skip
RUN = Run("r1", "First", PLAN, RunState.RUNNING, 2, NOW, NOW, {"pdfqa": "0.2"})
FIRST = Prediction(
    "q1", "At night.", False, (CitedPlace("a.pdf#page=2", "a.pdf", 2, True, "At night.", 0, 9),),
    (ReadText("p1", "At night. \ud800", "d", 2),), "When?", 0.5, ("A note.",), 1.5,
)  # fmt: skip
LOST = Prediction("q2", error="The model does not answer.", hint="Start it.")


@pytest.fixture
def runs(store: Store):
    store.runs.add("me", RUN, "key")
    return store.runs


def test_a_run_comes_back_as_it_was_with_its_predictions(runs):
    runs.put("r1", "bm25", FIRST)
    assert runs.get("me", "r1") == RUN
    found = runs.predictions("me", "r1")
    assert found == {("bm25", "q1"): FIRST}
    results = Evaluation(
        "answers", "questions.jsonl", ("f1",), (ScoredSystem("bm25", (ScoredItem("q1", {"f1": 1.0}),)),)
    )
    runs.set_results("r1", results)
    runs.set_state("r1", RunState.FAILED, "The model died.")
    kept = runs.get("me", "r1")
    assert (kept.results, kept.state, kept.error) == (results, RunState.FAILED, "The model died.")
    assert kept.changed_at > NOW


def test_what_was_predicted_first_stays(runs):
    runs.put("r1", "bm25", FIRST)
    runs.put("r1", "bm25", replace(FIRST, answer="By day."))
    assert [one.answer for one in runs.predictions("me", "r1").values()] == ["At night."]


def test_failures_are_counted_and_can_be_forgotten(runs):
    runs.put("r1", "bm25", FIRST)
    runs.put("r1", "bm25", LOST)
    (listed,) = runs.list("me")
    assert (listed.total, listed.done, listed.failed, listed.name) == (2, 2, 1, "First")
    assert runs.forget_failures("me", "r1") == 1
    assert list(runs.predictions("me", "r1")) == [("bm25", "q1")]
    assert runs.list("me")[0].failed == 0


def test_runs_are_named_and_deleted_by_their_owner_alone(runs, store):
    runs.put("r1", "bm25", FIRST)
    for act in (runs.get, runs.predictions, runs.remove, runs.forget_failures):
        with pytest.raises(UsageError, match="no such run"):
            act("you", "r1")
    with pytest.raises(UsageError, match="empty"):
        runs.rename("me", "r1", " ")
    runs.rename("me", "r1", " Second ")
    assert runs.list("me")[0].name == "Second"
    runs.remove("me", "r1")
    assert runs.list("me") == ()
    with pytest.raises(UsageError, match="deleted meanwhile"):
        runs.put("r1", "bm25", FIRST)
    store.runs.add("you", RUN, "key")
    store.owners.remove("you")
    assert store.runs.list("you") == ()
