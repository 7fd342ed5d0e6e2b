"""Pieces of the tabs that need no browser."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import form_ratings
from pdfqa_core.settings import Settings
from pdfqa_core.types import Answer, Passage, Span, Turn
from pdfqa_core.ui.annotate import Handlers, Work
from pdfqa_core.ui.chat_view import marked_words
from pdfqa_core.ui.components import render
from pdfqa_core.ui.page_view import main_page
from pdfqa_core.ui.retrieval import FIELDS, settings_from, values_of

TURN = Turn("t", 1, "Q?", "Q?", Answer("A."))


def rated(annotator, *, intent="extractive", answer="1"):
    values = {"t": answer} if answer else {}
    return form_ratings("s", TURN, annotator, values, rated_at=datetime.now(UTC), intent=intent)


def test_a_page_view_opens_where_most_of_the_passage_stands():
    assert main_page(Passage("p", (Span("d", 2, 900, 950), Span("d", 3, 0, 400)), "text")) == 3
    assert main_page(Passage("p", (Span("d", 2, 0, 10),), "text")) == 2


def test_agreement_waits_for_those_who_have_begun_and_for_whoever_is_signed_in():
    names = ("Ada", "Ben", "Cleo")
    ratings = (*rated("Ada"), *rated("Ben"))
    assert Handlers._waiting(Work("s"), [TURN], ratings, names) == []  # Cleo has only signed in
    assert Handlers._waiting(Work("s", "Cleo"), [TURN], ratings, names) == ["Cleo"]
    begun = (*ratings, *rated("Cleo", answer=""))
    assert Handlers._waiting(Work("s", "Ada"), [TURN], begun, names) == ["Cleo"]


def test_the_form_gives_back_the_settings_it_was_filled_with():
    settings = Settings().changed("chunking", chunker="snippets", min_length=20, max_length=90)
    assert settings_from(values_of(settings), Settings()) == settings


def test_a_wrong_value_of_the_form_names_its_field():
    values = values_of(Settings())
    values[[name for _, name in FIELDS].index("step")] = 500
    with pytest.raises(UsageError, match=r"step \(500\) is above size \(120\)"):
        settings_from(values, Settings())


def test_marked_words_rebuild_the_text_and_templates_escape_it():
    text = "The <b>heat</b> pump, heat & sea"
    parts = marked_words(text, "heat pump?")
    assert "".join(part for part, _ in parts) == text
    assert any(marked for _, marked in parts)
    assert "<img" not in render("note", text="<img src=x onerror=alert(1)>")
