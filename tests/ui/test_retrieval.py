"""The Retrieval tab: a range of pages, the page of a hit, and the curve that follows the slider "Evidence needed"."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from pdfqa_core.reading.answerability import refusal_curves
from pdfqa_core.services import LOCAL_OWNER
from tests.serving_fakes import PDF
from tests.ui.inside import opened, serving
from tests.ui.serving import open_fold, open_page, open_tab

pytestmark = pytest.mark.browser


def test_pages_limit_the_search_a_hit_opens_its_page_and_the_curve_follows_the_slider(
    browser: Browser, tmp_path
) -> None:
    with opened(tmp_path) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        with serving(services) as url, open_page(browser, url) as page:
            open_tab(page, "Retrieval")
            page.locator("#retrieval-question :is(textarea, input)").fill("heat pump electricity in January")
            pages = page.locator("#retrieval-pages :is(textarea, input)")
            pages.fill("6")
            pages.press("Enter")
            places = page.locator("#retrieval-hits .pages")
            expect(places.first).to_contain_text("6")
            assert all("6" in place for place in places.all_text_contents())
            page.locator("#retrieval-hits").get_by_role("button", name="open page").first.click()
            expect(page.locator("#retrieval-page .sheet [class*=mark]").first).to_be_visible()
            pages.fill("six")
            pages.press("Enter")
            expect(page.locator("#retrieval-hits")).to_contain_text("'six' is no range of pages")
            open_fold(page, "More")
            open_fold(page, "Answering")
            columns, curve = page.locator("#retrieval-columns"), page.locator("#refusal-curve")
            curves = refusal_curves("combined")
            expect(curve.locator("polyline")).to_have_count(len(curves))
            field = page.locator("#recipe-confidence-threshold")
            for _ in range(3):
                field.locator("input[type=range]").press("ArrowRight")
                value = float(field.locator("input[type=number]").input_value())
                expect(curve.locator("p.at")).to_have_text(f"At {value:.2f} it")
            share = f"{curves[0].recall(value):.0%}".replace("%", " %")
            expect(curve.locator("p.words").first).to_contain_text(share)
            columns.get_by_label("none", exact=True).first.check()
            expect(curve).to_contain_text("No question is turned away")
            expect(curve.locator("polyline")).to_have_count(0)
