"""What the handlers of the Annotate tab show and leave alone, of a table that is brought, and of studies from Chat."""

from __future__ import annotations

import re
from dataclasses import replace

import gradio as gr
import pytest

from pdfqa_core.services import LOCAL_OWNER, Services, StudyTurn
from pdfqa_core.storage import Store
from pdfqa_core.types import Citation, Thumb
from pdfqa_core.ui import chat
from pdfqa_core.ui.annotate import Handlers
from pdfqa_core.ui.annotate_rating import Parts
from pdfqa_core.ui.annotate_setup import Asked, ImportHandlers
from pdfqa_core.ui.annotate_view import Work, read_item_html
from pdfqa_core.ui.components import Click
from pdfqa_core.ui.session import ChatState, Session
from tests.services.helpers import BM25
from tests.serving_fakes import FakeModels
from tests.storage.conftest import turn

SESSION = Session(LOCAL_OWNER, BM25)
PASSAGES, WITH_KEY = 23, 20
TABLE = "Frage;Urteil\nHow loud?;ja\nHow warm?;vielleicht\n"


@pytest.fixture
def services(tmp_path):
    with Services.open(tmp_path, BM25, FakeModels()) as opened:
        yield opened


@pytest.fixture
def study(services, tmp_path):
    """A study of the first of two questions of a conversation: it is the one with many passages."""
    with Store.open(tmp_path) as store:
        talk = store.conversations.create(LOCAL_OWNER, "Heat pump")
        texts = [f"Passage {number}." for number in range(1, PASSAGES + 1)]
        store.conversations.append_turn(LOCAL_OWNER, talk.id, turn("t1", *texts, question="How loud?"))
        made = store.studies.create(LOCAL_OWNER, "Pilot", [talk.id], 1)
        store.conversations.append_turn(LOCAL_OWNER, talk.id, turn("t2", "One.", question="How warm?"))
        return made


@pytest.fixture
def handlers(services):
    with gr.Blocks():
        parts = Parts(gr.State())
    return Handlers(services, parts)


def test_the_row_that_an_answer_was_taken_from_is_seen_while_its_passage_is_judged():
    table = "| Plan | Price of heat |\n| --- | --- |\n| Price per month | 1 |\n| Standard | 2 |"
    asked = turn("t1", *[table] * 4, question="What is the price of heat?")
    span = asked.answer.hits[1].passage.spans[0]
    cited = Citation(2, "p2", span, "| Standard | 2 |", True, 0, 6)
    one = StudyTurn(replace(asked, answer=replace(asked.answer, citations=(cited,))), "talk", "Heat pump", {})
    html = read_item_html(one, 0)
    first, second, *_ = (re.findall(r'<tr class="best ">(.*?)</tr>', card) for card in html.split('data-row="')[1:])
    assert ["<td>Standard</td><td>2</td>"] == second != first
    assert "quoted" not in html  # nor is it marked: what the program took is not to lead who judges


def test_a_late_answer_leaves_the_name_that_is_being_typed(handlers, study):
    shown = handlers.choose(study.id, Work(), SESSION)
    assert shown[handlers.parts.work] == Work(study.id)
    assert shown[handlers.parts.name].constructor_args == {"visible": True}


def test_who_rates_in_a_window_is_signed_in_after_a_reload(handlers, study):
    work = handlers.parts.work
    assert handlers.arrive(Work(), SESSION, "")[work].annotator == ""
    handlers.begin(study.id, "Ada", Work(study.id), SESSION)
    again = handlers.arrive(Work(), SESSION, f"{study.id} Ada")[work]
    assert (again.study_id, again.annotator, again.turn_id) == (study.id, "Ada", "t1")
    assert handlers.arrive(Work(), SESSION, "another Ada")[work].annotator == ""
    assert handlers.arrive(Work(), replace(SESSION, to_rate=(study.id, "t1")), f"{study.id} Ada")[work].annotator == ""


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


def test_every_passage_can_be_rated_and_the_first_of_them_by_a_key(handlers, study):
    form = handlers.begin(study.id, "Ada", Work(study.id), SESSION)[handlers.parts.form]
    buttons = re.findall(r'data-criterion="passage" data-value="1"( data-key=)?', form)
    assert [bool(key) for key in buttons] == [True] * WITH_KEY + [False] * (PASSAGES - WITH_KEY)


def test_who_has_rated_all_is_thanked_and_the_results_are_for_who_leads(handlers, study):
    parts, studies = handlers.parts, handlers.services.studies
    assert handlers.show(Work(), Session("nobody", BM25))[parts.ratings].visible is False  # there is no study yet
    for name in ("Ada", "Ben"):
        studies.sign_in(LOCAL_OWNER, study.id, name)
        said = {("t1", "intent"): "boolean", ("t1", "answer"): "1"}
        said |= {(f"t1#{rank}", "passage"): "1" for rank in range(1, 1 + PASSAGES)}
        studies.save(LOCAL_OWNER, study.id, name, "t1", said)
    rater, lead = (handlers.show(Work(study.id, name), SESSION) for name in ("Ada", ""))
    assert "Done, thank you" in rater[parts.item]
    assert rater[parts.reports.tables] == rater[parts.reports.measures] == ""
    assert lead[parts.ratings].visible is True
    assert "HR@1" in lead[parts.reports.tables]
    _, refused = handlers.report("Results, CSV", None, Work(study.id, "Ada"), SESSION)
    assert "for whoever leads the study" in refused
    made, said = handlers.report("Results, CSV", None, Work(study.id), SESSION)
    assert (bool(made), said) == (True, "")


def test_of_a_table_nothing_is_saved_before_all_of_it_fits_and_what_was_chosen_stays(
    handlers, services, study, tmp_path
):
    services.studies.sign_in(LOCAL_OWNER, study.id, "Zoë")
    services.studies.add(LOCAL_OWNER, study.id, "t2")
    brought = ImportHandlers(services, handlers.parts.spreadsheet, lambda one, session: {})
    shown, kept = handlers.parts.spreadsheet.shown, handlers.parts.spreadsheet.asked
    path = tmp_path / "urteile.csv"

    def bring(table: str, asked: Asked, **chosen: str):
        path.write_bytes(table.encode("cp1252"))
        return brought.bring(str(path), study.id, asked, SESSION, gr.EventData(None, {"action": "bring", **chosen}))

    path.write_bytes(b"PK\x03\x04book")
    assert "no text that a spreadsheet saves" in brought.show(str(path), study.id, Asked(), SESSION)[0]
    path.write_bytes(TABLE.encode("cp1252"))
    form, asked = brought.show(str(path), study.id, Asked(), SESSION)
    assert dict(asked.chosen) == {"annotator": "=Zoë"}  # the only one
    fields = re.findall(r'(Item|Annotator|Criterion|Value) <select name="(\w+)"', form)
    values = ("Frage", "=Zoë", "=answer", "Urteil")
    chosen = {place: value for (_, place), value in zip(fields, values, strict=True)}
    assert "No column is chosen for the item" in bring(TABLE, asked)[shown]
    refused = bring(TABLE, asked, **chosen, words="ja=1, nein=0")
    assert "<td>3</td><td>Urteil</td><td>&#39;vielleicht&#39; is no value of answer" in refused[shown]
    assert services._store.studies.ratings(study.id) == ()
    assert brought.show(str(path), study.id, refused[kept], SESSION)[1] == refused[kept]
    saved = bring(TABLE.replace("vielleicht", "nein"), refused[kept], **chosen, words=refused[kept].words)
    assert "Saved: 2 ratings of the table" in saved[shown]
    ratings = services._store.studies.ratings(study.id)
    assert {(one.item_id, one.annotator, one.criterion, one.value) for one in ratings} == {
        ("t1", "Zoë", "answer", "1"), ("t2", "Zoë", "answer", "0"),
    }  # fmt: skip


def test_an_answer_in_the_chat_has_a_thumb_and_goes_into_a_study_and_out_again(services, study):
    (talk,) = services.answers.conversations.list(LOCAL_OWNER)
    state = ChatState(talk.id)

    def act(**data: str) -> ChatState:
        return chat.act_on_rating(services, Click({"turn": "t2", **data}), state, SESSION)

    def studies() -> dict[str, tuple[str, ...]]:
        return {one.name: one.turn_ids for one in services.studies.list(LOCAL_OWNER)}

    for thumb in (Thumb.DOWN, Thumb.UP, Thumb.NONE):
        act(action="thumb", thumb=str(thumb.value))
        assert services._store.conversations.turn(LOCAL_OWNER, "t2").thumb is thumb
    for click, made in (
        ({"action": "study", "study": study.id}, {"Pilot": ("t1", "t2")}),
        ({"action": "new-study", "what": "turn"}, {"Pilot": ("t1",), "How warm?": ("t2",)}),
        ({"action": "new-study", "what": "talk"}, {"Pilot": ("t1",), "Heat pump": ("t1", "t2")}),
    ):
        state = act(**click)
        assert studies() == made
        state = act(action="undo-study")
        assert studies() == {"Pilot": ("t1",)}
