"""The page by keyboard and by ear: few stops, lists with arrow keys, shortcuts, and what a screen reader is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.types import Citation, Span
from tests.services.helpers import METERS, store_of
from tests.serving_fakes import PDF
from tests.storage.conftest import turn
from tests.ui.inside import opened, serving
from tests.ui.serving import open_page, open_tab, settle
from tests.ui.test_axe import TABS

pytestmark = pytest.mark.browser

MOST_STOPS = 12  # from the top of the page to the question box
TOP = "document.body.tabIndex = -1, document.body.focus()"
FOCUSED = "document.activeElement"
OUTLINE = f"(() => {{ const s = getComputedStyle({FOCUSED}); return s.outlineStyle + s.outlineWidth }})()"
LISTEN = """
window.heard = [];
new MutationObserver((changes) => changes.filter((one) => one.target.id === "pq-said").forEach(
  (one) => one.addedNodes.forEach((words) => heard.push(words.textContent)))
).observe(document.body, {childList: true, subtree: true});
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with the sample, a long conversation full of markers, and a short one, which stay as they are."""
    with opened(tmp_path_factory.mktemp("keys")) as services, store_of(services) as store:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        short = store.conversations.create(LOCAL_OWNER, "A short one")
        store.conversations.append_turn(LOCAL_OWNER, short.id, turn("s", "Passage.", question="Short?"))
        long = store.conversations.create(LOCAL_OWNER, "A long one")
        ends = enumerate((9, 20, 31), start=1)
        marks = tuple(Citation(n, f"p{n}", Span("d" * 64, n, 0, 8), "Passage", True, 0, end) for n, end in ends)
        for number in range(12):
            asked = turn(f"t{number}", *(f"Passage {n}." for n in range(1, 5)), question=f"Question {number}?")
            answer = replace(asked.answer, text="It is so. It is not. It may be.", citations=marks)
            store.conversations.append_turn(LOCAL_OWNER, long.id, replace(asked, answer=answer))
        with serving(services) as address:
            yield address


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    with open_page(browser, url) as shown:
        yield shown


def question(page: Page) -> Locator:
    return page.locator("#chat-question textarea")


def press(page: Page, *keys: str, top: bool = False) -> None:
    """Press keys one after the other; `top`: from the top of the page, where nothing has the focus."""
    if top:
        page.evaluate(f"{TOP}, {FOCUSED}.blur()")
    for key in keys:
        page.keyboard.press(key)


def turns(page: Page, count: int) -> None:
    expect(page.locator("#chat-transcript .turn")).to_have_count(count)


def test_keys_lead_to_the_question_the_tabs_and_the_list_of_keys(page: Page) -> None:
    expect(page.locator("h1")).to_have_text("PDFQA")
    press(page, "Tab", top=True)
    expect(page.get_by_role("link", name="Skip to the question")).to_be_in_viewport()
    press(page, "Enter")
    expect(question(page)).to_be_focused()
    page.locator(".conversations .open").filter(has_text="A long one").click()
    turns(page, 12)
    press(page, "Tab", top=True)
    stops = 1
    while not page.evaluate(f"{FOCUSED}.matches('#chat-question textarea')"):  # past 36 markers in answers
        assert page.evaluate(OUTLINE) == "solid2px", page.evaluate(f"{FOCUSED}.outerHTML")
        assert stops < MOST_STOPS, "the question is not reached"
        press(page, "Tab")
        stops += 1
    open_tab(page, "Documents")
    press(page, "Tab", "Tab", "Enter", top=True)
    expect(page.get_by_role("tabpanel", name="Documents")).to_be_focused()
    documents, retrieval = (page.get_by_role("tab", name=name, exact=True) for name in TABS[:2])
    documents.press("ArrowRight")
    expect(retrieval).to_be_focused()
    expect(documents).to_have_attribute("aria-selected", "true")
    press(page, "Enter")
    expect(retrieval).to_have_attribute("aria-selected", "true")
    dialog = page.get_by_role("dialog", name="Keys")
    for name in TABS:
        open_tab(page, name)
        if name == "Chat":
            expect(question(page)).to_be_focused()  # a click on the tab leads there by itself
        press(page, "?", top=True)
        first = dialog.get_by_role("heading", level=3).first
        expect(first).to_have_text("Everywhere" if name == "Models" else name)  # Models has no keys of its own
        press(page, "Escape")
        expect(dialog).to_be_hidden()
        press(page, "/", top=True)
        expect(question(page)).to_be_focused()
    page.keyboard.type("/?")
    expect(question(page)).to_have_value("/?")
    expect(dialog).to_be_hidden()


def test_arrows_go_through_lists_and_escape_closes_what_is_open(page: Page) -> None:
    row = page.locator("#documents-table tr[data-document]")
    row.press("ArrowRight")
    expect(row.get_by_role("checkbox")).to_be_focused()
    press(page, "ArrowLeft", "Enter")
    expect(row).to_have_attribute("aria-current", "true")
    expect(page.locator("#documents-page img")).to_be_visible()
    expect(row).to_be_focused()
    open_tab(page, "Chat")
    long, short = (page.locator(".conversations .open").filter(has_text=words) for words in ("A long", "A short"))
    short.click()
    turns(page, 1)
    expect(short).to_be_focused()
    press(page, "ArrowUp", "Enter")
    turns(page, 12)
    expect(long).to_be_focused()
    cards = page.locator("#chat-evidence .passage")
    cards.first.focus()
    press(page, "ArrowDown", "ArrowDown", "Enter")
    expect(cards.nth(2)).to_have_attribute("aria-current", "true")
    expect(cards.nth(2)).to_be_focused()
    columns = page.locator("#chat-columns")
    page.get_by_role("button", name="wider").click()
    expect(columns).to_contain_class("wide")
    press(page, "Escape")
    expect(columns).not_to_contain_class("wide")
    page.get_by_role("button", name="edit", exact=True).last.click()
    expect(question(page)).to_have_value("Question 11?")
    expect(page.locator("#chat-send")).to_have_text("Replace")
    question(page).press("Escape")
    expect(page.locator("#chat-send")).to_have_text("Send")
    expect(question(page)).to_have_value("")


def test_an_answer_is_read_out_once_and_what_goes_wrong_is_an_alert(page: Page) -> None:
    open_tab(page, "Chat")
    page.evaluate(LISTEN)
    question(page).fill(METERS)
    question(page).press("Enter")
    expect(page.locator("#chat-transcript .turn .meta")).to_be_visible()
    text = page.locator("#chat-transcript .answer > span").first.inner_text().strip()
    region = page.locator("#pq-said")
    expect(region).to_contain_text(text)
    expect(region).to_have_attribute("aria-live", "polite")
    cards = page.locator("#chat-evidence .passage")
    cards.first.click()  # draws the transcript again
    expect(cards.first).to_contain_class("chosen")
    settle(page)
    heard = page.evaluate("heard")
    assert [text in words for words in heard].count(True) == 1
    assert heard[-1].startswith(text)
    cards.first.evaluate("card => { card.dataset.rank = 'abc' }")
    cards.first.click()
    alert = page.locator(".column:has(> #chat-evidence) > .pq-problem").get_by_role("alert")
    expect(alert).to_contain_text("The click has no whole number as its rank, but “abc”. Load the page again")
    expect(alert).to_be_in_viewport()
    cards.nth(1).click()
    expect(alert).to_have_count(0)
