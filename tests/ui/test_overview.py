"""A document's overview: contents and summary lead to pages, a question to the chat, and OCR mends one page."""

from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui import build_page, launch
from tests.services.helpers import LITERAL
from tests.serving_fakes import FakeModels
from tests.ui.serving import SAMPLE, App, open_page, open_tab, running
from tests.ui.test_states import add, row, state, upload

pytestmark = pytest.mark.browser

SCANNED = "Boats are kept in the hall during the winter."
DRAWN = """() => {
  window.drawn = [];
  const seen = () => [...document.querySelectorAll("#overview-about h2, #overview-questions .chip")];
  const note = () => window.drawn.push(seen().filter((e) => e.checkVisibility()).map((e) => e.textContent).join(" | "));
  new MutationObserver(() => setTimeout(note, 50)).observe(
    document.getElementById("documents-overview"), { subtree: true, childList: true });
}"""  # notes title and questions after each change


@pytest.fixture(scope="module")
def quoting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app answering in quotes, with the sample in it."""
    folder = tmp_path_factory.mktemp("overview")
    (folder / "workspace").mkdir()
    (folder / "workspace" / "pdfqa.toml").write_text('[reading]\nreader = "extractive"\n', encoding="utf-8")
    with running(folder) as app:
        yield app


@pytest.fixture
def view(browser: Browser, quoting: App) -> Iterator[Page]:
    with open_page(browser, quoting.url) as page:
        yield page


def mixed() -> bytes:
    """Return a PDF with a page of text and two that are pictures of text."""
    from PIL import Image, ImageDraw, ImageFont

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    canvas.setTitle("Rules of the harbour")
    canvas.drawString(72, 760, "The quarry at Oldham sells granite by the tonne.")
    canvas.showPage()
    for number in (2, 3):
        image = Image.new("RGB", (1240, 1754), "white")
        font = ImageFont.load_default(size=34)
        ImageDraw.Draw(image).text((90, 120), f"{SCANNED} Page {number}.", fill="black", font=font)
        canvas.drawImage(ImageReader(image), 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def choose_sample(view: Page) -> None:
    """Choose the sample, which is added where it is not there."""
    expect(view.locator("#documents-table .pq")).to_be_visible()
    if not row(view, SAMPLE.name).count():
        view.set_input_files("#documents-upload input[type=file]", SAMPLE)
    row(view, SAMPLE.name).locator("td").first.click()
    expect(view.locator("#overview-about")).to_contain_text("Harbour Heat")


def test_a_chosen_document_shows_what_it_is_and_its_contents_lead_to_pages(view: Page):
    choose_sample(view)
    about = view.locator("#overview-about")
    expect(about).to_contain_text("Kestrel Bay Heat Works")
    expect(about.locator(".facts")).to_have_text("8 pages · English · harbour-heat.pdf")
    entries = view.locator("#overview-contents li")
    expect(entries.first).to_contain_text("1 Purpose")
    entries.filter(has_text="6.3 Eelgrass").get_by_role("button").click()
    expect(view.locator("#documents-page img")).to_have_attribute("alt", re.compile("^page 7 of"))
    expect(view.locator("#documents-page .jump input")).to_have_value("7")
    view.locator("#documents-page").get_by_role("button", name="next page").click()
    expect(view.locator("#documents-page img")).to_have_attribute("alt", re.compile("^page 8 of"))


def test_a_summary_in_quotes_leads_to_its_sentences_and_is_there_again(view: Page):
    choose_sample(view)
    summary = view.locator("#overview-summary")
    summary.get_by_role("button", name="Summarise").click()
    expect(summary.locator(".answer")).to_contain_text("The heat pump has run since 4 October 2022")
    marker = summary.locator(".cite").nth(2)
    expect(marker).to_have_attribute("title", re.compile("gas boiler"))
    marker.click()
    expect(view.locator("#documents-page img")).to_have_attribute("alt", re.compile("^page 2 of"))
    expect(view.locator("#documents-page i.quote").first).to_be_in_viewport()
    view.reload()
    expect(view.locator("#overview-summary .answer")).to_contain_text("The heat pump has run since 4 October 2022")
    expect(view.locator("#overview-summary")).to_contain_text("sentences of the document")


def test_a_first_question_is_asked_in_the_chat_about_this_document(view: Page):
    choose_sample(view)
    question = view.locator("#overview-questions .chip").nth(1)
    words = question.inner_text()
    question.click()
    expect(view.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    expect(view.locator("#chat-transcript .turn")).to_have_count(1)
    expect(view.locator("#chat-transcript .question")).to_have_text(words)
    expect(view.locator("#chat-transcript .answer:not(.refused)")).to_contain_text("every 15 minutes")
    expect(view.locator("#chat-scope")).to_contain_text(SAMPLE.name)
    open_tab(view, "Documents")
    view.locator("#overview-questions .chip").first.click()  # a conversation of its own
    expect(view.locator("#chat-transcript .question")).not_to_have_text(words)
    expect(view.locator("#chat-transcript .turn")).to_have_count(1)
    expect(view.locator(".conversations li:not(.day)")).to_have_count(2)


def test_one_page_is_read_with_ocr_and_the_others_stay(view: Page):
    pytest.importorskip("rapidocr")
    add(view, upload("mixed.pdf", mixed()))
    expect(state(view, "mixed.pdf")).to_have_text("ready, 2 pages without text")
    row(view, "mixed.pdf").locator("td").first.click()
    about = view.locator("#overview-about")
    expect(about.locator(".note")).to_contain_text("2 pages are pictures")
    about.get_by_role("button", name="open page 3").click()
    shown = view.locator("#documents-page")
    expect(shown.locator(".note")).to_contain_text("Page 3 has no text: it is a picture.")
    shown.get_by_role("button", name="Read this page with OCR").click()
    expect(shown.locator(".facts")).to_contain_text("read by OCR", timeout=120_000)
    expect(state(view, "mixed.pdf")).to_have_text("ready, 1 page without text")
    expect(shown.locator(".note")).to_have_count(0)
    shown.get_by_text("Text of this page").click()
    expect(shown.locator(".page-text")).to_contain_text(SCANNED)
    expect(about.locator(".note")).to_contain_text("Page 2 is a picture")
    expect(view.locator("#overview-work .turn")).to_have_count(0)


def test_the_overview_is_folded_and_stays_so(view: Page):
    choose_sample(view)
    view.get_by_role("button", name="less", exact=True).click()
    expect(view.locator("#overview-contents")).to_be_hidden()
    view.reload()
    expect(view.locator("#overview-about")).to_contain_text("Harbour Heat")
    expect(view.locator("#overview-contents")).to_be_hidden()
    view.get_by_role("button", name="more", exact=True).click()
    expect(view.locator("#overview-contents")).to_be_visible()


def test_another_document_takes_the_place_of_the_first(view: Page):
    choose_sample(view)
    expect(view.locator("#overview-questions .chip")).to_have_count(3)
    if not row(view, "mixed.pdf").count():
        add(view, upload("mixed.pdf", mixed()))
    row(view, "mixed.pdf").locator("td").first.click()
    expect(view.locator("#overview-about")).to_contain_text("Rules of the harbour")
    expect(view.locator("#overview-questions .chip")).to_have_count(0)
    expect(view.locator("#overview-contents li")).to_have_count(0)
    expect(view.locator("#overview-summary .answer")).to_have_count(0)


def titled(title: str) -> bytes:
    """Return two pages of text with this title."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    canvas.setTitle(title)
    canvas.drawString(72, 760, f"{title} is about boats that are kept in the hall during the winter.")
    canvas.showPage()
    canvas.drawString(72, 760, f"In spring the boats of {title} are taken out again.")
    canvas.save()
    return buffer.getvalue()


@pytest.fixture
def two_documents(tmp_path: Path) -> Iterator[tuple[str, Services]]:
    """The app in this process with the documents Alpha and Beta, and its services, which a test can slow down."""
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        for title in ("Alpha", "Beta"):
            file = tmp_path / f"{title}.pdf"
            file.write_bytes(titled(title))
            list(services.documents.ingest(LOCAL_OWNER, [file]))
        page = build_page(services)
        yield launch(page, services, port=0).rstrip("/"), services
        page.close(verbose=False)


def test_an_overview_that_comes_late_is_not_mixed_with_another_document(
    browser: Browser, two_documents: tuple[str, Services], monkeypatch: pytest.MonkeyPatch
):
    url, services = two_documents
    titles = {one.id: one.title for one in services.documents.list(LOCAL_OWNER)}
    late, kept = threading.Event(), services.summaries.get

    def slowly(owner, document_id, settings):
        """Hold the overview of Alpha until it may come, and have that of Beta take its time."""
        late.wait(60) if titles[document_id] == "Alpha" else time.sleep(1)
        return kept(owner, document_id, settings)

    monkeypatch.setattr(services.summaries, "get", slowly)
    monkeypatch.setattr(services.first_questions, "known", lambda *_: None)
    monkeypatch.setattr(
        services.first_questions, "offer", lambda _, document_id, __: (f"Is it {titles[document_id]}?",)
    )
    with open_page(browser, url) as view:
        expect(row(view, "Alpha.pdf")).to_be_visible()
        view.evaluate(DRAWN)
        row(view, "Alpha.pdf").locator("td").first.click()
        expect(view.locator("#documents-table tr.chosen")).to_contain_text("Alpha")
        row(view, "Beta.pdf").locator("td").first.click()
        expect(view.locator("#documents-table tr.chosen")).to_contain_text("Beta")
        late.set()
        expect(view.locator("#overview-about h2")).to_have_text("Beta")
        expect(view.locator("#overview-questions .chip")).to_have_text(["Is it Beta?"])
        assert set(view.evaluate("window.drawn")) <= {"", "Alpha", "Alpha | Is it Alpha?", "Beta", "Beta | Is it Beta?"}
        view.locator("#overview-questions section").evaluate(  # as if an answer overtook another on its way
            "part => { part.dataset.of = 'other'; window.pdfqa.shown(part); }"
        )
        expect(view.locator("#overview-questions .chip")).to_be_hidden()


def test_a_page_that_is_turned_late_does_not_take_the_place_of_another_document(
    browser: Browser, two_documents: tuple[str, Services], monkeypatch: pytest.MonkeyPatch
):
    url, services = two_documents
    titles = {one.id: one.title for one in services.documents.list(LOCAL_OWNER)}
    late, drawn = threading.Event(), services.pages.view

    def slowly(owner, document_id, number, **more):
        """Hold the second page of Alpha until it may come."""
        if titles[document_id] == "Alpha" and number == 2:
            late.wait(60)
        return drawn(owner, document_id, number, **more)

    monkeypatch.setattr(services.pages, "view", slowly)
    with open_page(browser, url) as view:
        row(view, "Alpha.pdf").locator("td").first.click()
        page = view.locator("#documents-page .page-view")
        expect(page).to_have_attribute("data-shows", re.compile("/1$"))
        with view.expect_request(lambda request: "run/predict" in request.url) as turned:
            view.locator("#documents-page .turn-on").click()
        row(view, "Beta.pdf").locator("td").first.click()
        expect(view.locator("#overview-about h2")).to_have_text("Beta")
        late.set()
        turned.value.response()
        view.wait_for_timeout(500)  # in which the answer would be drawn
        (beta,) = [one for one, title in titles.items() if title == "Beta"]
        assert page.get_attribute("data-shows") == f"{beta}/1"
        view.locator("#documents-page .turn-on").click()  # and its own pages turn
        expect(page).to_have_attribute("data-shows", f"{beta}/2")
