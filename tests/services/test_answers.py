"""Questions in conversations, and what is kept of the answers."""

from __future__ import annotations

import uuid

import pytest

from pdfqa_core.errors import LockedError, PdfQAError, UsageError
from pdfqa_core.models import LanguageModel
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage.conversations import OVERTAKEN
from pdfqa_core.types import Done, Outcome, Retrieved, Rewritten, Token
from tests.services.helpers import (
    BM25,
    FOLLOW_UP,
    LITERAL,
    METERS,
    SCREEN,
    WORDS,
    StoppingLLM,
    asked,
    stored_of,
)


def test_an_answer_is_told_and_stored(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    fake_llm.enqueue(["All meters are read every 15 minutes."])
    events = asked(services, f" {METERS} ")
    assert Rewritten(METERS) in events
    retrieved = next(event for event in events if isinstance(event, Retrieved))
    assert "".join(event.text for event in events if isinstance(event, Token)).strip().endswith("15 minutes.")
    done, stored = events[-2:]
    assert isinstance(done, Done)
    assert done.answer == stored.turn.answer
    answer = stored.turn.answer
    assert (answer.text, answer.model, answer.reader, answer.stopped) == (
        "All meters are read every 15 minutes.", "fake", "generative", False,
    )  # fmt: skip
    named = BM25.model_copy(update={"llm": LanguageModel.named(BM25.llm)})  # the model that answers, not "auto"
    assert (answer.hits, answer.settings_fingerprint) == (retrieved.hits, named.fingerprint())
    assert answer.citations[0].span.page == 4
    conversation = services.answers.conversations.get(LOCAL_OWNER, stored.conversation_id)
    assert (conversation.title, conversation.turns) == (METERS, (stored.turn,))
    assert stored.turn.number == 1
    assert "15 minutes" in fake_llm.history[0][-1].content


def test_a_follow_up_is_searched_with_the_history_and_kept_as_it_was_typed(open_services):
    services = open_services(LITERAL)
    first = stored_of(asked(services, SCREEN))
    second = stored_of(asked(services, FOLLOW_UP, conversation_id=first.conversation_id))
    assert second.conversation_id == first.conversation_id
    assert second.turn.number == 2
    assert second.turn.question == second.turn.standalone_question == FOLLOW_UP
    assert second.turn.answer.rewriting == ""
    alone = stored_of(asked(services, FOLLOW_UP))
    without = LITERAL.changed("conversation", turns=0)
    third = stored_of(asked(services, FOLLOW_UP, without, conversation_id=first.conversation_id))
    assert second.turn.answer.hits != alone.turn.answer.hits
    assert third.turn.answer.hits == alone.turn.answer.hits


def test_a_turn_added_while_another_is_asked_again_stays(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    first = stored_of(asked(services, SCREEN, LITERAL))
    fake_llm.enqueue(["The screen was fitted in August 2023."])
    events = services.answers.ask(
        LOCAL_OWNER, SCREEN, BM25, conversation_id=first.conversation_id, replace_turn=first.turn.id
    )
    while not isinstance(next(events), Token):
        pass
    between = stored_of(asked(services, METERS, LITERAL, conversation_id=first.conversation_id))
    late = stored_of(list(events))
    kept = services.answers.conversations.get(LOCAL_OWNER, first.conversation_id).turns
    assert [turn.id for turn in kept] == [first.turn.id, between.turn.id, late.turn.id]
    assert OVERTAKEN in late.turn.answer.notes


def test_a_conversation_and_its_first_turn_are_stored_together(open_services, monkeypatch):
    services = open_services(LITERAL)
    taken = stored_of(asked(services, METERS)).turn.id
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(taken))
    with pytest.raises(UsageError, match="There is a turn"):
        asked(services, SCREEN)
    assert len(services.answers.conversations.list(LOCAL_OWNER)) == 1


def test_the_last_turn_can_be_replaced_and_only_the_last(open_services):
    services = open_services(LITERAL)
    first = stored_of(asked(services, SCREEN))
    chat = first.conversation_id
    second = stored_of(asked(services, METERS, conversation_id=chat))
    with pytest.raises(UsageError, match="Only the last question"):
        asked(services, METERS, conversation_id=chat, replace_turn=first.turn.id)
    with pytest.raises(UsageError, match="Only the last question"):
        asked(services, METERS, replace_turn=second.turn.id)
    third = stored_of(asked(services, FOLLOW_UP, conversation_id=chat, replace_turn=second.turn.id))
    turns = services.answers.conversations.get(LOCAL_OWNER, chat).turns
    assert [turn.id for turn in turns] == [first.turn.id, third.turn.id]
    assert third.turn.number == 2


def test_a_stopped_answer_is_kept_as_far_as_it_was_written(open_services):
    llm = StoppingLLM(lambda: services.tasks.stop("page"))
    llm.enqueue([WORDS])
    services = open_services(llm=llm)
    stored = stored_of(asked(services, METERS, task="page"))
    assert stored.turn.answer.stopped
    assert WORDS.startswith(stored.turn.answer.text)
    assert 0 < len(stored.turn.answer.text) < len(WORDS)
    assert services.answers.conversations.get(LOCAL_OWNER, stored.conversation_id).turns == (stored.turn,)


def test_an_abandoned_answer_is_kept_and_frees_model_and_name(open_services):
    llm = StoppingLLM(lambda: None)
    llm.enqueue([WORDS, WORDS])
    services = open_services(llm=llm)
    events = services.answers.ask(LOCAL_OWNER, METERS, BM25, task="page")
    while not isinstance(event := next(events), Token):
        pass
    with pytest.raises(PdfQAError, match="still busy"):
        next(services.answers.ask(LOCAL_OWNER, METERS, BM25, task="page"))
    events.close()
    assert llm.closed
    (summary,) = services.answers.conversations.list(LOCAL_OWNER)
    (turn,) = services.answers.conversations.get(LOCAL_OWNER, summary.id).turns
    assert (turn.answer.text, turn.answer.stopped) == (event.text.strip(), True)
    assert (turn.answer.reader, turn.answer.model) == ("generative", "fake")
    assert turn.answer.hits
    assert stored_of(asked(services, METERS, task="page")).turn.answer.text == WORDS


def test_an_answer_abandoned_before_its_first_word_leaves_nothing(open_services):
    services = open_services(LITERAL)
    events = services.answers.ask(LOCAL_OWNER, METERS, LITERAL, task="page")
    while not isinstance(next(events), Retrieved):
        pass
    events.close()
    assert services.answers.conversations.list(LOCAL_OWNER) == ()


def test_what_was_written_before_a_failure_is_kept(open_services):
    def fail():
        raise PdfQAError("The server went away.")

    llm = StoppingLLM(fail)
    llm.enqueue([WORDS])
    services = open_services(llm=llm)
    with pytest.raises(PdfQAError, match="went away"):
        asked(services, METERS, task="page")
    (summary,) = services.answers.conversations.list(LOCAL_OWNER)
    answer = services.answers.conversations.get(LOCAL_OWNER, summary.id).turns[0].answer
    assert answer.stopped
    assert WORDS.startswith(answer.text)
    assert answer.notes == ("The answer breaks off here: The server went away.",)


def test_without_a_model_the_answer_is_literal_and_says_so(services):
    answer = stored_of(asked(services, METERS)).turn.answer
    assert answer.reader == "extractive"
    assert "every 15 minutes" in answer.text
    assert len(answer.notes) == 1
    assert "there is no language model: There is no language model. Install one." in answer.notes[0]


def test_a_question_with_broken_characters_is_stored_and_read_again(open_services):
    services = open_services(LITERAL)
    stored = stored_of(asked(services, f"{METERS}\x00\ud800"))
    (turn,) = services.answers.conversations.get(LOCAL_OWNER, stored.conversation_id).turns
    assert turn.question == f"{METERS}\ufffd\ufffd"


def test_a_finished_answer_waits_for_a_locked_database(open_services):
    services = open_services(LITERAL)
    conversation_id = stored_of(asked(services, METERS)).conversation_id
    services.answers.conversations = Locked(services.answers.conversations, times=2)
    stored = stored_of(asked(services, SCREEN, conversation_id=conversation_id))
    turns = services.answers.conversations.get(LOCAL_OWNER, conversation_id).turns
    assert [turn.id for turn in turns][1:] == [stored.turn.id]


class Locked:
    """Conversations in a database to which another program writes, so many times."""

    def __init__(self, conversations, times):
        self._conversations, self._times = conversations, times

    def __getattr__(self, name):
        return getattr(self._conversations, name)

    def append_turn(self, *values, **options):
        self._times -= 1
        if self._times >= 0:
            raise LockedError("Another program is writing.")
        return self._conversations.append_turn(*values, **options)


def test_the_plain_pipeline_searches_once_asks_once_and_judges_nothing(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    plain = BM25.changed("reading", plain=True, confidence_threshold=1.0, sure_threshold=1.0)
    fake_llm.enqueue(["Every 15 minutes."])
    first = stored_of(asked(services, "How ofen are the meters read?", plain))
    assert (first.turn.answer.outcome, first.turn.answer.confidence) == (Outcome.ANSWER, None)
    assert first.turn.answer.rewriting == ""  # "ofen" is not respelt
    (prompt,) = (messages[-1].content for messages in fake_llm.history)
    words = [" ".join(hit.passage.text.split()) for hit in first.turn.answer.hits]
    assert [text for text in words if text not in " ".join(prompt.split())] == []
    fake_llm.enqueue(["Each September."])
    second = stored_of(asked(services, FOLLOW_UP, plain, conversation_id=first.conversation_id))
    assert second.turn.standalone_question == f"How ofen are the meters read? {FOLLOW_UP}"
    assert len(fake_llm.history) == 2
