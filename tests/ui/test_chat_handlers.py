"""What the handlers of the chat leave alone when they show an answer."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import gradio as gr
import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.types import Answer, Citation, Hit, Passage, Retrieved, Span, Turn
from pdfqa_core.ui import chat
from pdfqa_core.ui.session import ChatState, Session
from tests.services.helpers import BM25

REQUEST = SimpleNamespace(session_hash="page")
QUESTION = "Who wrote the report?"


@pytest.fixture
def handlers(services):
    with gr.Blocks():
        parts = chat.Parts(gr.State())
    return chat.Handlers(services, parts)


def ranks(html: str) -> list[int]:
    """Return the ranks of the passages that are shown, in their order."""
    return [int(rank) for rank in re.findall('data-rank="(\\d+)"', html)]


def test_what_is_chosen_while_an_answer_is_written_stays(services, handlers):
    (document,) = services.documents.kept.list(LOCAL_OWNER)
    parts, session = handlers.parts, Session(LOCAL_OWNER, BM25)
    events = handlers.send(QUESTION, ChatState(), session, REQUEST)
    begun = next(events)[parts.state]
    handlers.scope_changed([document.id], begun, session)
    *_, last = events
    assert QUESTION in last[parts.transcript]
    assert not {parts.session, parts.scope, parts.reader} & set(last)
    assert services.answers.conversations.get(LOCAL_OWNER, begun.conversation_id).document_ids == (document.id,)


def test_a_scope_whose_document_was_removed_follows_after_the_next_answer(services, handlers):
    parts = handlers.parts
    (first, *_) = services.documents.kept.list(LOCAL_OWNER)
    session = Session(LOCAL_OWNER, BM25, scope=(first.id, "removed"))
    *_, last = handlers.send(QUESTION, ChatState(), session, REQUEST)
    assert last[parts.session].scope == (first.id,)
    assert last[parts.scope].value == [first.id]


def test_an_answer_is_not_put_on_the_page_of_another_conversation_that_was_opened_meanwhile(services, handlers):
    parts, session = handlers.parts, Session(LOCAL_OWNER, BM25)
    events = handlers.send(QUESTION, ChatState(), session, REQUEST)
    begun = next(events)[parts.state]
    shown = handlers.conversation_clicked(begun, session, REQUEST, SimpleNamespace(_data={"action": "new"}))
    assert shown[parts.state] == ChatState()
    assert shown[parts.live] == ""
    assert [one[parts.live] for one in events] == [""]  # once more, after what was on its way
    services.tasks.end_jobs()  # it is stored all the same
    (turn,) = services.answers.conversations.get(LOCAL_OWNER, begun.conversation_id).turns
    assert turn.question == QUESTION


def test_an_answer_is_not_put_on_a_conversation_that_the_address_or_the_search_opened(services, handlers, monkeypatch):
    monkeypatch.setattr(chat, "asking_page", lambda: REQUEST.session_hash)
    session = Session(LOCAL_OWNER, BM25)
    *_, last = handlers.send(QUESTION, ChatState(), session, REQUEST)
    before = last[handlers.parts.state]
    events = handlers.send(QUESTION, ChatState(), session, REQUEST)
    begun = next(events)[handlers.parts.state]
    handlers.fill(before, session)
    assert [one[handlers.parts.live] for one in events] == [""]
    assert handlers.offer(begun, session) == gr.skip()  # nor what might be asked after it
    services.tasks.end_jobs()


def test_only_a_question_that_was_typed_empties_the_box(services, handlers):
    parts, session = handlers.parts, Session(LOCAL_OWNER, BM25)
    first, *_, last = handlers.send(QUESTION, ChatState(), session, REQUEST)
    assert first[parts.question].value == ""
    state = last[parts.state]
    click = SimpleNamespace(_data={"action": "retry", "turn": state.turn_id})
    first, *_ = handlers.transcript_clicked(state, session, REQUEST, click)
    assert first[parts.question] == gr.skip()


def test_the_evidence_of_an_answer_that_is_being_written_can_be_looked_through(services, handlers, monkeypatch):
    parts, session = handlers.parts, Session(LOCAL_OWNER, BM25)
    *_, last = handlers.send(QUESTION, ChatState(), session, REQUEST)
    (turn,) = services.answers.conversations.get(LOCAL_OWNER, last[parts.state].conversation_id).turns
    hits = turn.answer.hits
    assert len(hits) > 1
    begun = SimpleNamespace(title="And when?", so_far=(Retrieved(hits=tuple(reversed(hits))),))
    monkeypatch.setattr(services.tasks, "job", lambda name: begun)
    for state in (ChatState(last[parts.state].conversation_id), ChatState()):  # a later question, and a first one
        shown = handlers.evidence_clicked(state, session, SimpleNamespace(_data={"rank": str(hits[1].rank)}))
        assert ranks(shown[parts.evidence])[0] == hits[-1].rank
        assert shown[parts.state] == replace(state, rank=hits[1].rank)
        page = handlers.page_clicked(shown[parts.state], session, SimpleNamespace(_data={"page": "1"}))
        for html in (shown[parts.page], page):
            assert 'class="page-view' in html
    earlier = handlers.evidence_clicked(last[parts.state], session, SimpleNamespace(_data={"rank": str(hits[1].rank)}))
    assert ranks(earlier[parts.evidence])[0] == hits[0].rank  # one that was clicked meanwhile


def test_a_passage_that_is_read_while_an_answer_is_written_stays_open(services, handlers, monkeypatch):
    parts, session = handlers.parts, Session(LOCAL_OWNER, BM25)
    monkeypatch.setattr(chat, "asking_page", lambda: REQUEST.session_hash)
    events = handlers.send(QUESTION, ChatState(), session, REQUEST)
    begun = next(events)[parts.state]
    shown = next(update for update in events if parts.evidence in update)
    rank = ranks(shown[parts.evidence])[1]
    handlers.evidence_clicked(begun, session, SimpleNamespace(_data={"rank": str(rank)}))
    *_, last = events
    assert last[parts.state].rank == rank
    assert parts.page not in last
    assert f'data-rank="{rank}"' in last[parts.evidence]
    *_, last = handlers.send(QUESTION, last[parts.state], session, REQUEST)
    assert parts.page in last  # the next answer opens its own


def kept(services, *answers: Answer) -> str:
    """Store a conversation with these answers to QUESTION; returns its id."""
    conversation = services.answers.conversations.create(LOCAL_OWNER, "Talk")
    for number, answer in enumerate(answers, start=1):
        turn = Turn(f"t{number}", number, QUESTION, QUESTION, answer)
        services.answers.conversations.append_turn(LOCAL_OWNER, conversation.id, turn)
    return conversation.id


def found(services) -> tuple[Hit, Hit]:
    (document, *_) = services.documents.kept.list(LOCAL_OWNER)
    passages = [Passage(f"p{n}", (Span(document.id, n, 0, 20),), f"Passage {n}.") for n in (1, 2)]
    return tuple(Hit(one, 1.0, rank, "bm25") for rank, one in enumerate(passages, start=1))


@pytest.mark.parametrize(("clicked", "left"), [("t1", ["t1", "t2"]), ("t2", ["t1"])])
def test_an_earlier_question_is_answered_anyway_at_the_end_and_the_last_one_in_its_place(
    services, handlers, clicked, left
):
    session = Session(LOCAL_OWNER, BM25.changed("reading", reader="extractive"))
    conversation = kept(services, *2 * [Answer("Insufficient context.", hits=found(services), refused=True)])
    click = SimpleNamespace(_data={"action": "anyway", "turn": clicked})
    *_, last = handlers.transcript_clicked(ChatState(conversation, "t2"), session, REQUEST, click)
    *before, new = services.answers.conversations.get(LOCAL_OWNER, conversation).turns
    assert [turn.id for turn in before] == left
    assert (new.question, new.answer.refused) == (QUESTION, False)
    assert last[handlers.parts.state].turn_id == new.id


def test_of_an_answer_that_is_not_sure_the_page_with_its_lines_is_open(services, handlers):
    first, second = found(services)
    lines = Citation(2, "p2", second.passage.spans[0], "Passage 2.", False)
    cited = Citation(1, "p1", first.passage.spans[0], "Passage 1.", True, 0, 9)
    answer = Answer("It is so.", (cited,), (first, second), perhaps=True, nearest=lines)
    conversation = kept(services, answer)
    click = SimpleNamespace(_data={"action": "turn", "turn": "t1"})
    (shown,) = handlers.transcript_clicked(ChatState(conversation), Session(LOCAL_OWNER, BM25), REQUEST, click)
    assert (shown[handlers.parts.state].rank, shown[handlers.parts.state].selected) == (2, lines)
    assert 'data-shows="' in shown[handlers.parts.page]
