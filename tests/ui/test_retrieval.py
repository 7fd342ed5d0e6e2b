"""The retrieval test in the page: a range of pages, and overlapping passages shown as one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.ui.serving import WAIT, open_fold, open_tab

pytestmark = pytest.mark.browser


def test_pages_limit_the_search_and_merged_passages_open_their_page(page: Page) -> None:
    page.get_by_role("button", name="Try the sample").click()
    expect(page.locator("#documents-table tr[data-document]")).to_have_count(1)
    open_tab(page, "Retrieval")
    page.locator("#retrieval-columns").get_by_label("bm25", exact=True).first.check()
    question = page.locator("#retrieval-question :is(textarea, input)")
    pages = page.locator("#retrieval-pages :is(textarea, input)")
    question.fill("heat pump electricity in January")
    pages.fill("6")
    pages.press("Enter")
    places = page.locator("#retrieval-hits .pages")
    expect(places.first).to_contain_text("6", timeout=2 * WAIT)
    assert all("6" in place for place in places.all_text_contents())
    pages.fill("six")
    pages.press("Enter")
    expect(page.locator("#retrieval-hits")).to_contain_text("'six' is no range of pages")
    open_fold(page, "Evidence shown")
    page.get_by_label("Overlapping passages as one").check()
    pages.fill("")
    question.press("Enter")
    expect(places.first).to_be_visible()
    page.locator("#retrieval-hits").get_by_role("button", name="open page").first.click()
    expect(page.locator("#retrieval-page .sheet [class*=mark]").first).to_be_visible()
    open_tab(page, "Documents")
    page.locator("#documents-table").get_by_role("button", name="remove").click()
    expect(page.locator("#documents-table tr[data-document]")).to_have_count(0)
