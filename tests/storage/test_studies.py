from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Store
from pdfqa_core.storage.database import row_of
from pdfqa_core.storage.tables import adjudications
from pdfqa_core.study_types import Adjudication
from tests.storage.conftest import NOW, rating, rating_history, turn

Build = Callable[[], tuple[str, str]]


def test_a_study_holds_all_shown_turns_in_order(store: Store) -> None:
    one, two = store.conversations.create("me", "One"), store.conversations.create("me", "Two")
    for conversation, ids in ((one, ("a1", "a2")), (two, ("b1",))):
        for turn_id in ids:
            store.conversations.append_turn("me", conversation.id, turn(turn_id))
    store.conversations.append_turn("me", one.id, turn("a3"), replaces="a2")
    study = store.studies.create("me", "  My\tstudy ", [two.id, one.id, two.id], seed=3)
    assert (study.name, study.turn_ids, study.seed) == ("My study", ("b1", "a1", "a3"), 3)
    assert store.studies.get("me", study.id) == study
    assert store.studies.list("me") == (study,)
    assert [s.turn.id for s in store.studies.turns("me", study.id)] == ["b1", "a1", "a3"]
    assert [s.conversation_title for s in store.studies.turns("me", study.id)] == ["Two", "One", "One"]


def test_a_retried_turn_stays_in_its_study(store: Store, study_with_turn: Build) -> None:
    study_id, conversation_id = study_with_turn()
    store.conversations.append_turn("me", conversation_id, turn("t9"), replaces="t1")
    assert [s.turn.id for s in store.studies.turns("me", study_id)] == ["t1"]


def test_studies_that_cannot_be(store: Store, study_with_turn: Build) -> None:
    _, conversation_id = study_with_turn()
    empty = store.conversations.create("me")
    with pytest.raises(UsageError, match="needs a name"):
        store.studies.create("me", " \n", [conversation_id])
    with pytest.raises(UsageError, match="called 'Pilot' already"):
        store.studies.create("me", "Pilot", [conversation_id])
    with pytest.raises(UsageError, match="at least one answered question"):
        store.studies.create("me", "Empty", [empty.id])


def test_other_owners_see_no_study(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    assert store.studies.list("you") == ()
    assert store.studies.turns("you", study_id) == ()
    with pytest.raises(UsageError, match="no such study"):
        store.studies.get("you", study_id)


def test_a_name_is_one_annotator_however_it_is_spelled(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    for spelling in ("Zoë", "ZOË", "  zoë ", "Zoe\u0308", "Ｚoë"):
        assert store.studies.sign_in(study_id, spelling) == "Zoë"
    assert store.studies.annotators(study_id) == ("Anna", "Ben", "Zoë")


def test_the_last_rating_counts_and_all_are_kept(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    first, second = rating(study_id, "t1", value="0"), rating(study_id, "t1", value="1")
    passage = rating(study_id, "t1#2", criterion="passage")
    other = rating(study_id, "t1", annotator="Ben", value="0")
    store.studies.save_ratings([first, passage])
    store.studies.save_ratings([second, other])
    assert store.studies.ratings(study_id) == (passage, second, other)
    assert store.studies.ratings(study_id, "anna") == (passage, second)
    assert rating_history(store, study_id) == (first, passage, second, other)
    store.studies.save_ratings([])
    assert len(rating_history(store, study_id)) == 4


def test_ratings_are_saved_all_or_none(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    for wrong, message in (
        (rating(study_id, "t2"), "not part of this study"),
        (rating("other", "t1"), "not part of this study"),
        (rating(study_id, "t1", annotator="Eve"), "has not signed in"),
    ):
        with pytest.raises(UsageError, match=message):
            store.studies.save_ratings([rating(study_id, "t1"), wrong])
    assert rating_history(store, study_id) == ()


def test_the_last_adjudication_counts(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    first = Adjudication(study_id, "t1", "answer", "0", "unclear", NOW)
    second = replace(first, value="1", reason="page 7 says so")
    passage = replace(first, item_id="t1#1", criterion="passage")
    with store.database.write() as connection:
        for decision in (first, passage, second):
            connection.execute(adjudications.insert().values({**row_of(adjudications, decision), "turn_id": "t1"}))
    assert store.studies.adjudications(study_id) == (passage, second)
