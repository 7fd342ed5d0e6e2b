"""One field finds titles, pages and conversations, by keyboard, and opens each in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.ui.serving import App, open_page, open_tab
from tests.ui.test_axe import findings
from tests.ui.test_places import FLATS, METERS, ask, opened

pytestmark = [pytest.mark.browser, pytest.mark.model]


@pytest.fixture(scope="module")
def visitor(browser: Browser, demo: App) -> Iterator[Page]:
    """A visitor with the sample, who has asked three questions in one conversation."""
    with open_page(browser, demo.url, left=True) as page:
        page.get_by_role("button", name="Try the sample").click()
        expect(page.locator("#documents-table .state")).to_have_text("ready")
        open_tab(page, "Chat")
        page.get_by_role("radio", name="quotes").click()
        expect(page.get_by_role("radio", name="quotes")).to_have_attribute("aria-checked", "true")
        ask(page, METERS)
        for number, question in enumerate((FLATS, "What does a flat pay for heat?"), start=2):
            page.locator("#chat-question textarea").fill(question)
            page.locator("#chat-question textarea").press("Enter")
            expect(page.locator("#chat-transcript .turn .meta")).to_have_count(number)
        yield page


def field(page: Page) -> Locator:
    return page.get_by_role("search").get_by_role("textbox")


def search(page: Page, words: str) -> None:
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    field(page).fill(words)
    expect(page.locator("#pq-found [data-query]")).to_have_attribute("data-query", words)


def test_a_page_is_found_by_keys_alone_and_opens_with_its_words_marked(visitor: Page):
    open_tab(visitor, "Models")
    search(visitor, "thermometers calibrated")
    found = visitor.locator("#pq-found")
    expect(found.locator("mark").first).to_have_text("thermometers")
    visitor.keyboard.press("ArrowDown")
    visitor.keyboard.press("ArrowDown")
    expect(found.locator("a", has_text="p. 4")).to_be_focused()
    visitor.keyboard.press("Enter")
    opened(visitor, "Documents")
    expect(visitor.locator("#documents-page .jump input")).to_have_value("4")
    expect(visitor.locator("#documents-page .sheet i.mark")).to_have_count(2)
    expect(visitor).to_have_url(re.compile(r"page=4&find=thermometers\+calibrated"))
    visitor.reload()
    expect(visitor.locator("#documents-page .sheet i.mark")).to_have_count(2)
    visitor.locator("#documents-page .turn-on").click()
    expect(visitor.locator("#documents-page .jump input")).to_have_value("5")
    expect(visitor.locator("#documents-page .sheet i.mark")).to_have_count(0)
    expect(visitor).not_to_have_url(re.compile("find="))
    visitor.go_back()
    opened(visitor, "Models")


def test_an_answer_is_found_and_its_conversation_opens_there(visitor: Page):
    open_tab(visitor, "Documents")
    search(visitor, '"every 15 minutes"')
    visitor.locator("#pq-found a", has_text=METERS).last.click()
    opened(visitor, "Chat")
    turn = visitor.locator("#chat-transcript .turn.current")
    expect(turn.locator(".question")).to_have_text(METERS)
    expect(turn.locator(".question")).to_be_in_viewport()
    expect(visitor.locator("#pq-find")).to_be_hidden()


def test_enter_opens_the_first_place_and_escape_leads_back(visitor: Page):
    open_tab(visitor, "Models")
    visitor.keyboard.press("Control+k")
    field(visitor).fill("harbour")
    visitor.keyboard.press("Enter")  # before anything has been found
    opened(visitor, "Documents")
    expect(visitor.locator("#documents-table tr.chosen")).to_contain_text("harbour-heat.pdf")
    visitor.get_by_role("tab", name="Documents", exact=True).focus()
    visitor.keyboard.press("Control+k")
    expect(field(visitor)).to_be_focused()
    visitor.keyboard.press("Escape")
    expect(visitor.locator("#pq-find")).to_be_hidden()
    expect(visitor.get_by_role("tab", name="Documents", exact=True)).to_be_focused()


def test_nothing_is_found_of_another_visitor_and_that_is_said(browser: Browser, demo: App, visitor: Page):
    with open_page(browser, demo.url) as other:
        search(other, "meters")
        expect(other.locator("#pq-found")).to_contain_text("Nothing has “meters”.")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_what_is_found(visitor: Page, dark: bool):
    open_tab(visitor, "Models")
    visitor.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
    search(visitor, "meters")
    visitor.wait_for_timeout(500)
    assert findings(visitor) == []
    visitor.keyboard.press("Escape")
    visitor.evaluate("document.body.classList.remove('dark')")
