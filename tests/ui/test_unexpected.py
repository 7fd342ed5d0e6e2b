"""An error that nobody expects is logged once and told in words, and the page can be used again."""

from __future__ import annotations

from types import SimpleNamespace

import gradio as gr
import pytest

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui import chat, evaluate, retrieval
from pdfqa_core.ui.evaluate_setup import SAMPLE_QUESTIONS
from pdfqa_core.ui.recipe import values_of
from pdfqa_core.ui.session import ChatState, EvaluateState, Session
from tests.services.helpers import BM25, HYBRID
from tests.serving_fakes import PDF, FakeModels

REQUEST = SimpleNamespace(session_hash="page")
TOLD = "That did not work: something unexpected happened (RuntimeError)."


def fail(*_arguments):
    """Fail in a way that no code foresees."""
    raise RuntimeError("out of the blue")


@pytest.fixture
def services(tmp_path):
    models = FakeModels()
    models.encoders.encoder = models.language.llm = fail
    with Services.open(tmp_path, BM25, models) as opened:
        list(opened.documents.ingest(LOCAL_OWNER, [PDF]))
        yield opened


def test_send_comes_back_with_the_question(services, caplog):
    with gr.Blocks():
        parts = chat.Parts(gr.State())
    handlers = chat.Handlers(services, parts)
    first, *_, last = handlers.send("Who?", ChatState(), Session(LOCAL_OWNER, BM25), REQUEST)
    assert not first[parts.send].visible
    assert (last[parts.send].visible, last[parts.stop].visible) == (True, False)
    assert TOLD in last[parts.live]
    back = '<i data-put-back="Who?" data-field="chat-question" hidden></i>'
    assert back in last[parts.live]  # the page does so where nothing else was typed
    assert parts.question not in last
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError]


def test_build_index_comes_back(services):
    handlers = retrieval.Handlers(services, SimpleNamespace(models=True))
    first, *_, last = handlers.build_index(Session(LOCAL_OWNER, HYBRID), REQUEST, *values_of(HYBRID))
    assert (first[1].visible, last[1].visible, last[2].visible) == (False, True, False)
    assert TOLD in last[0]


def test_evaluate_comes_back(services):
    session = Session(LOCAL_OWNER, BM25)
    systems = (["windows"], ["hybrid"], "overlap", False, "")
    first, *_, last = evaluate.Tab(services).evaluate(
        SAMPLE_QUESTIONS, None, [], *systems, session, EvaluateState(), False, REQUEST
    )
    assert (first[1].visible, last[1].visible, last[2].visible) == (False, True, False)
    assert TOLD in last[0]
