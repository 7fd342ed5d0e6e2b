"""Answers go on when nobody looks, are there when they are finished, and can be looked at from anywhere meanwhile."""

from __future__ import annotations

import threading

import pytest

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import ANSWER, LOCAL_OWNER, job_name
from pdfqa_core.types import Retrieved, Stored, Token
from tests.services.helpers import BM25, METERS, WORDS, StoppingLLM, until


class Held(StoppingLLM):
    """Waits after a few words until it is let go."""

    def __init__(self, *replies):
        super().__init__(self.wait)
        self.go_on = threading.Event()
        self.enqueue(list(replies) or [WORDS])

    def wait(self):
        assert self.go_on.wait(60)


@pytest.fixture
def held(open_services):
    """Services whose model waits, and that model."""
    llm = Held()
    yield open_services(llm=llm), llm
    llm.go_on.set()


def begin(services, question=METERS, **options):
    return services.answers.begin(LOCAL_OWNER, question, BM25, **options)


def until_written(written):
    """Look on until the first word and no longer."""
    for event in written.events():
        if isinstance(event, Token):
            return


def turns(services, conversation):
    return services.answers.conversations.get(LOCAL_OWNER, conversation).turns


def test_an_answer_nobody_looks_at_is_finished_in_the_conversation_it_was_asked_in(held):
    services, llm = held
    written = begin(services)
    until_written(written)
    (summary,) = services.answers.conversations.list(LOCAL_OWNER)
    assert (summary.id, summary.title, summary.turn_count) == (written.subject, METERS, 0)
    llm.go_on.set()
    until(lambda: written.ended)
    (turn,) = turns(services, summary.id)
    assert (turn.question, turn.answer.text, turn.answer.stopped) == (METERS, WORDS, False)
    assert services.tasks.job(job_name(ANSWER, LOCAL_OWNER, summary.id)) is None


def test_who_looks_on_later_sees_all_from_the_beginning(held):
    services, llm = held
    written = begin(services)
    until_written(written)
    found = services.tasks.job(job_name(ANSWER, LOCAL_OWNER, written.subject))
    assert found is written
    llm.go_on.set()
    events = list(found.events())
    assert any(isinstance(event, Retrieved) for event in events)
    assert "".join(event.text for event in events if isinstance(event, Token)).strip() == WORDS
    assert isinstance(events[-1], Stored)
    assert list(written.events()) == events


def test_only_its_owner_finds_an_answer(held):
    services, _ = held
    written = begin(services)
    assert services.tasks.job(job_name(ANSWER, "visitor-else", written.subject)) is None
    assert services.tasks.job(job_name(ANSWER, LOCAL_OWNER, "")) is None


def test_a_conversation_answers_one_question_at_a_time(held):
    services, llm = held
    written = begin(services)
    with pytest.raises(PdfQAError, match="still being answered"):
        begin(services, "And at night?", conversation_id=written.subject)
    llm.go_on.set()
    until(lambda: written.ended)
    assert len(turns(services, written.subject)) == 1


def test_the_end_of_the_program_keeps_what_was_written(held):
    services, llm = held
    written = begin(services)
    until_written(written)
    (stop,) = services.tasks._stops.values()
    closing = threading.Thread(target=services.tasks.end_jobs)
    closing.start()
    stop.wait()
    llm.go_on.set()
    closing.join()
    (turn,) = turns(services, written.subject)
    assert turn.answer.stopped


def test_a_first_question_that_fails_leaves_no_conversation_and_tells_who_looks_on(open_services):
    services = open_services(BM25.changed("retrieval", retriever="hybrid"), llm=Held())
    services.models.encoders.encoder = lambda *_: (_ for _ in ()).throw(PdfQAError("The encoder is gone.", ""))
    written = services.answers.begin(LOCAL_OWNER, METERS, services.settings)
    with pytest.raises(PdfQAError, match="The encoder is gone"):
        list(written.events())
    assert services.answers.conversations.list(LOCAL_OWNER) == ()


def test_what_cannot_be_asked_begins_no_conversation(open_services):
    services = open_services(empty=True)
    with pytest.raises(PdfQAError, match="no documents"):
        begin(services)
    with pytest.raises(UsageError, match="empty"):
        begin(services, "  ")
    assert services.answers.conversations.list(LOCAL_OWNER) == ()
