"""Collections are made, filled, renamed and removed on the Documents tab, and asked about in the chat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.ui.serving import App, open_page, open_tab
from tests.ui.test_states import add, pdf, row, state, upload

pytestmark = pytest.mark.browser

LIGHT = "How many nautical miles is the lamp seen?"


@pytest.fixture
def view(browser: Browser, demo: App) -> Iterator[Page]:
    """A visitor with the sample and two logbooks."""
    with open_page(browser, demo.url) as page:
        page.get_by_role("button", name="Try the sample").click()
        expect(state(page, "harbour-heat.pdf")).to_have_text("ready")
        add(page, upload("gannet.pdf", pdf(title="Gannet Point")), upload("tern.pdf", pdf(title="Tern Rock", pages=2)))
        for name in ("gannet.pdf", "tern.pdf"):
            expect(state(page, name)).to_have_text("ready")
        expect(page.locator("#documents-stop")).to_be_hidden()
        yield page


def bar(page: Page) -> Locator:
    return page.locator("#documents-collections")


def chip(page: Page, words: str) -> Locator:
    return bar(page).locator("button.chip").filter(has_text=re.compile(rf"^{words}$"))


def tick(page: Page, *filenames: str) -> None:
    for name in filenames:
        row(page, name).get_by_role("checkbox").click()
        expect(row(page, name).get_by_role("checkbox")).to_have_attribute("aria-checked", "true")


def first_row_top(page: Page) -> float:
    """Return how far the first row lies below the box for files, wherever the page is scrolled to."""
    first, box = page.locator("#documents-table tbody tr").first, page.locator("#documents-upload")
    top = "one => one.getBoundingClientRect().top"
    return float(first.evaluate(top)) - float(box.evaluate(top))


def make(page: Page, name: str) -> None:
    bar(page).get_by_role("button", name="New collection").click()
    page.keyboard.type(name)
    page.keyboard.press("Enter")


def test_documents_are_put_in_and_taken_out_and_the_table_is_narrowed(view: Page):
    expect(chip(view, "All 3")).to_have_attribute("aria-pressed", "true")
    tick(view, "gannet.pdf", "tern.pdf")
    expect(bar(view)).to_contain_text("2 chosen")
    make(view, "Lighthouses")
    chip(view, "Lighthouses 2").click()
    expect(view.locator("#documents-table tbody tr")).to_have_count(2)
    expect(row(view, "tern.pdf")).to_contain_text("in Lighthouses")
    bar(view).get_by_role("button", name="choose none").click()
    tick(view, "tern.pdf")
    bar(view).get_by_role("button", name="take out of Lighthouses").click()
    expect(chip(view, "Lighthouses 1")).to_be_visible()
    expect(view.locator("#documents-table tbody tr")).to_have_count(1)
    expect(bar(view).locator(".with-chosen")).to_be_hidden()

    chip(view, "All 3").click()
    expect(view.locator("#documents-table tbody tr")).to_have_count(3)
    make(view, "Heat")  # nothing is chosen: it is opened, and empty
    expect(view.locator("#documents-table")).to_contain_text("This collection is empty")
    chip(view, "All 3").click()
    expect(view.locator("#documents-table tbody tr")).to_have_count(3)
    tick(view, "harbour-heat.pdf")
    bar(view).get_by_role("button", name="+ Heat").click()
    expect(row(view, "harbour-heat.pdf")).to_contain_text("in Heat")

    chip(view, "Heat 1").click()
    bar(view).get_by_role("button", name="rename the collection Heat").click()
    view.keyboard.type("Warmth")
    view.keyboard.press("Enter")
    expect(chip(view, "Warmth 1")).to_be_visible()
    bar(view).get_by_role("button", name="remove the collection Warmth").click()
    expect(chip(view, "Warmth 1")).to_have_count(0)
    expect(view.locator("#documents-table tbody tr")).to_have_count(3)

    tick(view, "gannet.pdf", "tern.pdf")
    asked: list[str] = []
    view.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    bar(view).get_by_role("button", name="remove", exact=True).click()
    expect(view.locator("#documents-table tbody tr")).to_have_count(1)
    assert asked == ["Remove the 2 chosen documents from the workspace? Conversations keep their text."]
    expect(bar(view).locator(".with-chosen")).to_be_hidden()
    expect(chip(view, "All 1")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_rows_stay_where_they_are_when_one_is_ticked(view: Page, width: int, scheme: Literal["light", "dark"]):
    view.emulate_media(color_scheme=scheme)
    view.set_viewport_size({"width": width, "height": 900})
    make(view, "Lighthouses")
    expect(view.locator("#documents-table")).to_contain_text("This collection is empty")  # made, and opened
    chip(view, "All 3").click()
    expect(view.locator("#documents-table tbody tr")).to_have_count(3)
    chosen = bar(view).locator(".with-chosen")
    expect(chosen).to_be_hidden()
    before = first_row_top(view)
    tick(view, "gannet.pdf", "tern.pdf")
    expect(chosen).to_contain_text("2 chosen")
    expect(chosen).to_be_visible()
    assert first_row_top(view) == pytest.approx(before, abs=0.5)
    bar(view).get_by_role("button", name="choose none").click()
    expect(chosen).to_be_hidden()
    assert first_row_top(view) == pytest.approx(before, abs=0.5)


def test_a_taken_name_is_said_and_other_visitors_have_their_own(view: Page, browser: Browser, demo: App):
    make(view, "Lighthouses")
    expect(chip(view, "Lighthouses 0")).to_be_visible()
    make(view, "lighthouses")
    expect(view.locator("#documents-columns .pq-problem .error").first).to_contain_text("There is a collection")
    with open_page(browser, demo.url) as other:
        other.get_by_role("button", name="Try the sample").click()
        expect(chip(other, "All 1")).to_be_visible()
        expect(bar(other)).not_to_contain_text("Lighthouses")


def test_a_name_that_is_typed_outlives_documents_that_are_added_meanwhile(view: Page):
    bar(view).get_by_role("button", name="New collection").click()
    view.keyboard.type("Light")
    add(view, upload("skua.pdf", pdf(title="Skua Rock")))
    expect(chip(view, "All 4")).to_be_visible()  # the bar is drawn anew
    expect(state(view, "skua.pdf")).to_have_text("ready")
    view.keyboard.type("houses")
    view.keyboard.press("Enter")
    expect(chip(view, "Lighthouses 0")).to_be_visible()

    bar(view).get_by_role("button", name="rename the collection Lighthouses").click()
    add(view, upload("puffin.pdf", pdf(title="Puffin Bay")))
    expect(chip(view, "All 5")).to_be_visible()
    view.keyboard.type("Birds")  # the old name was chosen, and is so in the new bar
    view.keyboard.press("Home")
    add(view, upload("fulmar.pdf", pdf(title="Fulmar Cliff")))
    expect(chip(view, "All 6")).to_be_visible()
    view.keyboard.type("Sea ")  # where the caret stood
    view.keyboard.press("Enter")
    expect(chip(view, "Sea Birds 0")).to_be_visible()


@pytest.mark.model
def test_a_collection_is_asked_about_and_the_conversation_remembers_it(view: Page):
    tick(view, "gannet.pdf")
    make(view, "Lighthouses")
    expect(chip(view, "Lighthouses 1")).to_be_visible()
    open_tab(view, "Chat")
    quotes = view.get_by_role("radio", name="quotes")
    quotes.click()
    expect(quotes).to_be_checked()
    scope = view.get_by_label("Ask about")
    scope.click()
    view.get_by_role("option", name="Lighthouses · collection, 1 document").click()
    view.wait_for_timeout(1000)  # nothing shows when the server has the choice
    view.locator("#chat-question textarea").fill(LIGHT)
    view.locator("#chat-question textarea").press("Enter")
    expect(view.locator("#chat-transcript .turn")).to_contain_text("eighteen nautical miles")
    expect(view.locator("#chat-evidence .passage").first).to_be_visible()
    assert "harbour-heat" not in view.locator("#chat-evidence").inner_text()
    view.reload()
    expect(view.locator("#chat-scope")).to_contain_text("Lighthouses · collection, 1 document")

    open_tab(view, "Documents")
    row(view, "gannet.pdf").get_by_role("button", name="remove", exact=True).click()
    expect(chip(view, "Lighthouses 0")).to_be_visible()
    open_tab(view, "Chat")
    view.locator("#chat-question textarea").fill(LIGHT)
    view.locator("#chat-question textarea").press("Enter")
    expect(view.locator("#chat-live .error")).to_contain_text("“Lighthouses” holds no documents that can be searched")


def test_a_new_version_is_noticed_and_takes_the_place_of_the_earlier_one(view: Page):
    tick(view, "tern.pdf")
    make(view, "Lighthouses")
    expect(chip(view, "Lighthouses 1")).to_be_visible()
    add(view, upload("tern.pdf", pdf(title="Tern Rock", pages=3)))
    newer = view.locator("#documents-table .newer")
    expect(newer).to_contain_text("This looks like a new version of tern.pdf (2 of 3 pages the same)")
    expect(row(view, "tern.pdf")).to_have_count(2)
    newer.get_by_role("button", name="replace the earlier one").click()
    expect(row(view, "tern.pdf")).to_have_count(1)
    expect(row(view, "tern.pdf").locator("td.number").first).to_have_text("3")
    expect(row(view, "tern.pdf")).to_contain_text("in Lighthouses")
    expect(newer).to_have_count(0)

    add(view, upload("gannet.pdf", pdf(title="Gannet Point", pages=2)))
    newer.get_by_role("button", name="keep both").click()
    expect(newer).to_have_count(0)
    expect(row(view, "gannet.pdf")).to_have_count(2)


def test_chosen_rows_far_below_can_be_put_into_a_collection_without_scrolling_back(view: Page):
    view.set_viewport_size({"width": 1440, "height": 460})
    bar(view).get_by_role("button", name="New collection").click()
    view.keyboard.type("Lights")
    view.keyboard.press("Enter")
    expect(view.locator("#documents-table")).to_contain_text("This collection is empty")
    chip(view, "All 3").click()
    last = view.locator("#documents-table [data-row]").last
    last.get_by_role("checkbox").click()
    view.locator("#documents-columns > .column").first.evaluate("(column) => column.scrollTo(0, column.scrollHeight)")
    expect(last).to_be_in_viewport(ratio=1)
    put = bar(view).get_by_role("button", name="+ Lights")
    expect(put).to_be_in_viewport(ratio=1)
    put.click()
    expect(chip(view, "Lights 1")).to_be_visible()
