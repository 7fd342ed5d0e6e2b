"""A document's overview: its pieces, where they lead, and that what comes late takes no other document's place."""

from __future__ import annotations

import io
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from playwright.sync_api import Browser, Response, expect
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.chunking.sections import ContentsEntry
from pdfqa_core.services import LOCAL_OWNER, Services, Summary
from pdfqa_core.services.overview import Overview
from pdfqa_core.types import Answer, CheckedSentence, Citation, Document, Hit, Passage, Span, Support
from pdfqa_core.ui.chat_view import offered
from pdfqa_core.ui.overview import (
    Handlers,
    about_html,
    contents_html,
    facts,
    live_summary,
    questions_html,
    summary_html,
)
from pdfqa_core.ui.session import Session, Showing
from tests.services.helpers import LITERAL, until
from tests.serving_fakes import PDF
from tests.ui.prepared import looking
from tests.ui.serving import SENT, open_tab, settle
from tests.ui.test_states import row

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TURNED = re.compile(r'"number":"?2"?')
DOCUMENT = Document("doc", "Rules <of> the harbour", "rules.pdf", 9, NOW, "local")
DRAWN = """() => {
  window.drawn = [];
  const seen = () => [...document.querySelectorAll("#overview-about h2, #overview-questions .chip")];
  const note = () => window.drawn.push(seen().filter((e) => e.checkVisibility()).map((e) => e.textContent).join(" | "));
  new MutationObserver(() => setTimeout(note, 50)).observe(
    document.getElementById("documents-overview"), { subtree: true, childList: true });
}"""  # notes title and questions after each change


def titled(folder: Path, title: str) -> Path:
    """Make a PDF of two pages of text with this title."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    canvas.setTitle(title)
    canvas.drawString(72, 760, f"{title} is about boats that are kept in the hall during the winter.")
    canvas.showPage()
    canvas.drawString(72, 760, f"In spring the boats of {title} are taken out again.")
    canvas.save()
    file = folder / f"{title}.pdf"
    file.write_bytes(buffer.getvalue())
    return file


def is_of_a_list(response: Response) -> bool:
    """Whether it answers what a list of choices told the server."""
    return SENT.search(response.url) is not None and '"data":[[' in (response.request.post_data or "")


@pytest.mark.browser
def test_contents_and_summary_lead_to_pages_and_a_question_to_the_chat(browser: Browser, tmp_path: Path):
    with looking(browser, tmp_path, PDF) as (view, app):
        row(view, PDF.name).locator("td").first.click()
        expect(view.locator("#overview-about .facts")).to_have_text("8 pages · English · harbour-heat.pdf")
        image, summary = view.locator("#documents-page img"), view.locator("#overview-summary")
        view.locator("#overview-contents li", has_text="6.3 Eelgrass").get_by_role("button").click()
        expect(image).to_have_attribute("alt", re.compile("^page 7 of"))
        summary.get_by_role("button", name="Summarise").click()
        expect(summary.locator(".answer")).to_contain_text("The heat pump has run since 4 October 2022")
        summary.locator(".cite").nth(2).click()
        expect(image).to_have_attribute("alt", re.compile("^page 2 of"))
        expect(view.locator("#documents-page i.quote").first).to_be_in_viewport()
        view.get_by_role("button", name="less", exact=True).click()
        view.reload()
        expect(view.locator("#overview-about")).to_contain_text("Harbour Heat")
        expect(view.locator("#overview-contents")).to_be_hidden()
        view.get_by_role("button", name="more", exact=True).click()
        expect(summary.locator(".answer")).to_contain_text("The heat pump has run since 4 October 2022")
        asked = view.locator("#overview-questions .chip").nth(1)
        words = asked.inner_text()
        asked.click()
        expect(view.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
        expect(view.locator("#chat-transcript .question")).to_have_text([words])
        expect(view.locator("#chat-scope")).to_contain_text(PDF.name)
        (conversation,) = app.services.answers.conversations.list(LOCAL_OWNER)
        view.locator("#chat-scope .remove-all").click()
        expect(view.locator("#chat-scope")).not_to_contain_text(PDF.name)
        until(lambda: not app.services.answers.conversations.get(LOCAL_OWNER, conversation.id).document_ids)
        open_tab(view, "Retrieval")
        scope = view.locator("#retrieval-scope")
        scope.locator("input").click()
        with view.expect_response(is_of_a_list):
            scope.get_by_role("option").first.click()
        view.keyboard.press("Escape")
        expect(scope).to_contain_text(PDF.name)
        with view.expect_response(is_of_a_list):
            scope.locator(".remove-all").click()
        for name in ("Chat", "Retrieval"):  # which fills the field with what the server knows
            open_tab(view, name)
            expect(view.locator(f"#{name.lower()}-scope")).not_to_contain_text(PDF.name)


@pytest.mark.browser
def test_what_comes_late_does_not_take_the_place_of_another_document(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    files = [titled(tmp_path, title) for title in ("Alpha", "Beta")]
    with looking(browser, tmp_path, *files) as (view, app):
        services, ids = app.services, app.ids()
        titles = {ids[f"{title}.pdf"]: title for title in ("Alpha", "Beta")}
        may, over = {title: threading.Event() for title in ("Alpha", "Beta", "page")}, threading.Event()
        kept, drawn = services.answers.overviews.summary, services.documents.pages.view

        def overview_of(owner, document_id, settings):
            assert may[titles[document_id]].wait(60)
            if titles[document_id] == "Alpha":
                over.set()
            return kept(owner, document_id, settings)

        def page_of(owner, document_id, number, **more):
            assert number == 1 or may["page"].wait(60)
            return drawn(owner, document_id, number, **more)

        monkeypatch.setattr(services.answers.overviews, "summary", overview_of)
        monkeypatch.setattr(services.documents.pages, "view", page_of)
        monkeypatch.setattr(services.answers.suggestions, "known", lambda *_: None)
        monkeypatch.setattr(services.answers.suggestions, "first", lambda _, one, __: (f"Is it {titles[one]}?",))
        view.evaluate(DRAWN)
        row(view, "Alpha.pdf").locator("td").first.click()
        expect(view.locator("#documents-table tr.chosen")).to_contain_text("Alpha")
        page = view.locator("#documents-page .page-view")
        expect(page).to_have_attribute("data-shows", f"{ids['Alpha.pdf']}/1")
        with view.expect_request(lambda one: TURNED.search(one.post_data or "")) as turned:
            view.locator("#documents-page .turn-on").click()
        row(view, "Beta.pdf").locator("td").first.click()
        expect(view.locator("#documents-table tr.chosen")).to_contain_text("Beta")
        may["Alpha"].set()
        until(over.is_set)
        may["Beta"].set()
        expect(view.locator("#overview-about h2")).to_have_text("Beta")
        expect(view.locator("#overview-questions .chip")).to_have_text(["Is it Beta?"])
        assert set(view.evaluate("window.drawn")) <= {"", "Alpha", "Alpha | Is it Alpha?", "Beta", "Beta | Is it Beta?"}
        may["page"].set()
        turned.value.response()
        settle(view)
        expect(page).to_have_attribute("data-shows", f"{ids['Beta.pdf']}/1")
        view.locator("#documents-page .turn-on").click()  # and its own pages turn
        expect(page).to_have_attribute("data-shows", f"{ids['Beta.pdf']}/2")
        view.locator("#overview-questions section").evaluate(  # as if an answer overtook another on its way
            "part => { part.dataset.of = 'other'; window.pdfqa.shown(part); }"
        )
        expect(view.locator("#overview-questions .chip")).to_be_hidden()


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


def test_an_overview_is_of_the_document_whose_page_stands_below_it(monkeypatch: pytest.MonkeyPatch):
    below, page = Showing(), SimpleNamespace(session_hash="page")
    handlers = Handlers(SimpleNamespace(), below)
    monkeypatch.setattr(handlers, "fill", lambda session, chosen: (chosen,) * 4)
    assert handlers.draw(Session(), "first", page) == ("first",) * 4  # of no page that is open is known
    below.put("page", "open")
    assert handlers.draw(Session(), "read just now", page) == ("open",) * 4
    assert handlers.draw(Session(), "", page) == ("",) * 4


def test_a_summary_that_is_begun_while_the_overview_is_drawn_stays(services: Services, monkeypatch: pytest.MonkeyPatch):
    handlers, page, session = Handlers(services), SimpleNamespace(session_hash="page"), Session(LOCAL_OWNER, LITERAL)
    (document,) = services.documents.kept.list(LOCAL_OWNER)
    handlers.below.put("page", document.id)
    click, known = SimpleNamespace(_data={"action": "summarise"}), services.answers.suggestions.known

    def clicked_meanwhile(*about: object) -> object:
        *_, (summary, *_) = handlers.summary_clicked(session, document.id, page, click)
        assert "summarise again" in summary
        return known(*about)

    assert "Summarise</button>" in handlers.draw(session, document.id, page)[1]
    with monkeypatch.context() as patched:
        patched.setattr(services.answers.suggestions, "known", clicked_meanwhile)
        assert handlers.draw(session, document.id, page)[1] == gr.skip()
    assert "summarise again" in handlers.draw(session, document.id, page)[1]


def test_headings_to_ask_about_stand_under_one_lead_and_ask_the_whole_question():
    about = "What is said about “{}”?"
    for shown in (offered, questions_html):
        html = shown((about.format("Repairs"), "Who pays?", about.format("Deposit")))
        assert re.findall(r'data-question="([^"]*)"[^>]*>([^<]*)<', html) == [
            ("Who pays?", "Who pays?"),
            (about.format("Repairs"), "Repairs"),
            (about.format("Deposit"), "Deposit"),
        ]
        assert html.count("Ask about") == 1
        assert "Ask about" not in shown(("Who pays?",))


def test_nothing_is_looked_up_for_a_file_that_was_just_read_while_others_are():
    jobs = SimpleNamespace(of=lambda owner: (SimpleNamespace(ended=False, documents=(DOCUMENT,)),))
    handlers = Handlers(SimpleNamespace(documents=SimpleNamespace(jobs=jobs)))
    assert handlers.fill(Session(), "doc") == ("", "", "", "")
