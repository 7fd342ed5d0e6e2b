from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Store
from pdfqa_core.storage.conversations import OVERTAKEN
from pdfqa_core.types import Answer, Citation, Conversation, Span, Thumb, Turn
from tests.storage.conftest import NOW, document, pages_of, turn

CONTENT = b"%PDF-1.7 one"


def test_a_turn_keeps_its_evidence_when_the_document_is_gone(store: Store) -> None:
    document_id = store.files.store(CONTENT)
    store.documents.add(document(CONTENT), "direct", pages_of(document_id, "alpha"))
    conversation = store.conversations.create("me", "Talk", [document_id])
    asked = turn("t1", "alpha", "beta", document_id=document_id)
    citation = Citation(1, "p1", Span(document_id, 1, 0, 5), "alpha", True, 0, 5)
    asked = replace(asked, answer=replace(asked.answer, citations=(citation,), seconds={"total": 1.25}, confidence=0.5))
    stored = store.conversations.append_turn("me", conversation.id, asked)
    store.documents.remove("me", document_id)
    assert stored == replace(asked, number=1)
    assert store.conversations.get("me", conversation.id) == replace(conversation, turns=(stored,))


def test_the_list_has_counts_and_what_changed_last_comes_first(store: Store) -> None:
    first = store.conversations.create("me", "First")
    second = store.conversations.create("me", "Second")
    assert [c.title for c in store.conversations.list("me")] == ["Second", "First"]
    store.conversations.append_turn("me", first.id, turn("t1"))
    store.conversations.append_turn("me", first.id, turn("t2"))
    store.conversations.append_turn("me", first.id, turn("t3"), replaces="t2")
    assert [(c.title, c.turn_count) for c in store.conversations.list("me")] == [("First", 2), ("Second", 0)]
    store.conversations.rename("me", second.id, "Renamed")
    store.conversations.set_documents("me", second.id, ["d1", "d2"])
    assert store.conversations.get("me", second.id).title == "Renamed"
    assert store.conversations.list("me")[0].document_ids == ("d1", "d2")


def test_a_replaced_turn_is_kept_but_not_shown(store: Store) -> None:
    conversation = store.conversations.create("me")
    store.conversations.append_turn("me", conversation.id, turn("t1"))
    old = store.conversations.append_turn("me", conversation.id, turn("t2", "evidence"))
    new = store.conversations.append_turn("me", conversation.id, turn("t3"), replaces="t2")
    assert new.number == 2
    assert [t.id for t in store.conversations.get("me", conversation.id).turns] == ["t1", "t3"]
    assert store.conversations.turn("me", "t2") == old
    assert store.conversations.append_turn("me", conversation.id, turn("t4")).number == 3


def test_a_turn_that_was_added_meanwhile_is_not_replaced(store: Store) -> None:
    conversation = store.conversations.create("me")
    for name in ("t1", "t2"):
        store.conversations.append_turn("me", conversation.id, turn(name))
    late = store.conversations.append_turn("me", conversation.id, turn("t3"), replaces="t1")
    assert (late.number, late.answer.notes) == (3, (OVERTAKEN,))
    assert [t.id for t in store.conversations.get("me", conversation.id).turns] == ["t1", "t2", "t3"]


def test_other_owners_see_nothing(store: Store) -> None:
    conversation = store.conversations.create("me", "Mine")
    store.conversations.append_turn("me", conversation.id, turn("t1"))
    assert store.conversations.list("you") == ()
    for attempt in (
        lambda: store.conversations.get("you", conversation.id),
        lambda: store.conversations.turn("you", "t1"),
        lambda: store.conversations.rename("you", conversation.id, "Stolen"),
        lambda: store.conversations.set_documents("you", conversation.id, []),
        lambda: store.conversations.append_turn("you", conversation.id, turn("t2")),
        lambda: store.conversations.append_turn("you", conversation.id, turn("t2"), replaces="t1"),
        lambda: store.conversations.delete("you", conversation.id),
        lambda: store.conversations.set_thumb("you", "t1", Thumb.UP),
        lambda: store.studies.create("you", "Study", [conversation.id]),
    ):
        with pytest.raises(UsageError):
            attempt()
    assert store.conversations.get("me", conversation.id).title == "Mine"


def test_deleting_leaves_only_turns_of_studies(store: Store) -> None:
    rated = store.conversations.create("me", "Rated")
    store.conversations.append_turn("me", rated.id, turn("t1", "evidence"))
    study = store.studies.create("me", "Study", [rated.id])
    store.conversations.append_turn("me", rated.id, turn("t2"))
    plain = store.conversations.create("me", "Plain")
    store.conversations.append_turn("me", plain.id, turn("t3"))
    for conversation in (rated, plain):
        store.conversations.delete("me", conversation.id)
        with pytest.raises(UsageError, match="no such conversation"):
            store.conversations.get("me", conversation.id)
    assert store.conversations.list("me") == ()
    assert store.studies.turns("me", study.id)[0].turn.answer.hits[0].passage.text == "evidence"
    assert store.conversations.turn("me", "t1").number == 1
    for gone in ("t2", "t3"):
        with pytest.raises(UsageError, match="no turn"):
            store.conversations.turn("me", gone)
    with pytest.raises(UsageError, match="no such conversation"):
        store.studies.create("me", "Second study", [rated.id])


def test_a_whole_conversation_is_imported(store: Store) -> None:
    given = Conversation("c1", "Imported", NOW, "me", ("d1",), (turn("t1", "x"), Turn("t2", 0, "q", "", Answer(""))))
    store.conversations.put(given)
    numbered = tuple(replace(t, number=i) for i, t in enumerate(given.turns, start=1))
    assert store.conversations.get("me", "c1") == replace(given, turns=numbered)
    with pytest.raises(UsageError, match="already"):
        store.conversations.put(given)
