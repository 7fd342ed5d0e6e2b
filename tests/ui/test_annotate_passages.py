"""Passages while one rates: Enter after a click goes on to the next item, and the page stands where it can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect

from pdfqa_core.services import LOCAL_OWNER, Services
from tests.services.helpers import store_of, until
from tests.serving_fakes import PDF
from tests.storage.conftest import turn
from tests.ui.inside import opened, serving
from tests.ui.studies import annotate_tab, question, rate_item, sign_in

pytestmark = pytest.mark.browser

HEADER = 93  # pixels at the top that nothing else may take


def prepared(services: Services) -> Services:
    """Make a study of three answers with five long passages of the sample."""
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    (document,) = services.documents.kept.list(LOCAL_OWNER)
    with store_of(services) as store:
        talk = store.conversations.create(LOCAL_OWNER, "Heat pump")
        texts = [f"Passage {number} is long. " * 20 for number in range(1, 6)]
        for number in range(1, 4):
            asked = turn(f"t{number}", *texts, document_id=document.id, question=f"Question {number}?")
            store.conversations.append_turn(LOCAL_OWNER, talk.id, asked)
        store.studies.create(LOCAL_OWNER, "Pilot", [talk.id], 1)
    return services


def boxes(page: Page) -> tuple[FloatRect, FloatRect, FloatRect]:
    """Return where the fourth passage, the page and the form stand."""
    places = ("#annotate-item .passage[data-row='4']", "#annotate-page .page-view", "#annotate-form")
    card, view, form = (page.locator(place).bounding_box() for place in places)
    assert card
    assert view
    return card, view, form or card


def beside(page: Page) -> bool:
    card, view, form = boxes(page)
    return card["x"] + card["width"] <= view["x"] and view["x"] + view["width"] <= form["x"] and view["y"] < 150


def below(page: Page) -> bool:
    card, view, _ = boxes(page)
    height = (page.viewport_size or {"height": 0})["height"]
    return HEADER <= card["y"] < view["y"] - 80 and view["y"] + view["height"] <= height


def test_a_passage_opens_with_its_page_and_enter_goes_on(browser: Browser, tmp_path: Path) -> None:
    with opened(tmp_path) as services, serving(prepared(services)) as url, annotate_tab(browser, url) as page:
        sign_in(page, "Ada")
        passages, chosen = page.locator("#annotate-item .passage"), page.locator("#annotate-item .passage.chosen .rank")
        for width, height, where in ((1440, 900, beside), (1024, 768, below), (390, 844, below)):
            page.set_viewport_size({"width": width, "height": height})
            if width < 861:
                page.locator('[data-view-of="annotate-columns"][data-view="1"]').click()
            passages.nth(3).click()
            expect(page.locator("#annotate-page .frame img")).to_be_visible()
            expect(page.locator("#annotate-page .frame")).to_be_in_viewport(ratio=0.5)
            until(lambda where=where: where(page))
            page.keyboard.press("Escape")
            expect(page.locator("#annotate-page .page-view")).to_have_count(0)
        page.set_viewport_size({"width": 1440, "height": 900})

        first = question(page)
        for number in (1, 2):
            passages.nth(number - 1).click()
            expect(chosen).to_have_text(str(number))
        rate_item(page, "1yx")  # Enter is that of the form, not of the passage that was clicked
        second = question(page)
        assert second != first
        passages.nth(0).click()
        expect(chosen).to_have_text("1")
        for key in ("Shift+Tab", "Tab"):  # leads back to the passages: there Enter opens one
            page.keyboard.press(key)
        expect(passages.nth(0)).to_be_focused()
        for key in ("ArrowDown", "Enter"):
            page.keyboard.press(key)
        expect(chosen).to_have_text("2")
        expect(passages.nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(chosen).to_have_count(0)
        assert question(page) == second
