"""axe finds nothing to mend on any tab, light or dark, wide or narrow; what is marked can be read, by its numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.systems import grid
from pdfqa_core.synthesis import RULES
from pdfqa_core.ui.evaluate_setup import SAMPLE_QUESTIONS, Setup
from tests.services.helpers import METERS, asked, stored_of
from tests.serving_fakes import PDF
from tests.ui.inside import WORD_FOR_WORD, opened, serving
from tests.ui.serving import open_page, open_tab, settle

pytestmark = pytest.mark.browser

TABS = ("Documents", "Retrieval", "Chat", "Annotate", "Evaluate", "Train", "Models")
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
NOT_ON_PHONES = ("color-contrast",)  # those of the wide page
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
FADING = "() => !document.getAnimations().some((one) => one instanceof CSSTransition && one.playState === 'running')"
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
# What can be moved sideways, what has a bar for it (room between its borders that is not its own), sliders in a bar.
SCROLLING = """[...document.querySelectorAll("*")].filter((e) => {
  const style = getComputedStyle(e), borders = parseFloat(style.borderTopWidth) + parseFloat(style.borderBottomWidth);
  const slider = e.querySelector(":scope > .wrap > .slider_input_container");
  return /auto|scroll/.test(style.overflowX) && e.checkVisibility() && (e.scrollWidth > e.clientWidth
    || e.offsetHeight - e.clientHeight - borders >= 1 || (slider && e.scrollHeight > e.clientHeight));
}).map((e) => `#${e.id} .${e.className} has a scroll bar`)"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with the sample, asked about, in a study with Ada, evaluated, and with questions that wait for review."""
    with opened(tmp_path_factory.mktemp("axe")) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        stored = stored_of(asked(services, METERS))
        study = services.studies.create_of(LOCAL_OWNER, stored.conversation_id, stored.turn.id)
        services.studies.sign_in(LOCAL_OWNER, study.id, "Ada")
        questions = Setup(services).file(SAMPLE_QUESTIONS, None)
        systems = grid(WORD_FOR_WORD, ["windows"], ["bm25"])
        list(services.evaluation.evaluate_retrieval(LOCAL_OWNER, questions, systems))
        list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=4), WORD_FOR_WORD))
        with serving(services) as address:
            yield address


def scheme(page: Page, dark: bool) -> None:
    """Switch between light and dark, and wait until no colour fades into another."""
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
    page.wait_for_function(FADING)


def findings(page: Page, dark: bool = False, without: Sequence[str] = ()) -> list[str]:
    """Return what axe finds: rule, words and the first lines of HTML of each place; dark, of colours alone.

    Tabs that are not open are left out from the beginning: nothing of them can be seen.
    """
    closed = [[f"#pq-{name.lower()}"] for name in TABS if not page.locator(f"#pq-{name.lower()}").is_visible()]
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}  # no rule needs style sheets or films
    options |= {"runOnly": ["color-contrast"]} if dark else {"rules": {rule: {"enabled": False} for rule in without}}
    context = {"exclude": closed} if closed else None
    results: dict[str, Any] = Axe().run(page, context=context, options=options).response
    return [
        f"{found['id']}: {node['html'][:200]} | {' '.join(node['failureSummary'].split())[:300]}"
        for found in results["violations"]
        for node in found["nodes"]
    ]


def scrolling(page: Page) -> list[str]:
    """Return what is wider than its place and where a bar is that nothing needs."""
    settle(page)
    wide, visible = page.evaluate(WIDTHS)
    return [f"{wide} of {visible} pixels wide"] * (wide > visible) + page.evaluate(SCROLLING)


def search(page: Page) -> None:
    """Search for METERS on the Retrieval tab, and open the page of the first hit."""
    open_tab(page, "Retrieval")
    page.locator("#retrieval-question").get_by_role("textbox").fill(METERS)
    page.locator("#retrieval-search").click()
    page.locator("#retrieval-hits").get_by_role("button", name="open page").first.click()
    expect(page.locator("#retrieval-page img")).to_be_visible()


def read(page: Page) -> None:
    """Open the conversation on the Chat tab, and the page that its answer cites."""
    open_tab(page, "Chat")
    page.locator(".conversations .open").first.click()
    page.locator("#chat-transcript .cite").first.click()
    expect(page.locator("#chat-page i.quote").first).to_be_visible()


def test_axe_finds_nothing_and_no_tab_scrolls_sideways(browser: Browser, url: str) -> None:
    wrong: list[str] = []
    with open_page(browser, url) as page:
        for name in ("Retrieval", "Annotate", "Documents"):  # as they are at first, with all that is closed
            open_tab(page, name)
            for size in (PHONE, WIDE):
                page.set_viewport_size(size)
                wrong += [f"{name}, {size['width']} pixels: {one}" for one in scrolling(page)]
        page.locator("#documents-table tr[data-document]").click()
        expect(page.locator("#documents-page img")).to_be_visible()
        search(page)
        read(page)
        open_tab(page, "Annotate")
        page.locator("#annotate-name").get_by_role("textbox").fill("Ada")
        page.locator("#annotate-begin").click()
        expect(page.locator(".annotate-bar")).to_be_visible()
        open_tab(page, "Evaluate")
        page.locator("#evaluate-items tr[data-item]").first.click()
        expect(page.locator("#evaluate-page img")).to_be_visible()
        for name in TABS:
            open_tab(page, name)
            for size, dark in ((WIDE, False), (WIDE, True), (PHONE, False)):
                page.set_viewport_size(size)
                scheme(page, dark)
                found = scrolling(page) + findings(page, dark, NOT_ON_PHONES if size == PHONE else ())
                wrong += [f"{name}, {size['width']} pixels, dark: {dark}: {one}" for one in found]
        open_tab(page, "Chat")  # on a phone: the keyboard would be called up
        expect(page.locator("#chat-question textarea")).not_to_be_focused()
        page.set_viewport_size(WIDE)
        page.locator("[data-shortcuts]").click()
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        wrong += findings(page)
    assert wrong == []


def test_what_is_marked_can_be_read(browser: Browser, url: str) -> None:
    least: dict[tuple[str, bool], float] = {}
    with open_page(browser, url) as page:
        search(page)
        read(page)
        for dark in (False, True):
            scheme(page, dark)
            open_tab(page, "Chat")
            for selector in ("mark", ".quoted", ".quoted mark"):
                read_of = f"#chat-evidence .passage {selector}"
                least[selector, dark] = min(page.evaluate(CONTRASTS, read_of))
            for kind in ("mark", "quote"):
                line = page.locator(f"#chat-page i.{kind}").first
                line.scroll_into_view_if_needed()
                pixels = Image.open(io.BytesIO(line.screenshot())).convert("RGB")
                lights = sorted(map(luminance, pixels.getdata()))
                least[f"{kind} in the image of the page", dark] = (lights[len(lights) // 2] + 0.05) / (lights[0] + 0.05)
            open_tab(page, "Retrieval")
            least["hits", dark] = min(page.evaluate(CONTRASTS, "#retrieval-hits mark"))
    assert {place: ratio for place, ratio in least.items() if ratio < LEAST} == {}


def luminance(colour: tuple[int, int, int]) -> float:
    """Return the relative luminance of an sRGB colour (WCAG 2.2)."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
