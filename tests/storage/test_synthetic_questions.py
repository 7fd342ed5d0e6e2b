"""Synthetic questions: kept per owner, decided about, gone with their document."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Outcome, Store, SyntheticQuestion
from pdfqa_core.types import Span
from tests.storage.conftest import NOW
from tests.storage.test_collections import add


def question(document_id: str, number: int = 1, **changes: object) -> SyntheticQuestion:
    made = SyntheticQuestion(
        f"q{number}", document_id, f"p{number}", (Span(document_id, 1, 0, 9),), "A passage.", "Who pays?", "Who pays?",
        "zero-shot", "fake", 7, Outcome.NEW, "", NOW,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def test_questions_come_back_as_they_were_made(store: Store) -> None:
    one, two = add(store, b"one"), add(store, b"two")
    kept = store.synthetic_questions
    first = [question(one, 2), question(one, 1, outcome=Outcome.DROPPED, reason="too long")]
    kept.add("me", first)
    later = question(two, 3, made_at=NOW + timedelta(seconds=1))
    kept.add("me", [later])
    assert kept.list("me") == (*first, later)
    assert kept.list("me", [Outcome.DROPPED]) == (first[1],)
    assert kept.list("me", document_ids=[two]) == (later,)
    assert kept.list("you") == ()
    assert kept.passages("me", "zero-shot", "fake", 7) == {"p1", "p2", "p3"}
    assert kept.passages("me", "zero-shot", "fake", 8) == kept.passages("you", "zero-shot", "fake", 7) == frozenset()


def test_a_decision_can_change_the_words_and_is_for_the_owner_alone(store: Store) -> None:
    kept = store.synthetic_questions
    kept.add("me", [question(add(store, b"one"))])
    assert kept.decide("me", "q1", Outcome.ACCEPTED).text == "Who pays?"
    edited = kept.decide("me", "q1", Outcome.ACCEPTED, " Who pays\n half? ")
    assert (edited.text, edited.made, edited.edited, edited.outcome) == (
        "Who pays half?", "Who pays?", True, Outcome.ACCEPTED
    )  # fmt: skip
    for owner, name, text in (("you", "q1", ""), ("me", "unknown", ""), ("me", "q1", "long " * 100)):
        with pytest.raises(UsageError):
            kept.decide(owner, name, Outcome.REJECTED, text)
    assert kept.list("me") == (edited,)
    answered = kept.decide("me", "q1", Outcome.ACCEPTED, answer=" The\nowner. ")
    assert (answered.text, answered.answer, answered.made_answer) == ("Who pays half?", "The owner.", "")
    assert kept.decide("me", "q1", Outcome.ACCEPTED).answer == "The owner."
    kept.restore("me", edited)
    assert kept.list("me") == (edited,)
    assert kept.remove("you", tuple(Outcome)) == 0
    assert kept.remove("me", [Outcome.ACCEPTED]) == 1


def test_what_is_decided_about_a_turn_counts_for_its_conversation(store: Store) -> None:
    kept, document = store.synthetic_questions, add(store, b"one")
    talk = [question(document, number, conversation="c", turn=number, answer="A.") for number in (1, 2, 3)]
    kept.add("me", [*talk, question(document, 4), question(document, 5, turn=2, outcome=Outcome.DROPPED)])
    kept.decide("me", "q2", Outcome.ACCEPTED, "And then?", "B.")
    assert [(one.id, one.text, one.answer) for one in kept.list("me", [Outcome.ACCEPTED])] == [
        ("q1", "Who pays?", "A."), ("q2", "And then?", "B."), ("q3", "Who pays?", "A.")
    ]  # fmt: skip
    kept.restore("me", talk[1])
    assert kept.list("me", [Outcome.NEW]) == (*talk, question(document, 4))
    assert kept.passages("me", "zero-shot", "fake", 7) == {"p1", "p4"}  # no conversation begins with the others


def test_they_go_with_their_document_and_with_their_owner(store: Store) -> None:
    one = add(store, b"one")
    store.synthetic_questions.add("me", [question(one)])
    store.documents.remove("me", one)
    assert store.synthetic_questions.list("me") == ()
    store.synthetic_questions.add("me", [question(one)])  # it was removed while the question was made
    assert store.synthetic_questions.list("me") == ()
    store.synthetic_questions.add("you", [question(add(store, b"two", "you"))])
    store.owners.remove("you")
    assert store.synthetic_questions.list("you") == ()
