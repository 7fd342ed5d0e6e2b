"""Which questions are turned away, by which signal, and what is kept of that."""

from __future__ import annotations

import pytest

from pdfqa_core.reading import ExtractiveReader
from pdfqa_core.services import LOCAL_OWNER
from tests.services.helpers import BM25, LITERAL, METERS, asked, stored_of
from tests.serving_fakes import QUESTIONS

NEEDED = {"confidence_threshold": 0.45}
UNKNOWN = "Who won the football match against Manchester?"


def answered(services, question, settings, **reading):
    return stored_of(asked(services, question, settings.changed("reading", **NEEDED, **reading))).turn.answer


def test_the_search_lets_a_known_question_through_and_turns_another_away(open_services):
    services = open_services(LITERAL)
    known, unknown = (answered(services, question, LITERAL) for question in (METERS, UNKNOWN))
    assert not known.refused
    assert unknown.refused
    assert unknown.confidence == unknown.signals["retrieval"] < 0.45 < known.confidence
    assert "The search doubts" in unknown.notes[0]
    assert unknown.hits
    kept = services.conversations.list(LOCAL_OWNER)
    stored = [services.conversations.get(LOCAL_OWNER, one.id).turns[0].answer for one in kept]
    assert unknown.signals in [answer.signals for answer in stored]


def test_none_answers_every_question(open_services):
    answer = answered(open_services(LITERAL), "Who won the football match against Bay?", LITERAL, refusal="none")
    assert answer.confidence is None
    assert answer.signals == {}


@pytest.mark.parametrize("refusal", ["model", "combined"])
def test_the_model_is_asked_about_the_passages_that_it_would_read(open_services, fake_llm, refusal):
    services = open_services(llm=fake_llm)
    fake_llm.decisions += [{"Yes": 0.5, "No": 0.5}, {"Yes": 0.001, "No": 0.999}]
    fake_llm.enqueue(["All meters are read every 15 minutes."])
    answer = answered(services, METERS, BM25, refusal=refusal)
    assert set(answer.signals) == ({"model"} if refusal == "model" else {"model", "retrieval"})
    prompts = [messages[-1].content for messages in fake_llm.history]
    assert all("15 minutes" in prompt for prompt in prompts[:2])
    assert METERS in prompts[1]
    assert METERS not in prompts[0]


def test_the_extractive_reader_is_judged_by_the_search_alone(open_services, fake_llm):
    answer = answered(open_services(llm=fake_llm), METERS, LITERAL, refusal="combined")
    assert set(answer.signals) == {"retrieval"}
    assert fake_llm.history == []


def test_cosines_of_another_encoder_are_not_taken_for_those_of_the_bundled_one(open_services):
    services = open_services(LITERAL)
    hybrid = LITERAL.changed("retrieval", retriever="hybrid")
    own = services.answers._judge(hybrid, ExtractiveReader())
    other = services.answers._judge(hybrid.changed("retrieval", embedding_model="other"), ExtractiveReader())
    assert own.retrieval.keywords["vectors"] is not None
    assert other.retrieval.keywords["vectors"] is None


@pytest.mark.parametrize(
    "item", [item for item in QUESTIONS.values() if item["answerable"]], ids=lambda item: item["id"]
)
def test_the_samples_questions_are_let_through_by_words_alone(open_services, item):
    assert not answered(open_services(LITERAL), item["question"], LITERAL).refused
