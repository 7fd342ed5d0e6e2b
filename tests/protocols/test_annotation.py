from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols import annotation
from pdfqa_core.storage import Store
from pdfqa_core.types import Adjudication, Rating, Study, Turn
from tests.storage.conftest import NOW, rating, turn

T1, T2, T3 = turn("t1", "first", "second"), turn("t2"), turn("t3", "third")
TURNS = (T1, T2, T3)


def filled(one: Turn, annotator: str = "Anna", *, intent: str = "extractive", answer: str = "1", passages: str = "1",
           seconds: float = 10, study_id: str = "s", comment: str = "") -> tuple[Rating, ...]:  # fmt: skip
    values = {one.id: answer, **{annotation.passage_item(one.id, hit.rank): passages for hit in one.answer.hits}}
    return annotation.form_ratings(
        study_id, one, annotator, values, intent=intent, seconds=seconds, rated_at=NOW, comment=comment
    )


def test_what_is_judged_about_a_turn() -> None:
    assert [(j.item_id, j.criterion.name) for j in annotation.judged(T1)] == [
        ("t1", "intent"), ("t1", "answer"), ("t1#1", "passage"), ("t1#2", "passage"),
    ]  # fmt: skip
    assert [(j.item_id, j.criterion.name) for j in annotation.judged(T2)] == [("t2", "intent"), ("t2", "answer")]


def test_item_ids() -> None:
    assert annotation.split_item("t1") == ("t1", None)
    assert annotation.split_item(annotation.passage_item("t1", 12)) == ("t1", 12)
    for wrong in ("", "#1", "t1#", "t1#x", "t1#²"):
        with pytest.raises(UsageError, match="is not an item"):
            annotation.split_item(wrong)


def test_the_order_is_the_annotators_own_and_stable(study: Study) -> None:
    many = replace(study, id="s", turn_ids=tuple(f"t{i}" for i in range(20)), seed=7)
    anna = annotation.order(many, "Anna")
    assert anna == annotation.order(many, " ANNA ")
    assert sorted(anna) == sorted(many.turn_ids)
    assert len({anna, annotation.order(many, "Ben"), annotation.order(replace(many, seed=8), "Anna")}) == 3
    code = "import random; t = [f't{i}' for i in range(20)]; random.Random('7|anna').shuffle(t); print(*t)"
    other_process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert tuple(other_process.stdout.split()) == anna


def test_an_item_is_complete_when_everything_is_judged() -> None:
    ratings = filled(T1)
    assert annotation.is_complete(T1, ratings, "Anna")
    assert not annotation.is_complete(T1, ratings, "Ben")
    for missing in range(len(ratings)):
        assert not annotation.is_complete(T1, ratings[:missing] + ratings[missing + 1 :], "Anna")
    assert annotation.is_complete(T2, filled(T2), "Anna")


def test_next_unrated_comes_back_to_skipped_items() -> None:
    order = ("t2", "t3", "t1")
    assert annotation.next_unrated(TURNS, (), "Anna", order) == "t2"
    assert annotation.next_unrated(TURNS, (), "Anna", order, after="t2") == "t3"
    ratings = (*filled(T1), *filled(T3))
    assert annotation.next_unrated(TURNS, ratings, "Anna", order, after="t1") == "t2"
    assert annotation.next_unrated(TURNS, ratings, "Anna", order, after="unknown") == "t2"
    assert annotation.next_unrated(TURNS, (*ratings, *filled(T2)), "Anna", order, after="t1") is None


def test_progress_counts_finished_items_and_their_median_time() -> None:
    assert annotation.progress(TURNS, (), "Anna") == annotation.AnnotationProgress(0, 3)
    half = filled(T1, seconds=500)[:1]
    assert annotation.progress(TURNS, half, "Anna").done == 0
    ratings = (*filled(T1, seconds=40), *filled(T2, seconds=100), *filled(T3, "Ben"))
    assert annotation.progress(TURNS, ratings, "Anna") == annotation.AnnotationProgress(2, 3, 70, 2)
    everything = annotation.progress(TURNS, (*ratings, *filled(T3, seconds=70)), "Anna")
    assert (everything.done, everything.minutes_left) == (3, 0)


def test_a_form_makes_one_rating_per_judgement() -> None:
    ratings = filled(T1, comment="page 7")
    assert [(r.item_id, r.criterion, r.value, r.comment) for r in ratings] == [
        ("t1", "intent", "extractive", ""),
        ("t1", "answer", "1", "page 7"),
        ("t1#1", "passage", "1", ""),
        ("t1#2", "passage", "1", ""),
    ]
    alone = annotation.form_ratings("s", T1, "Anna", {}, intent="boolean", comment="why", rated_at=NOW)
    assert [(r.criterion, r.comment) for r in alone] == [("intent", "why")]
    assert annotation.form_ratings("s", T1, "Anna", {}, rated_at=NOW) == ()


@pytest.mark.parametrize(
    ("values", "intent", "words"),
    [
        ({"t1": "2"}, "", "'2' is no value of 'answer'"),
        ({"t1#1": "yes"}, "", "'yes' is no value of 'passage'"),
        ({}, "factoid", "'factoid' is no value of 'intent'"),
        ({"t1#3": "1"}, "", "'t1#3' is not part of this turn"),
        ({"t2": "1"}, "", "'t2' is not part of this turn"),
    ],
)
def test_values_off_the_scale_are_refused(values: dict[str, str], intent: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        annotation.form_ratings("s", T1, "Anna", values, intent=intent, rated_at=NOW)


def test_others_are_hidden_until_the_own_item_is_finished(store: Store, study: Study) -> None:
    store.studies.save_ratings(filled(T1, "Ben", study_id=study.id))
    store.studies.save_ratings(filled(T3, "Ben", study_id=study.id))
    own = filled(T1, "Anna", study_id=study.id)
    for saved in range(len(own)):
        with pytest.raises(UsageError, match="once you have rated everything"):
            annotation.ratings_of_others(store, "me", study.id, "Anna", "t1")
        store.studies.save_ratings([own[saved]])
    shown = annotation.ratings_of_others(store, "me", study.id, "anna", "t1")
    assert [(r.annotator, r.item_id) for r in shown] == [("Ben", "t1"), ("Ben", "t1"), ("Ben", "t1#1"), ("Ben", "t1#2")]
    with pytest.raises(UsageError, match="once you have rated everything"):
        annotation.ratings_of_others(store, "me", study.id, "Anna", "t3")
    with pytest.raises(UsageError, match="has not signed in"):
        annotation.ratings_of_others(store, "me", study.id, "Eve", "t1")
    for owner, turn_id in (("me", "t9"), ("you", "t1")):
        with pytest.raises(UsageError, match="not part of this study"):
            annotation.ratings_of_others(store, owner, study.id, "Anna", turn_id)


def test_disagreements_in_the_order_of_the_turns() -> None:
    ratings = (
        *filled(T3, "Anna", passages="0"),
        *filled(T1, "Anna", intent="boolean", comment="a"),
        *filled(T1, "Ben", intent="abstractive"),
        *filled(T3, "Ben", comment="b"),
        *filled(T2, "Anna", answer="0"),
    )
    agreed = Adjudication("s", "t3#1", "passage", "1", "it is there", NOW)
    found = annotation.disagreements(TURNS, ratings, ("Anna", "Ben"), [agreed])
    assert [(d.turn_id, d.item_id, d.criterion, d.values) for d in found] == [
        ("t1", "t1", "intent", ("boolean", "abstractive")),
        ("t3", "t3#1", "passage", ("0", "1")),
    ]
    assert [d.adjudication for d in found] == [None, agreed]
    mended = (*ratings, *filled(T1, "Ben", intent="boolean"))
    assert [d.item_id for d in annotation.disagreements(TURNS, mended, ("Anna", "Ben"))] == ["t3#1"]


def test_the_table_compares_two_annotators_per_criterion() -> None:
    ratings = (
        *filled(T1, "Anna"), *filled(T2, "Anna", answer="0"), *filled(T3, "Anna", passages="0"),
        *filled(T1, "Ben"), *filled(T2, "Ben", answer="0"), *filled(T3, "Ben", answer="0", passages="0"),
    )  # fmt: skip
    intent, answer, passage = annotation.agreement_table(ratings)
    assert (intent.criterion, intent.n, intent.kappa) == ("intent", 3, None)
    assert intent.labels == annotation.INTENT.scale
    assert answer.confusion == ((1, 0), (1, 1))
    assert answer.kappa == pytest.approx(0.4)
    assert (passage.n, passage.kappa) == (3, 1)
    with pytest.raises(UsageError, match=r"3 have rated.*Anna, Ben, Eve"):
        annotation.agreement_table((*ratings, *filled(T1, "Eve")))
    assert annotation.agreement_table((*ratings, *filled(T1, "Eve")), ("Ben", "Eve"))[1].n == 1
    with pytest.raises(UsageError, match="second annotator has to rate"):
        annotation.agreement_table(filled(T1))


def test_only_the_last_rating_counts() -> None:
    ratings = (*filled(T1, "Anna"), *filled(T1, "Ben"), rating("s", "t1", "Ben", value="0"))
    assert annotation.agreement_table(ratings)[1].agreement == 0
