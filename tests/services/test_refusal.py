"""Which questions are turned away, by which signal, and what is kept of that."""

from __future__ import annotations

import pytest

from pdfqa_core.pipeline import NOTHING_TO_SEARCH
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.types import Document
from tests.services.helpers import BM25, LITERAL, METERS, asked, stored_of
from tests.serving_fakes import QUESTIONS

NEEDED = {"confidence_threshold": 0.4}
UNKNOWN = "Who won the football match against manchester?"


def answered(services, question, settings, **reading):
    return stored_of(asked(services, question, settings.changed("reading", **NEEDED, **reading))).turn.answer


def test_the_search_lets_a_known_question_through_and_turns_another_away(open_services):
    services = open_services(LITERAL)
    known, unknown = (answered(services, question, LITERAL) for question in (METERS, UNKNOWN))
    assert not known.refused
    assert unknown.refused
    assert unknown.confidence == unknown.signals["retrieval"] < 0.4 < known.confidence
    assert unknown.nearest.quote in unknown.hits[unknown.nearest.number - 1].passage.text
    assert known.nearest is None
    kept = services.answers.conversations.list(LOCAL_OWNER)
    stored = [services.answers.conversations.get(LOCAL_OWNER, one.id).turns[0].answer for one in kept]
    assert unknown.signals in [answer.signals for answer in stored]


def test_a_refusal_says_that_only_some_documents_were_searched(open_services, letter):
    services = open_services(LITERAL)
    (added,) = [one for one in services.documents.ingest(LOCAL_OWNER, [letter]) if isinstance(one, Document)]
    strict = LITERAL.changed("reading", **NEEDED)
    some, every = (
        stored_of(asked(services, UNKNOWN, strict, document_ids=scope)).turn.answer
        for scope in ((added.id,), [one.id for one in services.documents.kept.list(LOCAL_OWNER)])
    )
    assert some.refused
    assert some.notes[-1] == "Only 1 of your 2 documents was searched."
    assert every.refused
    assert not any(note.startswith("Only") for note in every.notes)


@pytest.mark.parametrize("refusal", ["model", "combined"])
def test_the_model_is_asked_about_the_passages_that_it_would_read(open_services, fake_llm, refusal):
    fake_llm.name = "qwen2.5-coder-1.5b"
    services = open_services(llm=fake_llm)
    fake_llm.decide({"Yes": 0.001, "No": 0.999})
    fake_llm.enqueue(["All meters are read every 15 minutes."])
    answer = answered(services, METERS, BM25, refusal=refusal)
    assert answer.refused
    assert "model" in answer.signals
    first = fake_llm.history[0][-1].content
    assert "15 minutes" in first
    assert METERS in first
    anyway = stored_of(asked(services, METERS, BM25.changed("reading", refusal=refusal), anyway=True)).turn.answer
    assert "model" not in anyway.signals  # nothing hangs on it before the answer is written
    assert "answer" in anyway.signals


def test_a_refused_question_is_perhaps_answered_anyway_in_its_place(open_services):
    services = open_services(LITERAL)
    strict = LITERAL.changed("reading", **NEEDED)
    refused = stored_of(asked(services, UNKNOWN, strict))
    again = stored_of(
        asked(
            services, UNKNOWN, strict, conversation_id=refused.conversation_id, replace_turn=refused.turn.id,
            anyway=True,
        )
    )  # fmt: skip
    assert again.turn.answer.outcome == "perhaps"
    assert again.turn.answer.nearest is not None
    (kept,) = services.answers.conversations.get(LOCAL_OWNER, refused.conversation_id).turns
    assert kept.id == again.turn.id


def test_documents_without_passages_say_so(open_services, make_pdf):
    services = open_services(LITERAL)
    (empty,) = (one for one in services.documents.ingest(LOCAL_OWNER, [make_pdf([])]) if isinstance(one, Document))
    answer = stored_of(asked(services, METERS, LITERAL, document_ids=[empty.id])).turn.answer
    assert answer.refused
    assert answer.hits == ()
    assert answer.notes == (NOTHING_TO_SEARCH,)


def test_a_model_is_not_asked_where_nothing_is_refused(open_services, fake_llm):
    fake_llm.enqueue(["All meters are read every 15 minutes."])
    always = BM25.changed("reading", refusal="model", confidence_threshold=0, sure_threshold=0)
    answer = stored_of(asked(open_services(llm=fake_llm), METERS, always))
    assert not {"model", "answer"} & set(answer.turn.answer.signals)
    assert len(fake_llm.history) == 1


def test_the_samples_questions_are_let_through_by_words_alone(open_services):
    services = open_services(LITERAL)
    for item in QUESTIONS.values():
        if item["answerable"]:
            assert not answered(services, item["question"], LITERAL).refused, item["id"]
