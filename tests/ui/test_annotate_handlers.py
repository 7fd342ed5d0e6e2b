"""What the handlers of the Annotate tab leave alone when their answer comes late."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Store
from pdfqa_core.ui.annotate import Handlers
from pdfqa_core.ui.annotate_parts import Parts, Work
from pdfqa_core.ui.session import Session
from tests.services.helpers import BM25
from tests.storage.conftest import turn

SESSION = Session(LOCAL_OWNER, BM25)


@pytest.fixture
def study(services, tmp_path):
    with Store.open(tmp_path) as store:
        talk = store.conversations.create(LOCAL_OWNER, "Heat pump")
        store.conversations.append_turn(LOCAL_OWNER, talk.id, turn("t1", "One.", question="How loud?"))
        return store.studies.create(LOCAL_OWNER, "Pilot", [talk.id], 1)


@pytest.fixture
def handlers(services):
    with gr.Blocks():
        parts = Parts(gr.State())
    return Handlers(services, parts)


def test_a_late_answer_leaves_the_name_that_is_being_typed(handlers, study):
    shown = handlers.choose(study.id, Work(), SESSION)
    assert shown[handlers.parts.work] == Work(study.id)
    assert shown[handlers.parts.name].constructor_args == {"visible": True}


def test_a_choice_that_is_told_twice_does_not_sign_anybody_out(handlers, study):
    begun = handlers.begin(study.id, "Ada", Work(study.id), SESSION)
    work = begun[handlers.parts.work]
    assert work.annotator == "Ada"
    assert begun[handlers.parts.name].constructor_args["value"] == ""
    assert handlers.parts.work not in handlers.choose(study.id, work, SESSION)


def test_a_look_at_another_tab_leaves_the_comment_that_is_being_typed(handlers, study):
    begun = handlers.begin(study.id, "Ada", Work(study.id), SESSION)
    assert "value" in begun[handlers.parts.comment].constructor_args
    again = handlers.arrive(begun[handlers.parts.work], SESSION)
    assert "value" not in again[handlers.parts.comment].constructor_args
    from_chat = replace(SESSION, to_rate=(study.id, "t1"))
    assert "value" in handlers.arrive(begun[handlers.parts.work], from_chat)[handlers.parts.comment].constructor_args
