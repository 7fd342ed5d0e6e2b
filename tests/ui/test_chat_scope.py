"""What a question is asked about: twins are told apart, and the choice follows documents that are removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.serving import open_page, open_tab, running
from tests.ui.test_states import add, pdf, row, state, upload

pytestmark = pytest.mark.browser

LIGHT = "How far is the lamp of the lighthouse seen?"
FIRST, SECOND = "Tide tables · first.pdf", "Tide tables · second.pdf"


@pytest.fixture
def view(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with two documents of one title, and the chat set to quotes."""
    with running(tmp_path_factory.mktemp("scope")) as app, open_page(browser, app.url) as page:
        for name, pages in (("first.pdf", 1), ("second.pdf", 2)):
            add(page, upload(name, pdf(title="Tide tables", pages=pages)))
            expect(state(page, name)).to_have_text("ready")
        open_tab(page, "Chat")
        quotes = page.get_by_role("radio", name="quotes")
        quotes.click()
        expect(quotes).to_be_checked()
        yield page


def choose(page: Page, name: str) -> None:
    page.get_by_label("Ask about").click()
    page.get_by_role("option", name=name).click()
    expect(page.locator("#chat-scope")).to_contain_text(name)
    page.wait_for_timeout(1000)  # nothing shows when the server has the choice


def ask(page: Page) -> None:
    page.locator("#chat-question textarea").fill(LIGHT)
    page.keyboard.press("Enter")


def test_the_scope_follows_a_document_that_is_removed(view: Page):
    choose(view, SECOND)
    ask(view)
    expect(view.locator("#chat-transcript .turn")).to_contain_text("eighteen nautical miles")
    evidence = view.locator("#chat-evidence .passage")
    expect(evidence.first).to_contain_text("second.pdf")
    assert not [text for text in evidence.all_inner_texts() if "first.pdf" in text]

    open_tab(view, "Documents")
    row(view, "second.pdf").get_by_role("button", name="remove", exact=True).click()
    expect(view.locator("#documents-table tbody tr")).to_have_count(1)
    open_tab(view, "Chat")
    expect(view.locator("#chat-evidence")).to_contain_text("second.pdf (removed)")
    view.reload()
    open_tab(view, "Chat")
    expect(view.locator("#chat-transcript .turn")).to_have_count(1)
    expect(view.locator("#chat-scope")).not_to_contain_text("second.pdf")
    view.get_by_label("Ask about").click()
    expect(view.get_by_role("option", name=FIRST)).to_be_visible()
    view.keyboard.press("Escape")
    ask(view)
    expect(view.locator("#chat-transcript .turn")).to_have_count(2)
    expect(view.locator("#chat-transcript .turn").last).to_contain_text("eighteen nautical miles")
    expect(view.locator("#chat-evidence .passage").first).to_contain_text("first.pdf")
    expect(view.locator("#chat-transcript .turn").last).to_contain_text("so all documents were searched")
