"""The chat in the browser: two people at once, a selection that finds its evidence, what is kept over a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from playwright.sync_api import Browser, Page, expect
from reportlab.pdfgen.canvas import Canvas

from tests.ui.serving import SAMPLE, App, open_page, open_tab

pytestmark = [pytest.mark.browser, pytest.mark.model]

METERS = "How often are the meters read?"
FLATS = "How many flats does Ropewalk Court have?"


def ready(page: Page) -> None:
    expect(page.locator("#pq-header")).to_contain_text("SmolLM2 135M Instruct ready", timeout=180_000)


def ask(page: Page, question: str) -> None:
    page.locator("#chat-question textarea").fill(question)
    page.locator("#chat-question textarea").press("Enter")


@pytest.fixture(scope="module")
def visitor(browser: Browser, demo: App) -> Iterator[Page]:
    """A visitor of a demo who takes the sample and asks one of the questions that are offered."""
    with open_page(browser, demo.url) as page:
        ready(page)
        open_tab(page, "Chat")
        page.get_by_role("button", name="Try the sample").click()
        page.get_by_role("radio", name="own words").click()
        page.locator("#chat-transcript").get_by_role("button", name=FLATS).click()
        expect(page.locator("#chat-transcript .turn")).to_have_count(1)
        yield page


def test_three_clicks_lead_from_nothing_to_an_answer_and_a_fourth_to_its_page(visitor: Page):
    turn = visitor.locator("#chat-transcript .turn")
    expect(turn.locator(".checked")).to_contain_text(re.compile(r"\d sentences?: "))
    expect(turn.locator(".badge").first).to_be_visible()
    expect(turn.locator(".meta")).to_contain_text(re.compile(r"first word \d+\.\d s · \d+ tokens/s"))
    turn.locator(".cite").first.click()
    expect(visitor.locator("#chat-page i.quote").first).to_be_in_viewport()
    expect(visitor.locator(".follow-ups .chip").first).to_be_visible()


def test_a_selection_in_an_answer_marks_the_sentence_that_fits_it(visitor: Page):
    text = visitor.locator("#chat-transcript .answer > span").first
    visitor.locator("#chat-evidence .passage").nth(2).click()
    expect(visitor.locator("#chat-evidence .passage.chosen .rank")).to_have_text("3")
    selected = text.evaluate(
        """span => {
          const range = document.createRange();
          range.selectNodeContents(span);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          return getSelection().toString();
        }"""
    )
    expect(visitor.locator("#chat-evidence .passage.chosen .quoted").first).to_be_in_viewport()
    expect(visitor.locator("#chat-page i.quote").first).to_be_in_viewport()
    assert visitor.evaluate("getSelection().toString()") == selected  # it is still selected
    visitor.evaluate("getSelection().removeAllRanges()")


def test_a_copied_answer_has_its_citations_as_footnotes(visitor: Page):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    turn = visitor.locator("#chat-transcript .turn")
    turn.get_by_role("button", name="copy", exact=True).click()
    expect(turn.get_by_role("button", name="copied")).to_be_visible()
    answer, _, notes = visitor.evaluate("navigator.clipboard.readText()").partition("\n\n[")
    marker, quote = re.match(r"(\d)\] harbour-heat\.pdf, p\. \d: “(.+?)”", notes).groups()
    assert f" [{marker}]" in answer
    assert quote in " ".join(visitor.locator("#chat-evidence").inner_text().split())

    select = "answer => getSelection().selectAllChildren(answer)"
    turn.locator(".answer").evaluate(select)
    visitor.keyboard.press("Control+c")
    copied = visitor.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(answer[:20])
    assert f"\n\n[{marker}] harbour-heat.pdf, p. " in copied
    assert "✓" not in copied
    visitor.evaluate("getSelection().removeAllRanges()")


def test_a_conversation_is_saved_with_its_pages_in_the_form_that_is_chosen(visitor: Page, tmp_path: Path):
    chosen = visitor.locator(".conversations li.chosen")
    for form, suffix in (("Markdown", "md"), ("Word", "docx"), ("web page", "html")):
        chosen.locator("summary").click()
        with visitor.expect_download() as download:
            chosen.get_by_role("button", name=form, exact=True).click()
        assert download.value.suggested_filename == f"How many flats does Ropewalk Court have.{suffix}"
        download.value.save_as(tmp_path / f"saved.{suffix}")
        expect(chosen.locator("summary")).to_have_text("export")
    saved = (tmp_path / "saved.md").read_text(encoding="utf-8")
    assert f"## 1. {FLATS}" in saved
    assert re.search(r"harbour-heat\.pdf, p\. \d: “", saved)
    word = docx.Document(str(tmp_path / "saved.docx"))
    assert f"1. {FLATS}" in [paragraph.text for paragraph in word.paragraphs]
    assert len(word.inline_shapes) > 0
    html = (tmp_path / "saved.html").read_text(encoding="utf-8")
    assert FLATS in html
    assert "data:image/" in html


def test_two_people_who_ask_at_once_get_their_own_answers(visitor: Page, browser: Browser, demo: App, make_pdf):
    fees = make_pdf(["A ship pays nine crowns for each night at the stone pier of Gannet Point."], name="fees.pdf")
    with open_page(browser, demo.url) as other:
        other.set_input_files("#documents-upload input[type=file]", fees)
        expect(other.locator("#documents-table .state")).to_have_text("ready")
        open_tab(other, "Chat")
        expect(other.locator("#chat-transcript")).to_contain_text("Ask about 1 document")
        expect(other.locator(".conversations li")).to_have_count(0)
        visitor.get_by_role("button", name="New conversation").click()
        expect(visitor.locator("#chat-transcript .turn")).to_have_count(0)

        ask(visitor, METERS)
        ask(other, "What does a ship pay for a night?")
        for page, question, filename in ((visitor, METERS, SAMPLE.name), (other, "What does a ship pay", fees.name)):
            expect(page.locator("#chat-transcript .turn")).to_have_count(1)
            expect(page.locator("#chat-transcript .question")).to_contain_text(question)
            places = page.locator("#chat-evidence .place")
            assert set(places.all_inner_texts()) == {filename}
        expect(visitor.locator("#chat-evidence")).to_contain_text("15 minutes")
        expect(visitor.locator("#chat-evidence")).not_to_contain_text("crowns")
        expect(other.locator("#chat-evidence")).to_contain_text("nine crowns")
        expect(other.locator("#chat-transcript .answer")).not_to_contain_text("minutes")


def test_an_exported_conversation_has_the_bibliography_of_a_document_that_says_enough(
    browser: Browser, demo: App, tmp_path: Path
):
    file = tmp_path / "granite.pdf"
    canvas = Canvas(str(file))
    canvas.setTitle("Granite of Gannet Point")
    canvas.setAuthor("Ann van der Smith")
    canvas.drawString(72, 700, "The granite of Gannet Point weighs 2.7 tonnes for each cubic metre.")
    canvas.save()
    with open_page(browser, demo.url) as other:
        other.set_input_files("#documents-upload input[type=file]", file)
        expect(other.locator("#documents-table .state")).to_have_text("ready")
        open_tab(other, "Chat")
        ask(other, "How much does the granite of Gannet Point weigh?")
        expect(other.locator("#chat-transcript .turn[data-turn-id]")).to_contain_text("2.7 tonnes")
        chosen = other.locator(".conversations li.chosen")
        chosen.locator("summary").click()
        with other.expect_download() as download:
            chosen.get_by_role("button", name="web page", exact=True).click()
        download.value.save_as(tmp_path / "saved.html")
    html = (tmp_path / "saved.html").read_text(encoding="utf-8")
    for words in ("BibTeX", "author = {van der Smith, Ann},", "title = {{Granite of Gannet Point}},", "CSL-JSON"):
        assert words in html


def test_the_documents_asked_about_come_back_with_the_conversation(visitor: Page):
    scope = visitor.get_by_label("Ask about")
    scope.click()
    visitor.get_by_role("option").first.click()
    chosen = visitor.locator("#chat-columns .token")
    expect(chosen).to_have_count(1)
    visitor.reload()
    open_tab(visitor, "Chat")
    expect(visitor.locator("#chat-transcript .question")).to_contain_text(METERS)
    expect(chosen).to_have_count(1)


def test_answers_are_quotes_from_the_switch_on_and_still_after_a_reload(visitor: Page):
    visitor.get_by_role("radio", name="quotes").click()
    expect(visitor.get_by_role("radio", name="quotes")).to_have_attribute("aria-checked", "true")
    turn = visitor.locator("#chat-transcript .turn").last
    turn.get_by_role("button", name=re.compile("retry|ask again", re.IGNORECASE)).click()
    expect(turn.locator(".facts")).to_contain_text("extractive")
    expect(visitor.locator("#chat-transcript .turn")).to_have_count(1)
    visitor.reload()
    open_tab(visitor, "Chat")
    expect(visitor.get_by_role("radio", name="quotes")).to_have_attribute("aria-checked", "true")
    visitor.get_by_role("radio", name="own words").click()
    expect(visitor.get_by_role("radio", name="own words")).to_have_attribute("aria-checked", "true")
    turn.get_by_role("button", name=re.compile("retry|ask again", re.IGNORECASE)).click()
    expect(turn.locator(".facts")).to_contain_text("SmolLM2")


def test_on_a_phone_all_tabs_can_be_seen_and_the_page_does_not_scroll(visitor: Page):
    visitor.set_viewport_size({"width": 390, "height": 844})
    for name in ("Documents", "Retrieval", "Chat", "Annotate", "Evaluate", "Train", "Models"):
        expect(visitor.get_by_role("tab", name=name, exact=True)).to_be_in_viewport()
    sizes = "[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]"
    assert visitor.evaluate(sizes) == [0, 0]
    visitor.set_viewport_size({"width": 1440, "height": 900})
