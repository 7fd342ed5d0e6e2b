"""Pieces of the tabs that need no browser."""

from __future__ import annotations

from datetime import UTC, datetime

import gradio as gr
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading
from pdfqa_core.types import (
    Block,
    BlockKind,
    Box,
    DocumentState,
    Hit,
    Line,
    Page,
    Passage,
    Span,
)  # fmt: skip
from pdfqa_core.ui import TABS
from pdfqa_core.ui.chat_view import evidence
from pdfqa_core.ui.components import render
from pdfqa_core.ui.documents import unsure_words
from pdfqa_core.ui.page_view import block_boxes, marked_words, passage_parts
from pdfqa_core.ui.recipe import FIELDS, build_form, settings_from, values_of
from pdfqa_core.ui.theme import EVERYWHERE, OF_TABS, shortcuts_html
from tests.ui.serving import ROOT


def test_the_form_gives_back_the_settings_it_was_filled_with():
    settings = Settings().changed("chunking", chunker="snippets", min_length=20, max_length=90)
    assert settings_from(values_of(settings), Settings()) == settings


def test_a_visitor_of_a_demo_cannot_choose_model_files():
    wanted = Settings().changed("retrieval", embedding_model="/etc", reranker="x/y", late_model="z", k=7)
    taken = settings_from(values_of(wanted), Settings(), models=False)
    assert taken == Settings().changed("retrieval", k=7)
    assert settings_from(values_of(wanted), Settings()) == wanted


def test_a_slider_that_says_nothing_leaves_its_setting():
    known = Settings().changed("retrieval", k=7)
    place = ("retrieval", "k")
    with gr.Blocks():
        slider = build_form(known, models=True).fields[place]
    assert (slider.preprocess(None), slider.preprocess(9)) == (None, 9)
    values = values_of(Settings())
    values[list(FIELDS).index(place)] = None
    assert settings_from(values, known) == known


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("k", 0, "“Passages found (k)”: "), ("size", None, "“Window size”: type a whole"), ("b", 7, "“BM25 b”")],
)
def test_a_wrong_value_is_told_with_the_name_on_the_screen(field, value, words):
    values = values_of(Settings())
    values[[name for _, name in FIELDS].index(field)] = value
    with pytest.raises(UsageError) as raised:
        settings_from(values, Settings())
    assert words in raised.value.what


def test_marked_words_rebuild_the_text_and_templates_escape_it():
    text = "The <b>heat</b> pump, heat & sea"
    parts = marked_words(text, "heat pump?")
    assert "".join(part for part, _ in parts) == text
    assert any(marked for _, marked in parts)
    assert "<img" not in render("note", text="<img src=x onerror=alert(1)>")


def shown(text, question="heat"):
    return evidence([Hit(Passage("p", (Span("d", 1, 0, 9),), text), 1.0, 1, "bm25")], {}, question, 1)


def test_a_markdown_table_in_a_passage_is_shown_as_a_table():
    text = "Before | it.\n\n| Year | Heat \\| steam |\n| --- | --- |\n| 2022 | <b>1,204</b> |\n| 2023 |  |\n\nAfter it."
    before, table, after = passage_parts(text, "heat")
    assert ("".join(t for t, _ in before.text), "".join(t for t, _ in after.text)) == ("Before | it.", "After it.")
    assert ["".join(t for t, _ in cell) for cell in table.header] == ["Year", "Heat | steam"]
    rows = [["".join(t for t, _ in cell) for cell in row.cells] for row in table.rows]
    assert rows == [["2022", "<b>1,204</b>"], ["2023", ""]]
    html = shown(text)
    assert "<th><mark>Heat</mark> | steam</th>" in html
    assert "<td>&lt;b&gt;1,204&lt;/b&gt;</td>" in html
    assert "| --- |" not in html


def page_of(*blocks):
    """Return a page of 600 by 800 points with these blocks: (kind, boxes of its lines)."""
    text, lines, made = "", [], []
    for kind, boxes in blocks:
        start = len(text)
        for box in boxes:
            lines.append(Line(len(text), len(text) + 5, Box(*box)))
            text += "words "
        made.append(Block(start, len(text) - 1, kind))
        text += "\n"
    return Page("d", 1, "1", 600, 800, text, tuple(lines), tuple(made))


def test_a_block_that_runs_through_two_columns_has_a_rectangle_in_each():
    page = page_of((BlockKind.TEXT, [(50, 700, 280, 712), (50, 715, 280, 727), (320, 80, 550, 92)]))
    first, second = block_boxes(page)
    assert (first.kind, first.left, first.top, first.width) == ("region text", 8.333, 87.5, 38.333)
    assert (second.left, second.top) == (53.333, 10.0)


def reading(extractor="direct", pages=8, by_ocr=0, confidence=None):
    return Reading("d", extractor, DocumentState.READY, "", pages, (), by_ocr, confidence, datetime.now(UTC), "v")


def test_ocr_that_is_not_sure_is_told():
    assert unsure_words(None) == unsure_words(reading()) == ""
    assert "0.61" in unsure_words(reading("visual", by_ocr=8, confidence=0.61))
    assert unsure_words(reading("visual", by_ocr=8, confidence=0.95)) == ""


def test_the_docs_name_every_key_that_works_everywhere():
    page = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")
    for keys, _ in EVERYWHERE:
        assert all(key in page for key in keys.split()), keys
    assert set(OF_TABS) < set(TABS)


def test_the_keys_of_all_criteria_are_listed():
    html = shortcuts_html(CRITERIA)
    for words in ("intent of the question: boolean", "answer: incorrect", "the others are not relevant"):
        assert words in html
    for key in "123YNQWERXCSB":
        assert f"<kbd>{key}</kbd>" in html
