"""Reading and encoding go on without the page that began them, and the page says how far they are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.ui.papers import long_text
from tests.ui.serving import App, open_page, open_tab, running, until
from tests.ui.test_states import add, row, state, upload

pytestmark = pytest.mark.browser

SCANS = 6
RECIPE = "[retrieval]\nembedding_precision = 'exact'\n"  # the slower one


def unhurried(folder: Path) -> Path:
    """Make a workspace in a folder where passages are encoded slowly; return the folder."""
    (folder / "workspace").mkdir()
    (folder / "workspace" / "pdfqa.toml").write_text(RECIPE)
    return folder


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running(unhurried(tmp_path_factory.mktemp("background"))) as app:
        yield app


@pytest.fixture
def view(browser: Browser, working: App) -> Iterator[Page]:
    with open_page(browser, working.url) as page:
        yield page


def scans() -> bytes:
    """Return a PDF of pages that are pictures of text: some seconds of OCR each."""
    from PIL import Image, ImageDraw, ImageFont

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    for page in range(1, SCANS + 1):
        image = Image.new("RGB", (1240, 1754), "white")
        for line in range(20):
            text = f"Minutes of the harbour board, page {page}, line {line + 1}: granite is sold by the tonne."
            ImageDraw.Draw(image).text((90, 120 + 70 * line), text, fill="black", font=ImageFont.load_default(size=26))
        canvas.drawImage(ImageReader(image), 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def test_a_fresh_document_says_how_it_can_be_searched_and_is_answered_meanwhile(view: Page, working: App):
    add(view, upload("logbook.pdf", long_text(70)))
    expect(state(view, "logbook.pdf")).to_have_text("ready")
    preparing = row(view, "logbook.pdf").locator(".preparing")
    expect(preparing).to_have_text(re.compile(r"searchable by words now, by meaning: (about \d+ |soon)"))
    row(view, "logbook.pdf").get_by_role("button", name="stop", exact=True).click()
    expect(preparing).to_have_text(re.compile(r"reading its meaning was stopped at [\d,]+ of [\d,]+ passages"))

    open_tab(view, "Chat")
    view.locator("#chat-question textarea").fill("Which page is page 123?")
    view.keyboard.press("Enter")
    expect(view.locator("#chat-transcript .turn")).to_contain_text("found by their words alone")

    open_tab(view, "Documents")
    row(view, "logbook.pdf").get_by_role("button", name="go on", exact=True).click()
    expect(preparing).to_have_text(re.compile("searchable by words now, by meaning"))
    expect(preparing).to_have_count(0, timeout=240_000)

    open_tab(view, "Chat")
    turns = view.locator("#chat-transcript .turn")
    view.locator("#chat-question textarea").fill("Which page is page 123?")
    view.keyboard.press("Enter")
    expect(turns).to_have_count(2)
    expect(turns.last).to_have_attribute("data-turn-id", re.compile("."))  # the answer is stored
    expect(turns.last).not_to_contain_text("found by their words alone")


def test_encoding_goes_on_when_the_program_starts_again_after_it_was_killed(browser: Browser, tmp_path: Path):
    with running(unhurried(tmp_path)) as app:
        with open_page(browser, app.url) as page:
            add(page, upload("logbook.pdf", long_text(70)))
            expect(row(page, "logbook.pdf").locator(".preparing")).to_have_text(re.compile("by meaning: about"))
        app.process.kill()
        app.process.wait()
    with running(tmp_path) as app, open_page(browser, app.url) as page:
        preparing = row(page, "logbook.pdf").locator(".preparing")
        expect(preparing).to_have_text(re.compile("searchable by words now, by meaning"))
        expect(preparing).to_have_count(0, timeout=240_000)
        expect(state(page, "logbook.pdf")).to_have_text("ready")


def test_ocr_goes_on_while_the_page_is_loaded_again(view: Page, working: App):
    add(view, upload("minutes.pdf", scans()))
    expect(state(view, "minutes.pdf")).to_have_text("no text")
    row(view, "minutes.pdf").get_by_role("button", name="Read with OCR").click()
    expect(view.locator("#documents-work")).to_contain_text("minutes.pdf")
    view.reload()
    expect(view.locator("#documents-work")).to_contain_text(re.compile(rf"minutes\.pdf.*of {SCANS}", re.DOTALL))
    expect(view.locator("#documents-stop")).to_be_visible()
    expect(state(view, "minutes.pdf")).to_have_text("ready", timeout=240_000)
    expect(view.locator("#documents-stop")).to_be_hidden()
    expect(view.locator("#documents-work .work")).to_have_count(0)


def test_ocr_is_stopped_from_the_page_that_was_loaded_again(view: Page, working: App):
    view.get_by_role("button", name="read again with OCR").last.click()
    expect(view.locator("#documents-work .work").first).to_be_visible()
    view.reload()
    expect(view.locator("#documents-stop")).to_be_visible()
    view.locator("#documents-stop").click()
    expect(view.locator("#documents-stop")).to_be_hidden()
    expect(view.locator("#documents-work")).to_contain_text(re.compile("stopped", re.IGNORECASE))
    until(lambda: not list((working.workspace / "incoming").iterdir()))
