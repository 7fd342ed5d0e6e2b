"""The curve beside the slider "Evidence needed": it follows the slider, keeps its size, and is there without one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from pdfqa_core.reading.refusal_curve import refusal_curves
from tests.ui.serving import open_fold, open_tab

pytestmark = pytest.mark.browser


def test_the_curve_follows_the_slider_and_keeps_its_place(page: Page) -> None:
    open_tab(page, "Retrieval")
    open_fold(page, "Answering")
    curve = page.locator("#refusal-curve")
    curves = refusal_curves("combined")
    expect(curve.locator("polyline")).to_have_count(len(curves))
    number = page.locator("#recipe-confidence-threshold input[type=number]")
    slider = page.locator("#recipe-confidence-threshold input[type=range]")
    for words in curve.locator("p.words").all_text_contents():
        assert re.search(r"turns away \d+ % of the questions that cannot be answered, and \d+ % of those", words)
    slider.focus()
    page.wait_for_timeout(300)  # until the column has scrolled to it
    before = curve.bounding_box()
    for step in range(1, 4):
        slider.press("ArrowRight")
        value = float(number.input_value())
        expect(curve.locator("p.at")).to_have_text(f"At {value:.2f} it")
        assert curve.bounding_box() == before, f"it moved at step {step}"
    expect(curve.locator("p.words").first).to_contain_text(f"{curves[0].recall(value):.0%}".replace("%", " %"))
    page.locator("#retrieval-columns").get_by_label("none", exact=True).first.check()
    expect(curve.locator("polyline")).to_have_count(0)
    expect(curve).to_contain_text("No question is turned away")
