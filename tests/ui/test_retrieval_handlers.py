"""What the handlers of the Retrieval tab leave alone that was chosen while they worked."""

from __future__ import annotations

from types import SimpleNamespace

import gradio as gr
import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.ui import retrieval
from pdfqa_core.ui.recipe import values_of
from pdfqa_core.ui.session import Session
from tests.services.helpers import BM25, HYBRID

SESSION = Session(LOCAL_OWNER, BM25)


@pytest.fixture
def handlers(services):
    return retrieval.Handlers(
        services, SimpleNamespace(models=True, all=["field"], filled=lambda *settings: ["filled"])
    )


def test_a_changed_recipe_is_taken_before_it_is_shown(handlers):
    taken, shown = handlers.changed(("retrieval", "retriever"), SESSION, *values_of(HYBRID))
    assert taken[0].settings.retrieval == HYBRID.retrieval
    assert (taken[2], taken[3:]) == (gr.skip(), ("filled",))
    assert shown[0] == gr.skip()  # the session is not written a second time
    assert "passages" in shown[2]


@pytest.mark.parametrize(
    ("place", "reader"), [(("retrieval", "k"), "generative"), (("reading", "reader"), "extractive")]
)
def test_what_another_tab_changed_stays_where_the_form_does_not_show_it_yet(handlers, place, reader):
    session = Session(LOCAL_OWNER, BM25.changed("reading", reader="generative"))
    taken, _ = handlers.changed(place, session, *values_of(BM25.changed("reading", reader="extractive")))
    assert taken[0].settings.reading.reader == reader


def test_a_tab_that_is_filled_late_leaves_a_recipe_that_was_changed_meanwhile(handlers, monkeypatch):
    monkeypatch.setattr(retrieval, "asking_page", lambda: "page")
    handlers.form.some = lambda settings, places: ["some"] * len(places)
    preview, changes = handlers.preview, handlers.changed(("retrieval", "k"), SESSION, *values_of(BM25))
    assert handlers.show(SESSION)[3:] == ("some",) * len(retrieval.ELSEWHERE)
    monkeypatch.setattr(handlers, "preview", lambda session: next(changes) and preview(session))
    shown = handlers.show(SESSION)
    assert (shown[0], *shown[3:]) == (gr.skip(),) * (1 + len(retrieval.ELSEWHERE))


def test_a_preset_is_taken_before_it_is_shown(handlers):
    taken, shown = handlers.preset("Quick", SESSION)
    assert taken[0].settings != SESSION.settings
    assert shown[0] == gr.skip()
    assert "passages" in shown[2]


def test_a_search_ends_where_another_begins(handlers, monkeypatch):
    monkeypatch.setattr(retrieval, "asking_page", lambda: "page")
    first = handlers.search("Who wrote the report?", "nothing", "", SESSION)
    next(first)
    *_, (hits, _) = handlers.search("Where is the ammonia kept?", "nothing", "", SESSION)
    assert "ammonia" in hits
    assert list(first) == []


def test_a_hit_of_another_recipe_opens_its_page(handlers, services):
    (document,) = services.documents.kept.list(LOCAL_OWNER)
    data = {"document": document.id, "passage": "of another recipe", "spans": "3:0-20,"}
    assert f"{document.id}/3" in handlers.hit_clicked(SESSION, SimpleNamespace(_data=data))


def test_a_score_below_0_comes_with_a_word(handlers):
    dense = Session(LOCAL_OWNER, HYBRID.changed("retrieval", retriever="dense", k=20))
    for session, below in ((SESSION, False), (dense, True)):
        *_, (hits, _) = handlers.search("Where is the ammonia kept?", "nothing", "", session)
        assert (" -0." in hits) == ("one below 0 is no error" in hits) == below
