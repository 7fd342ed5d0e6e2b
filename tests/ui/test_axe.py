"""axe finds nothing to mend on any tab, light or dark; what is marked can be read, by its numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.ui.serving import App, open_page, open_tab

pytestmark = pytest.mark.browser

METERS = "How often are the meters read?"
TABS = ("Documents", "Retrieval", "Chat", "Annotate", "Evaluate", "Train", "Models")
LEAST = 4.5  # contrast of text, WCAG 2.2 AA

# The colour behind each marked word and its ratio to the word's own: all that is half transparent laid over another.
CONTRASTS = """
(selector) => [...document.querySelectorAll(selector)].filter((one) => one.getClientRects().length).map((one) => {
  const rgba = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, under) => top.slice(0, 3).map((value, i) => value * top[3] + under[i] * (1 - top[3]));
  const layers = [];
  for (let at = one; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
  const behind = layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  const text = over(rgba(getComputedStyle(one).color), behind);
  const linear = (v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
  const [low, high] = [light(text), light(behind)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
})
"""


@pytest.fixture(scope="module")
def page(browser: Browser, app: App) -> Iterator[Page]:
    """The sample, indexed, searched, asked about, in a study that is being rated, and evaluated."""
    with open_page(browser, app.url) as opened:
        opened.get_by_role("button", name="Try the sample").click()
        expect(opened.locator("#documents-table .state")).to_have_text("ready")
        open_tab(opened, "Retrieval")
        opened.locator("#retrieval-question").get_by_role("textbox").fill(METERS)
        opened.locator("#retrieval-search").click()
        opened.locator("#retrieval-hits").get_by_role("button", name="open page").first.click()
        expect(opened.locator("#retrieval-page img")).to_be_visible()
        open_tab(opened, "Chat")
        opened.locator("#chat-question textarea").fill(METERS)
        opened.locator("#chat-question textarea").press("Enter")
        expect(opened.locator("#chat-transcript .turn .meta")).to_be_visible()
        opened.locator("#chat-transcript .cite").first.click()
        expect(opened.locator("#chat-page i.quote").first).to_be_visible()
        open_tab(opened, "Evaluate")
        opened.locator("#evaluate-retrievers").get_by_label("dense").uncheck()
        opened.locator("#evaluate-retrievers").get_by_label("hybrid").uncheck()
        opened.locator("#evaluate-go").click()
        opened.locator("#evaluate-items tr[data-item]").first.click()
        expect(opened.locator("#evaluate-page img")).to_be_visible()
        open_tab(opened, "Chat")
        opened.get_by_role("button", name="good answer").click()
        expect(opened.get_by_role("button", name="good answer")).to_have_attribute("aria-pressed", "true")
        opened.get_by_role("button", name="add to study…").click()
        opened.get_by_role("button", name="a new study of this answer").click()
        opened.get_by_role("button", name="open it").click()
        expect(opened.locator("#annotate-results")).to_contain_text("Nobody has signed in yet")
        opened.locator("#annotate-name").get_by_role("textbox").fill("Ada")
        opened.locator("#annotate-begin").click()
        expect(opened.locator(".annotate-bar")).to_be_visible()
        yield opened


def scheme(page: Page, dark: bool) -> None:
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
    page.wait_for_timeout(400)  # what fades from one colour to the other


def findings(page: Page, dark: bool = False) -> list[str]:
    """Return what axe finds: rule, words and the first lines of HTML of each place; dark, of colours alone."""
    only = {"runOnly": ["color-contrast"]} if dark else {}
    results: dict[str, Any] = Axe().run(page, options={"resultTypes": ["violations"], **only}).response
    return [
        f"{found['id']}: {node['html'][:200]} | {' '.join(node['failureSummary'].split())[:300]}"
        for found in results["violations"]
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", TABS)
def test_axe_finds_nothing(page: Page, name: str, dark: bool):
    open_tab(page, name)
    scheme(page, dark)
    page.wait_for_timeout(1000)
    assert findings(page, dark) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_the_list_of_keys(page: Page, dark: bool):
    scheme(page, dark)
    page.locator("[data-shortcuts]").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert findings(page, dark) == []
    page.keyboard.press("Escape")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_marked_words_and_lines_can_be_read(page: Page, dark: bool):
    scheme(page, dark)
    open_tab(page, "Chat")
    for selector in ("#chat-evidence mark", "#chat-evidence .quoted", "#chat-evidence .quoted mark"):
        contrasts = page.evaluate(CONTRASTS, selector)
        assert contrasts, selector
        assert min(contrasts) >= LEAST, (selector, contrasts)
    open_tab(page, "Retrieval")
    contrasts = page.evaluate(CONTRASTS, "#retrieval-hits mark")
    assert contrasts
    assert min(contrasts) >= LEAST


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["mark", "quote"])
def test_marked_lines_of_the_page_image_can_be_read(page: Page, kind: str, dark: bool):
    scheme(page, dark)
    open_tab(page, "Chat")
    line = page.locator(f"#chat-page i.{kind}").first
    line.scroll_into_view_if_needed()
    pixels = Image.open(io.BytesIO(line.screenshot())).convert("RGB")
    lights = sorted(map(luminance, pixels.getdata()))
    ink, paper = lights[0], lights[len(lights) // 2]
    assert (paper + 0.05) / (ink + 0.05) >= LEAST


def luminance(colour: tuple[int, int, int]) -> float:
    """Return the relative luminance of an sRGB colour (WCAG 2.2)."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
