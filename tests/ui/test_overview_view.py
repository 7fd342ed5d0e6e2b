"""The pieces of a document's overview as HTML, without a browser."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from pdfqa_core.chunking.contents import ContentsEntry
from pdfqa_core.services import Summary
from pdfqa_core.services.overview import Overview
from pdfqa_core.types import Answer, CheckedSentence, Citation, Document, Hit, Passage, Span, Support
from pdfqa_core.ui.overview import (
    LISTED,
    Handlers,
    about_html,
    contents_html,
    facts,
    live_summary,
    questions_html,
    summary_html,
)
from pdfqa_core.ui.session import Session
from pdfqa_core.ui.showing import Showing

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DOCUMENT = Document("doc", "Rules <of> the harbour", "rules.pdf", 9, NOW, "local")


def test_what_a_document_is_is_escaped_and_lacks_what_is_not_known():
    html = about_html(Overview(DOCUMENT, "Ada & Ben"))
    assert "Rules &lt;of&gt; the harbour" in html
    assert "Ada &amp; Ben" in html
    assert 'class="authors"' not in about_html(Overview(DOCUMENT, ""))
    assert facts(Overview(DOCUMENT, "")) == ("9 pages", "rules.pdf")


@pytest.mark.parametrize(
    ("pictures", "words"),
    [((4,), "Page 4 is a picture: what it shows is not found."), ((4, 5), "2 pages are pictures")],
)
def test_pages_that_are_pictures_are_offered_to_ocr_together(pictures, words):
    html = about_html(Overview(DOCUMENT, "", pictures=pictures))
    assert words in html
    assert f'data-numbers="{",".join(map(str, pictures))}"' in html


def test_many_pictures_are_not_all_named():
    html = about_html(Overview(DOCUMENT, "", pictures=tuple(range(1, 100))))
    assert html.count('data-action="page"') == LISTED
    assert ",98,99" in html


def test_a_long_table_of_contents_has_the_rest_folded():
    first = (ContentsEntry(1, "Fees", 2),)
    short = contents_html(Overview(DOCUMENT, "", first, first))
    assert "<details>" not in short
    long = contents_html(Overview(DOCUMENT, "", (*first, ContentsEntry(2, "Boats & crews", 3)), first))
    assert "All 2 headings" in long
    assert "Boats &amp; crews" in long
    assert contents_html(Overview(DOCUMENT, "")) == questions_html(()) == ""


def test_markers_of_a_summary_name_their_page():
    text = "Boats lie here."
    hit = Hit(Passage("p", (Span("doc", 3, 0, len(text)),), text), 1.0, 1, "spread")
    citation = Citation(1, "p", Span("doc", 3, 0, len(text)), text, True, 0, len(text))
    checked = CheckedSentence(0, len(text), Support.SUPPORTED)
    answer = Answer(text, (citation,), (hit,), reader="generative", model="tiny", stopped=True, sentences=(checked,))
    html = summary_html(DOCUMENT, Summary(answer, NOW))
    assert ">p. 3</button>" in html
    assert "written by tiny" in html
    assert ">stopped<" in html
    assert "Summarise</button>" in summary_html(DOCUMENT, None)
    assert "Stop</button>" in live_summary("doc", "Boats", "writing")


def test_nothing_is_looked_up_for_a_file_that_was_just_read_while_others_are():
    batch = SimpleNamespace(done=False, documents=(DOCUMENT,))
    handlers = Handlers(SimpleNamespace(jobs=SimpleNamespace(of=lambda owner: (batch,))))
    assert handlers.fill(Session(), "doc") == ("", "", "", "")


def test_a_page_that_shows_another_document_is_known():
    shown = Showing()
    assert shown.is_on("page", "a")
    shown.put("page", "b")
    assert not shown.is_on("page", "a")
    assert shown.is_on("page", "b")
