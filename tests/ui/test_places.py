"""Where one is comes back: by reload, link, back and forward; the search leads there; light or dark stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.ui.places import Place, conversation_at, document_at
from pdfqa_core.ui.session import ChatState, OpenPage
from tests.serving_fakes import PDF
from tests.ui.prepared import Prepared, prepared
from tests.ui.serving import open_page, open_tab

METERS = "How often are the meters read?"
FLATS = "How many flats does Ropewalk Court have?"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """The app with the sample and two conversations, which nobody changes."""
    with prepared(tmp_path_factory.mktemp("places"), PDF, ask=(METERS, FLATS)) as app:
        yield app


@pytest.fixture
def view(browser: Browser, asked: Prepared) -> Iterator[Page]:
    with open_page(browser, asked.url, left=True) as page:
        yield page


def says(view: Page, **parts: str) -> None:
    """Wait until the address says this, among other things."""
    for name, value in parts.items():
        expect(view).to_have_url(re.compile(rf"[?&]{name}={value}(&|$)"))


def opened(page: Page, name: str) -> None:
    expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")


def question(page: Page, text: str) -> None:
    expect(page.locator("#chat-transcript .question")).to_have_text([text])


@pytest.mark.browser
def test_conversations_passages_and_pages_come_back_by_reload_link_back_and_forward(view: Page, asked: Prepared):
    open_tab(view, "Chat")
    view.locator(".conversations .open", has_text=FLATS).click()
    question(view, FLATS)
    view.locator("#chat-evidence .passage").nth(2).click()
    says(view, tab="chat", conversation="[0-9a-f]{32}", turn="[0-9a-f]{32}", passage="3")
    link, rank = view.url, view.locator("#chat-evidence .passage.chosen .rank")
    view.reload()
    opened(view, "Chat")
    question(view, FLATS)
    expect(rank).to_have_text("3")
    expect(view.locator("#chat-page img")).to_be_visible()
    view.locator(".conversations .open", has_text=METERS).click()
    question(view, METERS)
    open_tab(view, "Models")
    says(view, tab="models")
    view.go_back()
    opened(view, "Chat")
    question(view, METERS)
    view.go_back()
    question(view, FLATS)
    view.go_forward()
    question(view, METERS)
    view.goto(link)
    question(view, FLATS)
    expect(rank).to_have_text("3")

    open_tab(view, "Documents")
    view.locator("#documents-table tr[data-document]").first.click()
    says(view, tab="documents", document=asked.ids()[PDF.name], page="1")
    before = view.evaluate("history.length")
    view.locator("#documents-page .turn-on").click()
    says(view, page="2")
    assert view.evaluate("history.length") == before  # turning pages is no step back
    view.reload()
    expect(view.locator("#documents-page .jump input")).to_have_value("2")
    view.goto(f"{asked.url}?tab=chat&conversation=x&turn=y&passage=z")
    opened(view, "Chat")
    expect(view.locator("#chat-question")).to_be_visible()
    expect(view.locator(".error")).to_have_count(0)


@pytest.mark.browser
def test_what_is_searched_for_is_found_by_keys_alone_and_opens_in_its_place(view: Page):
    def search(words: str) -> None:
        view.keyboard.press("Control+k")
        field = view.get_by_role("search").get_by_role("textbox")
        expect(field).to_be_focused()
        field.fill(words)
        expect(view.locator("#pq-found [data-query]")).to_have_attribute("data-query", words)

    search("thermometers calibrated")
    expect(view.locator("#pq-found mark").first).to_have_text("thermometers")
    view.keyboard.press("ArrowDown")
    view.keyboard.press("ArrowDown")
    expect(view.locator("#pq-found a", has_text="p. 4")).to_be_focused()
    view.keyboard.press("Enter")
    opened(view, "Documents")
    number, marks = view.locator("#documents-page .jump input"), view.locator("#documents-page .sheet i.mark")
    expect(number).to_have_value("4")
    expect(marks).to_have_count(2)
    expect(view).to_have_url(re.compile(r"page=4&find=thermometers\+calibrated"))
    view.locator("#documents-page .turn-on").click()
    expect(number).to_have_value("5")
    expect(marks).to_have_count(0)
    expect(view).not_to_have_url(re.compile("find="))
    search('"every 15 minutes"')
    view.locator("#pq-found a", has_text=METERS).last.click()
    opened(view, "Chat")
    question(view, METERS)
    expect(view.locator("#pq-find")).to_be_hidden()


def test_what_an_address_names_that_is_unknown_or_anothers_is_left_out(asked: Prepared):
    services, (document_id,) = asked.services, asked.ids().values()
    talk = services.answers.conversations.list(LOCAL_OWNER)[0].id
    place = Place.read(f"?tab=chat&conversation={talk}&turn=y&passage=z&document={document_id}&page=9999999")
    assert conversation_at(services, LOCAL_OWNER, place)[0].conversation_id == talk
    assert document_at(services, LOCAL_OWNER, place) == (document_id, OpenPage(document_id, 8))
    for owner, other in (("visitor-else", place), (LOCAL_OWNER, Place.read("?conversation=x&document=y&page=-1"))):
        assert conversation_at(services, owner, other) == (ChatState(), ())
        assert document_at(services, owner, other) == ("", OpenPage())


DARK = "document.body.classList.contains('dark')"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
FIRST_SEEN = """
  window.seen = [];
  const look = () => {
    if (document.body) seen.push(getComputedStyle(document.body).backgroundColor === "rgba(0, 0, 0, 0)"
      ? getComputedStyle(document.documentElement).backgroundColor : getComputedStyle(document.body).backgroundColor);
    if (seen.length < 200) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""


@pytest.mark.browser
def test_the_chosen_colours_stay_over_a_reload_and_no_others_flash(browser: Browser, asked: Prepared):
    with open_page(browser, asked.url, color_scheme="dark") as page:
        page.add_init_script(FIRST_SEEN)
        light = page.get_by_role("radiogroup", name="Colours").get_by_role("radio", name="light")
        assert page.evaluate(DARK)
        light.click()
        assert not page.evaluate(DARK)
        chosen = page.evaluate(BACKGROUND)
        page.reload()
        expect(light).to_have_attribute("aria-checked", "true")
        page.wait_for_function("seen.length > 10")
        assert set(page.evaluate("seen")) == {chosen}
        page.emulate_media(color_scheme="light")
        page.emulate_media(color_scheme="dark")
        assert not page.evaluate(DARK)  # a change of the system changes no choice


@pytest.mark.browser
def test_who_only_asks_sees_three_tabs(browser: Browser, asked: Prepared):
    with open_page(browser, f"{asked.url}/?mode=simple") as page:
        expect(page.get_by_role("tab")).to_have_text(["Documents", "Chat", "Models"])
        page.get_by_role("radio", name="research").click()
        expect(page.get_by_role("tab")).to_have_count(7)
        open_tab(page, "Annotate")
        page.get_by_role("radio", name="simple").click()
        expect(page.get_by_role("tab", selected=True)).to_have_text("Chat")  # what is not shown is not open
        page.reload()
        expect(page.get_by_role("tab")).to_have_count(3)
