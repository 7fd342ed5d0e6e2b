"""The page by keyboard and by ear: few stops, lists with arrow keys, shortcuts, and what a screen reader is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.storage import Store
from pdfqa_core.types import Citation, Span
from tests.storage.conftest import turn
from tests.ui.serving import App, open_page, open_tab, running

pytestmark = pytest.mark.browser

METERS = "How often are the meters read?"
MOST_STOPS = 12  # from the top of the page to the question box
TABS = ("Documents", "Retrieval", "Chat", "Annotate", "Evaluate", "Train", "Models")
TOP = "document.body.tabIndex = -1, document.body.focus()"
FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app with a long conversation full of markers, and a short one."""
    folder = tmp_path_factory.mktemp("keys")
    with Store.open(folder / "workspace") as store:
        short = store.conversations.create("local", "A short one")
        store.conversations.append_turn("local", short.id, turn("s", "Passage.", question="Short?"))
        long = store.conversations.create("local", "A long one")
        for number in range(12):
            asked = turn(f"t{number}", *(f"Passage {n}." for n in range(1, 5)), question=f"Question {number}?")
            text = "It is so. It is not. It may be."
            ends = enumerate((9, 20, 31), start=1)
            marks = tuple(Citation(n, f"p{n}", Span("d" * 64, n, 0, 8), "Passage", True, 0, end) for n, end in ends)
            asked = replace(asked, answer=replace(asked.answer, text=text, citations=marks))
            store.conversations.append_turn("local", long.id, asked)
    with running(folder) as app:
        yield app


@pytest.fixture(scope="module")
def page(browser: Browser, filled: App) -> Iterator[Page]:
    with open_page(browser, filled.url) as opened:
        opened.get_by_role("button", name="Try the sample").click()
        expect(opened.locator("#documents-table .state")).to_have_text("ready")
        yield opened


def question(page: Page) -> Locator:
    return page.locator("#chat-question textarea")


def stops(page: Page, target: str, most: int) -> list[str]:
    """Press Tab from the top of the page until `target` has the focus; return what had it on the way."""
    page.evaluate(TOP)
    passed = []
    for _ in range(most + 20):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(f"{FOCUSED}.outerHTML.slice(0, 90)"))
        if page.evaluate(f"{FOCUSED}.matches({target!r})"):
            return passed
    raise AssertionError(f"{target} is not reached: {passed}")


def test_the_page_has_one_heading_and_links_past_everything(page: Page):
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("h1")).to_have_text("PDFQA")
    open_tab(page, "Documents")
    page.evaluate(TOP)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the question")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the question")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(question(page)).to_be_focused()
    open_tab(page, "Documents")
    page.evaluate(TOP)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel", name="Documents")).to_be_focused()


def test_the_question_box_is_few_stops_away_from_the_top_and_each_of_them_can_be_seen(page: Page):
    open_tab(page, "Chat")
    expect(question(page)).to_be_focused()
    page.locator(".conversations .open").filter(has_text="A long one").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(12)
    expect(page.locator("#chat-transcript .cite")).to_have_count(36)
    passed = stops(page, "#chat-question textarea", MOST_STOPS)
    assert len(passed) <= MOST_STOPS, passed
    page.evaluate(TOP)
    for _ in passed:
        page.keyboard.press("Tab")
        outline = page.evaluate(
            f"(() => {{ const s = getComputedStyle({FOCUSED}); return s.outlineStyle + s.outlineWidth }})()"
        )
        assert outline == "solid2px", page.evaluate(f"{FOCUSED}.outerHTML.slice(0, 200)")


def test_slash_leads_to_the_question_from_every_tab_and_is_a_letter_where_one_types(page: Page):
    open_tab(page, "Chat")
    question(page).fill("")
    for name in TABS:
        open_tab(page, name)
        if name == "Chat":
            expect(question(page)).to_be_focused()  # a click on the tab leads there by itself, and would do so later
        page.evaluate(f"{TOP}, {FOCUSED}.blur()")
        page.keyboard.press("/")
        expect(question(page)).to_be_focused()
        expect(page.get_by_role("tab", name="Chat", exact=True)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("/")
    expect(question(page)).to_have_value("/")
    question(page).fill("")


def test_arrows_go_through_the_tabs_and_enter_opens_one(page: Page):
    documents, retrieval = (page.get_by_role("tab", name=name, exact=True) for name in TABS[:2])
    open_tab(page, "Documents")
    documents.focus()
    page.keyboard.press("ArrowRight")
    expect(retrieval).to_be_focused()
    expect(documents).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(retrieval).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Models", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(retrieval).to_be_focused()  # the open one is the only stop


def test_a_document_is_opened_with_enter_and_keeps_the_focus(page: Page):
    open_tab(page, "Documents")
    row = page.locator("#documents-table tr[data-document]")
    row.focus()
    page.keyboard.press("ArrowRight")
    expect(row.get_by_role("checkbox")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(row.get_by_role("button").first).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(row).to_have_attribute("aria-current", "true")
    expect(page.locator("#documents-page img")).to_be_visible()
    expect(row).to_be_focused()


def test_arrows_go_through_conversations_and_evidence(page: Page):
    open_tab(page, "Chat")
    conversations = page.locator(".conversations .open")
    long, short = (conversations.filter(has_text=words) for words in ("A long one", "A short one"))
    short.click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(1)
    expect(short).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(long).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#chat-transcript .turn")).to_have_count(12)
    expect(long).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#chat-transcript .turn")).to_have_count(1)
    expect(short).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#chat-transcript .turn")).to_have_count(12)
    cards = page.locator("#chat-evidence .passage")
    cards.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(cards.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(cards.nth(2)).to_have_attribute("aria-current", "true")
    expect(cards.nth(2)).to_be_focused()


def test_what_goes_wrong_is_an_alert_in_its_column_until_something_succeeds(page: Page):
    open_tab(page, "Chat")
    card = page.locator("#chat-evidence .passage").first
    card.evaluate("card => { card.dataset.rank = 'abc' }")
    card.click()
    alert = page.locator(".column:has(> #chat-evidence) > .pq-problem").get_by_role("alert")
    expect(alert).to_contain_text("The click has no whole number as its rank, but “abc”. Load the page again")
    expect(alert).to_be_in_viewport()
    page.locator("#chat-evidence .passage").nth(1).click()
    expect(alert).to_have_count(0)


def test_an_answer_is_read_out_once_when_it_is_finished(page: Page):
    open_tab(page, "Chat")
    region = page.locator("#pq-said")
    expect(region).to_have_attribute("aria-live", "polite")
    page.evaluate(
        "window.heard = []; new MutationObserver(() => heard.push(document.getElementById('pq-said').textContent))"
        ".observe(document.getElementById('pq-said'), {childList: true})"
    )
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(0)
    question(page).fill(METERS)
    question(page).press("Enter")
    expect(page.locator("#chat-transcript .turn .meta")).to_be_visible()
    text = page.locator("#chat-transcript .answer > span").first.inner_text().strip()
    expect(region).to_contain_text(text)
    page.locator("#chat-evidence .passage").first.click()  # draws the transcript again
    expect(page.locator("#chat-evidence .passage.chosen")).to_have_count(1)
    page.wait_for_timeout(500)
    heard = page.evaluate("heard")
    assert [text in words for words in heard].count(True) == 1
    assert heard[-1].startswith(text)
    assert len(heard) == len(set(heard))


def test_escape_closes_what_is_open(page: Page):
    open_tab(page, "Chat")
    columns = page.locator("#chat-columns")
    page.get_by_role("button", name="wider").click()
    expect(columns).to_contain_class("wide")
    page.keyboard.press("Escape")
    expect(columns).not_to_contain_class("wide")
    page.get_by_role("button", name="edit", exact=True).click()
    expect(question(page)).to_have_value(METERS)
    expect(page.locator("#chat-send")).to_have_text("Replace")
    question(page).press("Escape")
    expect(page.locator("#chat-send")).to_have_text("Send")
    expect(question(page)).to_have_value("")


def test_the_keys_of_the_open_tab_stand_first_and_escape_closes_them(page: Page):
    dialog = page.get_by_role("dialog", name="Keys")
    for name in TABS:
        open_tab(page, name)
        if name == "Chat":
            expect(question(page)).to_be_focused()
        page.evaluate(f"{TOP}, {FOCUSED}.blur()")
        page.keyboard.press("?")
        expect(dialog).to_be_visible()
        first = dialog.get_by_role("heading", level=3).first
        expect(first).to_have_text(name if name != "Models" else "Everywhere")  # Models has none of its own
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
    open_tab(page, "Chat")
    question(page).fill("")
    question(page).press("?")
    expect(question(page)).to_have_value("?")
    expect(dialog).to_be_hidden()
    question(page).fill("")


def test_on_a_phone_the_chat_does_not_call_up_the_keyboard(browser: Browser, filled: App):
    with open_page(browser, filled.url) as phone:
        phone.set_viewport_size({"width": 390, "height": 844})
        open_tab(phone, "Chat")
        expect(question(phone)).to_be_visible()
        phone.wait_for_timeout(500)
        expect(question(phone)).not_to_be_focused()
