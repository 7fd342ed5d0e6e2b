"""What the handlers of a MaHuEval conversation leave in the field for questions, and what they give back."""

from __future__ import annotations

import gradio as gr
import pytest

from pdfqa_core.protocols.conversations import Plan
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui.annotate_view import Work
from pdfqa_core.ui.mahueval import Handlers, step_shown
from pdfqa_core.ui.session import Session
from tests.conftest import FakeLLM
from tests.services.helpers import LITERAL, METERS
from tests.serving_fakes import PDF, FakeModels

FIELD, ASK = 3, 4  # places in what a step fills
SESSION = Session(LOCAL_OWNER, LITERAL)


@pytest.fixture
def services(tmp_path):
    with Services.open(tmp_path, LITERAL, FakeModels(FakeLLM(), LITERAL.llm)) as opened:
        list(opened.documents.ingest(LOCAL_OWNER, [PDF]))
        yield opened


@pytest.fixture
def work(services):
    study = services.evaluation.mahueval.begin(
        LOCAL_OWNER, "MaHuEval", Plan(("Ada", "Ben"), conversations=2, least=2, most=3)
    )
    return Work(study.id, "Ada")


@pytest.fixture
def handlers(services):
    return Handlers(services, None, lambda study, session: {})


def test_the_field_is_emptied_when_a_question_is_sent_and_not_when_its_answer_is_there(handlers, work):
    first, *_, last = handlers.ask(METERS, work, SESSION)
    assert first[FIELD] == ""
    assert first[ASK].constructor_args == {"interactive": False}
    assert METERS in last[1]
    assert last[FIELD] == gr.update(visible=True, interactive=True)
    assert last[ASK].constructor_args == {"visible": True, "interactive": True}


def test_a_question_that_failed_is_given_back_where_nothing_else_was_typed(handlers, work):
    *_, last = handlers.ask(" ", work, SESSION)
    assert "question is empty" in last[2]
    assert '<i data-put-back=" " data-field="annotate-question" hidden></i>' in last[2]
    assert last[FIELD] == gr.update(visible=True, interactive=True)


def test_an_unforeseen_error_lets_one_ask_again(handlers, work, services, monkeypatch):
    def ask(*_):
        raise RuntimeError("boom")
        yield

    monkeypatch.setattr(services.evaluation.mahueval, "ask", ask)
    *_, last = handlers.ask(METERS, work, SESSION)
    assert "something unexpected happened" in last[2]
    assert f'data-put-back="{METERS}"' in last[2]
    assert last[ASK].constructor_args == {"visible": True, "interactive": True}


def test_the_next_conversation_begins_with_an_empty_field(services, work):
    assert step_shown(services, work, SESSION)[FIELD]["value"] == ""
