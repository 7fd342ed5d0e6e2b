"""Pieces of the tabs that need no browser."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import gradio as gr
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.ingest import Source
from pdfqa_core.services import Batch
from pdfqa_core.settings import ExtractionSettings, Settings
from pdfqa_core.storage import Reading
from pdfqa_core.types import (
    Block,
    BlockKind,
    Box,
    Document,
    DocumentState,
    Hit,
    Line,
    Page,
    Passage,
    Progress,
    Span,
)  # fmt: skip
from pdfqa_core.ui.chat_view import evidence
from pdfqa_core.ui.components import FIELD_HEIGHT, render, time_left, whole_words
from pdfqa_core.ui.documents import batch_html, read_words, unsure_words
from pdfqa_core.ui.page_view import block_boxes, hidden_texts, main_page
from pdfqa_core.ui.passage_text import marked_words, passage_parts
from pdfqa_core.ui.recipe import FIELDS, build_form, settings_from, values_of
from pdfqa_core.ui.retrieval import histogram
from pdfqa_core.ui.train_parts import build_parts


def test_a_page_view_opens_where_most_of_the_passage_stands():
    assert main_page(Passage("p", (Span("d", 2, 900, 950), Span("d", 3, 0, 400)), "text")) == 3
    assert main_page(Passage("p", (Span("d", 2, 0, 10),), "text")) == 2


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


def test_the_histogram_counts_every_passage_once():
    bins = histogram([5, 5, 6, 40, 120])
    assert sum(count for _, _, count, _ in bins) == 5
    assert (bins[0][0], bins[-1][1], bins[0][2:]) == (5, 120, (3, 100.0))
    assert len(bins) <= 12
    assert histogram([]) == histogram([7, 7]) == ()
    assert [(first, last) for first, last, _, _ in histogram([1, 2, 3])] == [(1, 1), (2, 2), (3, 3)]


def test_a_wrong_value_of_the_form_names_its_field():
    values = values_of(Settings())
    values[[name for _, name in FIELDS].index("step")] = 500
    with pytest.raises(UsageError, match=r"step \(500\) is above size \(120\)"):
        settings_from(values, Settings())


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


def test_rows_without_their_header_are_a_table_too_and_other_markdown_is_text():
    (table,) = passage_parts("| 2022 | 1,204 |\n| 2023 | 2,377 |", "heat")
    assert (table.header, len(table.rows)) == ((), 2)
    html = shown("![x](http://example.org/x.png) [link](http://example.org) # title\n<img src=x onerror=alert(1)>")
    assert "<img" not in html
    assert "<a " not in html


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


def test_a_table_has_one_rectangle_around_the_boxes_of_its_cells():
    page = page_of((BlockKind.TABLE, [(50, 100, 90, 112), (200, 100, 260, 112), (50, 120, 90, 132)]))
    table, *cells = block_boxes(page)
    assert (table.kind, [cell.kind for cell in cells]) == ("region table", ["cell"] * 3)
    assert (table.left, table.top, table.width, table.height) == (8.333, 12.5, 35.0, 4.0)


def test_hidden_words_are_told_with_their_place():
    page = page_of(
        (BlockKind.TEXT, [(50, 100, 90, 112)]),
        (BlockKind.HIDDEN, [(450, 700, 550, 712)]),
        (BlockKind.HIDDEN, [(600, 10, 600, 20)]),
    )
    assert hidden_texts(page) == [
        ("words", "at the bottom, right"), ("words", "beyond the edge of the page"),
    ]  # fmt: skip


def reading(extractor="direct", pages=8, by_ocr=0, confidence=None):
    return Reading("d", extractor, DocumentState.READY, "", pages, (), by_ocr, confidence, datetime.now(UTC), "v")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (reading(), "text"), (reading("direct, no tables"), "text, no tables"),
        (reading("pdfplumber"), "text (pdfplumber)"), (reading("visual"), "text"),
        (reading("visual", by_ocr=3), "OCR 3 of 8 pages"), (reading("visual, all pages", by_ocr=8), "OCR"), (None, ""),
    ],
)  # fmt: skip
def test_how_a_document_was_read_in_words(made, words):
    assert read_words(made) == words


def test_ocr_that_is_not_sure_is_told():
    assert unsure_words(None) == unsure_words(reading()) == ""
    assert "0.61" in unsure_words(reading("visual", by_ocr=8, confidence=0.61))
    assert unsure_words(reading("visual", by_ocr=8, confidence=0.95)) == ""


def test_the_time_left_in_words():
    assert [time_left(seconds) for seconds in (None, 1, 42, 130)] == [
        "", "about 5 s left", "about 40 s left", "about 2 min left",
    ]  # fmt: skip


def test_a_name_in_a_head_is_broken_between_its_words_alone():
    assert whole_words("ROUGE-L F<1>") == '<span class="whole">ROUGE-L</span> <span class="whole">F&lt;1&gt;</span>'


DIRECT = ExtractionSettings()


def test_files_that_are_read_side_by_side_have_a_bar_each():
    batch = Batch("b", "me", tuple(Source(Path(name), name) for name in ("a.pdf", "b.pdf", "c.pdf")), DIRECT)
    batch.steps = (Progress("Reading a.pdf", 2, 10, 120), Progress("Reading <b>.pdf", 3, 4))
    html = batch_html(batch)
    assert html.count('class="work"') == 3
    assert "all files" in html
    assert "2 of 10 · about 2 min left" in html
    assert "Reading &lt;b&gt;.pdf" in html
    batch.documents, batch.steps = (Document("d", "t", "a.pdf", 10, datetime.now(UTC), "me"),), ()
    assert "1 of 3" in batch_html(batch)


def test_the_field_for_a_file_of_the_train_tab_has_room_for_its_words():
    with gr.Blocks():
        assert build_parts().upload.height == FIELD_HEIGHT
