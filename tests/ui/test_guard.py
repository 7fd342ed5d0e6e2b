"""Every handler of the page turns what goes wrong into words on the screen; clicks that no page sends raise nothing."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from pdfqa_core.errors import UsageError
from pdfqa_core.models import Models
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.evaluation import EvaluationService
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.systems import grid
from pdfqa_core.synthesis import RULES
from pdfqa_core.ui import (
    annotate_rating,
    annotate_setup,
    build_page,
    train,
    train_parts,
)
from pdfqa_core.ui.annotate_view import Work
from pdfqa_core.ui.components import Click, clicked
from pdfqa_core.ui.evaluate_setup import SAMPLE_QUESTIONS, Setup
from pdfqa_core.ui.guard import BY_ITSELF, guard
from pdfqa_core.ui.session import ChatState, EvaluateState, Session
from pdfqa_core.ui.theme import ASSETS
from pdfqa_core.ui.train_parts import TrainState
from tests.services.helpers import LITERAL, METERS, asked, only, stored_of
from tests.serving_fakes import PDF, FakeEncoders
from tests.ui.serving import run_apart

REQUEST = SimpleNamespace(session_hash="page")
COMPLETE = {"load", "sample", "new", "ocr"}  # actions that need nothing more than their name, or that take long
CHANGES = {"remove", "retry", "anyway"}  # what exists would be gone after them
ACTIONS = sorted(
    {
        action
        for template in (ASSETS.parent / "templates").glob("*.html")
        for action in re.findall(r'data-action="([a-z-]+)"', template.read_text(encoding="utf-8"))
    }
    - COMPLETE
)
FIELDS = (
    "number", "width", "rank", "citation", "document", "passage", "reading", "reader", "turn", "item", "place",
    "conversation", "evaluation", "criterion", "value", "name", "spans", "text", "state", "person", "new", "kind",
    "about", "labels", "preset", "role", "reason", "category", "active", "question", "step",
)  # fmt: skip
ELSEWHERE = {  # handlers that leave what they do to other modules
    "form_clicked": (annotate_rating, annotate_rating), "manage_clicked": (annotate_setup,),
    "reviewed": (train_parts,), "compared": (train,),
}  # fmt: skip
SHAPELESS = (None, ["abc"], {"action": {"a": ["b"]}}, {"action": "no such action"})


def malformed(handler: Any, known: dict[str, str]) -> Iterator[Any]:
    """Yield clicks that no page sends; `known` are values that exist, so that handlers go on to the others."""
    source = inspect.getsource(inspect.unwrap(handler))
    source += "".join(map(inspect.getsource, ELSEWHERE.get(inspect.unwrap(handler).__name__, ())))
    yield from SHAPELESS
    for action in [one for one in ACTIONS if f'"{one}"' in source] or ["page"]:
        yield {"action": action}
        yield {"action": action, **{name: {"a": 1} for name in FIELDS}}
        yield {"action": action, **dict.fromkeys(FIELDS, "-1"), **({} if action in CHANGES else known)}


class Opened:
    """A page with its services, and the states that an open browser would have."""

    def __init__(self, services: Services, states: dict[type, Any]) -> None:
        self.services, self.states = services, states
        self.page = build_page(services)
        self._session = SessionState(self.page)

    def session(self) -> SessionState:
        """Return the state of a page that was just opened; what all of its components are is worked out once."""
        session = copy(self._session)
        session.blocks_config = copy(self.page.default_config)
        session.config_values = dict(self._session.config_values)
        session.state_data, session._state_ttl = {}, {}
        return session

    @property
    def clickable(self) -> list[Any]:
        """The handlers that take what was clicked."""
        return [one for one in self.page.fns.values() if one.fn and one.collects_event_data]

    def places(self, one: Any) -> gr.HTML:
        """Return where the errors of a handler are told."""
        return one.outputs[-1]

    def send(self, one: Any, data: Any) -> list[Any]:
        """Send a click as the server gets it from a browser, and return the last values of the outputs."""
        return run_apart(self._send(one, data))

    async def _send(self, one: Any, data: Any) -> list[Any]:
        state, iterator, result = self.session(), None, {"data": []}
        for block in one.inputs:
            if block.stateful and type(block.value) in self.states:
                state[block._id] = self.states[type(block.value)]
        event = gr.EventData(None, data)
        inputs = [None if block.stateful else block.value for block in one.inputs]
        while True:
            step = await self.page.process_api(
                one, inputs, state=state, request=REQUEST, event_data=event, iterator=iterator
            )
            iterator = step["iterator"]
            if not step["is_generating"]:
                return (step if not result["data"] else result)["data"]
            result = step


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """A page with the sample, an answered question, a study of it that Ada rates, and an evaluation."""
    folder = tmp_path_factory.mktemp("guard")
    models = replace(Models.open(folder, LITERAL), encoders=FakeEncoders())
    with Services.open(folder, LITERAL, models) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        stored = stored_of(asked(services, METERS))
        study = services.studies.create_of(LOCAL_OWNER, stored.conversation_id, stored.turn.id)
        ada = services.studies.sign_in(LOCAL_OWNER, study.id, "Ada")
        service: EvaluationService = services.evaluation
        file = Setup(services).file(SAMPLE_QUESTIONS, None)
        *_, evaluation = service.evaluate_retrieval(LOCAL_OWNER, file, grid(LITERAL, ["windows"], ["bm25"]))
        list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=4), LITERAL))
        made = services.training.synthesis.kept.list(LOCAL_OWNER)[0].id
        states: dict[type, Any] = {
            TrainState: TrainState("review", question=made),
            Session: Session(LOCAL_OWNER, LITERAL, arrived=True),
            ChatState: ChatState(stored.conversation_id, stored.turn.id, 1, 0),
            Work: Work(study.id, ada, stored.turn.id, rank=1),
            EvaluateState: EvaluateState(evaluation.id, item=evaluation.systems[0].items[0].id),
            str: only(services).id,
        }
        yield Opened(services, states)


def test_every_handler_is_guarded_and_every_place_is_one_that_shows_errors(opened: Opened):
    handlers = [one for one in opened.page.fns.values() if one.fn]
    assert len(handlers) > 90
    offered = [one for one in handlers if one.api_visibility != "private"]  # to other programs: see test_api
    names = sorted(one.api_name for one in offered)
    assert names == ["ask", "evaluate", "ingest", "list_documents", "read_page", "search"]
    for one in handlers:
        if one in offered:
            continue
        assert "pq-problem" in opened.places(one).elem_classes, one.name
        assert hasattr(one.fn, "__wrapped__"), one.name


def test_no_malformed_click_raises_or_is_unexpected(opened: Opened, caplog: pytest.LogCaptureFixture):
    chat = opened.states[ChatState]
    known = {"turn": chat.turn_id or "t", "document": only(opened.services).id, "criterion": "answer"}
    assert len(opened.clickable) >= 14
    failed = []
    for one in {inspect.unwrap(one.fn): one for one in opened.clickable}.values():
        for data in malformed(one.fn, known):
            opened.send(one, data)
            failed += [(one.name, str(data)[:160], str(record.exc_info)) for record in caplog.records
                       if record.levelno >= logging.ERROR]  # fmt: skip
            caplog.clear()
    assert failed == []


def test_what_is_malformed_is_told_beside_it_and_goes_with_the_next_success(opened: Opened):
    page = opened.page
    names = {block.elem_id: block._id for block in page.blocks.values() if getattr(block, "elem_id", None)}

    def handler(element: str) -> Any:
        return next(one for one in opened.clickable if (names[element], "click") in one.targets)

    document = only(opened.services).id
    told = opened.send(handler("documents-page"), {"document": document, "number": "abc"})[-1]
    assert "no whole number as its number, but “abc”" in told
    assert 'role="alert"' in told
    assert opened.send(handler("documents-page"), {"document": document, "number": "2"})[-1] == ""
    removed = opened.send(handler("documents-table"), {"action": "remove", "document": "0" * 64})[-1]
    assert "There is no such document" in removed
    assert "no such marker" in str(
        opened.send(handler("chat-transcript"), {"action": "cite", "turn": opened.states[ChatState].turn_id})
    )


def test_an_item_is_not_opened_before_agreement_can_be_seen(opened: Opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(opened.states, Work, Work(opened.states[Work].study_id))
    clickable = next(one for one in opened.clickable if one.name == "form_clicked")
    answer = str(opened.send(clickable, {"action": "item", "turn": opened.states[Work].turn_id}))
    assert "Agreement cannot be seen yet" in answer
    assert METERS not in answer


def test_what_nobody_foresaw_is_told_once_in_words_and_logged_once_and_the_rest_is_left_alone(
    caplog: pytest.LogCaptureFixture,
):
    def fails(event: gr.EventData) -> dict[Any, Any]:
        raise RuntimeError("out of the blue")

    def half() -> Iterator[tuple[str, str]]:
        yield "one", "two"
        raise UsageError("The second half is missing.", "Bring it.")

    def silent() -> Iterator[tuple[str, str]]:
        yield from ()

    with gr.Blocks() as page:
        text, other, button = gr.Textbox(), gr.Textbox(), gr.Button()
        for handler in (fails, half, silent):
            button.click(handler, None, [text, other])
        text.change(lambda: None, None, None)
        guard(page)
    one, two, three, four = (page.fns[n] for n in range(4))
    *rest, told = one.fn(gr.EventData(None, {}))
    assert rest == [gr.skip(), gr.skip()]
    assert "That did not work: something unexpected happened (RuntimeError)." in told
    assert [record.exc_info[0] for record in caplog.records] == [RuntimeError]
    first, last = two.fn()
    assert first == ["one", "two", ""]
    assert "The second half is missing." in last[-1]
    assert len(caplog.records) == 1
    assert list(three.fn()) == [[gr.skip(), gr.skip(), ""]]  # without a value Gradio would empty both
    assert four.targets[0][1] in BY_ITSELF
    assert four.fn() == gr.skip()  # nobody's hand did this: an error stays


def test_clicks_read_their_values_or_say_what_is_missing():
    click = clicked(gr.EventData(None, {"number": 7, "width": ""}))
    assert (click.number("number"), click.number("width", 3), click.number("rank", 1)) == (7, 3, 1)
    with pytest.raises(UsageError, match="does not say which document"):
        click["document"]
    for wrong in ("abc", "9" * 10_000, "1.5", "²", "1_0"):
        with pytest.raises(UsageError, match="no whole number") as raised:
            Click(number=wrong).number("number")
        assert len(str(raised.value)) < 150
