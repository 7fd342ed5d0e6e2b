"""Passages while one rates: Enter after a click goes on to the next item, and the page stands where it can be seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from pdfqa_core.storage import Store
from tests.storage.conftest import turn
from tests.ui.serving import open_page, open_tab, running

pytestmark = pytest.mark.browser

FINISHES = "1yx"  # the keys that rate all of an item


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Ada at the first item of a study about the sample."""
    with running(tmp_path_factory.mktemp("passages")) as app, open_page(browser, app.url) as opened:
        opened.get_by_role("button", name="Try the sample").click()
        expect(opened.locator("#documents-table .state")).to_have_text("ready")
        with Store.open(app.workspace) as store:
            (document,) = store.documents.list("local")
            talk = store.conversations.create("local", "Heat pump")
            texts = [f"Passage {number} is long. " * 20 for number in range(1, 6)]
            for number in range(1, 7):
                asked = turn(f"t{number}", *texts, document_id=document.id, question=f"Question {number}?")
                store.conversations.append_turn("local", talk.id, asked)
            store.studies.create("local", "Pilot", [talk.id], 1)
        open_tab(opened, "Annotate")
        expect(opened.locator("#annotate-results")).to_contain_text("Nobody has signed in yet")
        opened.locator("#annotate-name").get_by_role("textbox").fill("Ada")
        opened.locator("#annotate-begin").click()
        expect(opened.locator(".annotate-bar")).to_be_visible()
        yield opened


def passage(page: Page, number: int) -> Locator:
    return page.locator(f"#annotate-item .passage[data-row='{number}']")


def asked(page: Page) -> str:
    return page.locator("#annotate-item .question").inner_text()


def finish(page: Page) -> None:
    for key in FINISHES:
        page.keyboard.press(key)
    expect(page.locator("#annotate-bar")).to_contain_text("submit, next")


def opened_at(page: Page, width: int, height: int) -> tuple[FloatRect, FloatRect]:
    """Open the fourth passage with the mouse in a window of this size; return where passage and page stand."""
    page.set_viewport_size({"width": width, "height": height})
    if width < 861:
        page.locator('[data-view-of="annotate-columns"][data-view="1"]').click()
    passage(page, 4).click()
    expect(page.locator("#annotate-page .frame img")).to_be_visible()
    expect(page.locator("#annotate-page .frame")).to_be_in_viewport(ratio=0.5)
    page.wait_for_timeout(500)
    card, view = passage(page, 4).bounding_box(), page.locator("#annotate-page .page-view").bounding_box()
    assert card
    assert view
    page.keyboard.press("Escape")
    expect(page.locator("#annotate-page .page-view")).to_have_count(0)
    page.set_viewport_size({"width": 1440, "height": 900})
    return card, view


@pytest.mark.parametrize("before", ["", "Tab"])
def test_enter_goes_on_after_a_passage_was_clicked(page: Page, before: str) -> None:
    first = asked(page)
    if before:
        passage(page, 2).focus()
        page.keyboard.press("ArrowDown")
    passage(page, 1).click()
    expect(passage(page, 1)).to_contain_class("chosen")
    passage(page, 2).click()
    expect(passage(page, 2)).to_contain_class("chosen")
    finish(page)
    expect(passage(page, 2)).to_contain_class("chosen")
    page.keyboard.press("Enter")
    expect(page.locator("#annotate-item .question")).not_to_have_text(first)
    second = asked(page)
    finish(page)
    page.keyboard.press("Enter")
    expect(page.locator("#annotate-item .question")).not_to_have_text(second)


def test_a_passage_with_the_focus_opens_with_enter(page: Page) -> None:
    first = asked(page)
    passage(page, 1).click()
    expect(passage(page, 1)).to_contain_class("chosen")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(passage(page, 1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(passage(page, 2)).to_contain_class("chosen")
    expect(passage(page, 2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#annotate-item .chosen")).to_have_count(0)
    assert asked(page) == first


def test_the_page_stands_beside_the_passages(page: Page) -> None:
    card, view = opened_at(page, 1440, 900)
    assert card["x"] + card["width"] <= view["x"]
    form = page.locator("#annotate-form").bounding_box()
    assert form
    assert view["x"] + view["width"] <= form["x"]
    assert view["y"] < 150


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (390, 844)])
def test_where_there_is_no_room_the_page_stands_below_its_passage(page: Page, width: int, height: int) -> None:
    card, view = opened_at(page, width, height)
    assert 93 <= card["y"] < view["y"] - 80
    assert view["y"] + view["height"] <= height


def test_the_bar_counts_drafts_and_the_progress_what_was_submitted(page: Page) -> None:
    bar, progress = page.locator("#annotate-bar"), page.locator("#annotate-results .people-done")
    expect(progress).to_contain_text("Ada: 4 of 6 submitted")
    finish(page)
    expect(bar).to_contain_text("5 rated, drafts included")
    expect(progress).to_contain_text("Ada: 4 of 6 submitted")
