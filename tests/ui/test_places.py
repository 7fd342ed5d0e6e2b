"""Where one is on the page comes back: by reload, by link, by the browser's back and forward; light or dark with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.serving import App, open_page, open_tab
from tests.ui.test_states import add, pdf, upload

pytestmark = [pytest.mark.browser, pytest.mark.model]

METERS = "How often are the meters read?"
FLATS = "How many flats does Ropewalk Court have?"
QUAYS = 12


@pytest.fixture(scope="module")
def demo_page(browser: Browser, demo: App) -> Iterator[Page]:
    """A visitor with the sample, who gets quotes, and has asked two questions in two conversations."""
    with open_page(browser, demo.url, left=True) as page:
        page.get_by_role("button", name="Try the sample").click()
        expect(page.locator("#documents-table .state")).to_have_text("ready")
        open_tab(page, "Chat")
        page.get_by_role("radio", name="quotes").click()
        expect(page.get_by_role("radio", name="quotes")).to_have_attribute("aria-checked", "true")
        ask(page, METERS)
        page.get_by_role("button", name="New conversation").click()
        expect(page.locator("#chat-transcript .turn")).to_have_count(0)
        ask(page, FLATS)
        yield page


def ask(page: Page, question: str) -> None:
    page.locator("#chat-question textarea").fill(question)
    page.locator("#chat-question textarea").press("Enter")
    expect(page.locator("#chat-transcript .turn .meta")).to_be_visible()


def place(page: Page) -> dict[str, str]:
    """Return what the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def says(shown: Page, **parts: str) -> None:
    """Wait until the address says this, among other things."""
    for name, value in parts.items():
        expect(shown).to_have_url(re.compile(rf"[?&]{name}={value}(&|$)"))


def opened(page: Page, name: str) -> None:
    expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")


def question(page: Page, text: str) -> None:
    expect(page.locator("#chat-transcript .question")).to_have_text([text])


# ------------------------------------------------------------ the address


def test_a_conversation_and_its_passage_come_back_by_reload_and_by_link(demo_page: Page):
    demo_page.locator("#chat-evidence .passage").nth(2).click()
    expect(demo_page.locator("#chat-evidence .passage.chosen .rank")).to_have_text("3")
    says(demo_page, tab="chat", conversation="[0-9a-f]{32}", turn="[0-9a-f]{32}", passage="3")
    link = demo_page.url
    demo_page.reload()
    opened(demo_page, "Chat")
    question(demo_page, FLATS)
    expect(demo_page.locator("#chat-evidence .passage.chosen .rank")).to_have_text("3")
    expect(demo_page.locator("#chat-page img")).to_be_visible()
    demo_page.get_by_text(METERS).first.click()
    question(demo_page, METERS)
    demo_page.goto(link)
    question(demo_page, FLATS)
    expect(demo_page.locator("#chat-evidence .passage.chosen .rank")).to_have_text("3")
    assert demo_page.url == link


def test_back_and_forward_lead_through_conversations_and_tabs(demo_page: Page):
    flats = place(demo_page)["conversation"]
    demo_page.locator(".conversations .open", has_text=METERS).click()
    question(demo_page, METERS)
    expect(demo_page).not_to_have_url(re.compile(flats))
    meters = place(demo_page)["conversation"]
    open_tab(demo_page, "Models")
    says(demo_page, tab="models")
    demo_page.go_back()
    opened(demo_page, "Chat")
    question(demo_page, METERS)
    demo_page.go_back()
    question(demo_page, FLATS)
    says(demo_page, conversation=flats)
    demo_page.go_forward()
    question(demo_page, METERS)
    demo_page.go_forward()
    opened(demo_page, "Models")
    expect(demo_page.locator("#models-columns")).to_be_visible()
    demo_page.go_back()
    says(demo_page, tab="chat", conversation=meters)
    question(demo_page, METERS)


def test_a_document_comes_back_at_its_page(demo_page: Page, demo: App):
    demo_page.goto(f"{demo.url}?tab=documents")
    demo_page.locator("#documents-table tr[data-document]").first.click()
    says(demo_page, tab="documents", document="[0-9a-f]{64}", page="1")
    before = demo_page.evaluate("history.length")
    demo_page.locator("#documents-page .turn-on").click()
    says(demo_page, page="2")
    demo_page.locator("#documents-page .turn-on").click()
    says(demo_page, page="3")
    assert demo_page.evaluate("history.length") == before  # turning pages is no step back
    demo_page.reload()
    number = demo_page.locator("#documents-page .jump input")
    expect(number).to_have_value("3")
    open_tab(demo_page, "Models")
    says(demo_page, tab="models")
    open_tab(demo_page, "Documents")
    says(demo_page, tab="documents", page="3")
    expect(number).to_have_value("3")
    demo_page.go_back()
    opened(demo_page, "Models")
    demo_page.go_back()
    opened(demo_page, "Documents")
    expect(number).to_have_value("3")
    demo_page.go_back()
    expect(demo_page.locator("#documents-page")).to_contain_text("Choose a document")
    expect(demo_page.locator("#documents-table tr.chosen")).to_have_count(0)


def evaluated(page: Page) -> str:
    """Evaluate and return what the address then says, which is another evaluation than the one before."""
    after = place(page).get("evaluation", "none")  # a second try begins with one in the address
    page.locator("#evaluate-go").click()
    says(page, tab="evaluate", evaluation=f"(?!{after})[0-9a-f]+")
    evaluation = place(page)["evaluation"]
    expect(page.locator(f"#evaluate-results [data-evaluation='{evaluation}']")).to_be_visible()
    expect(page.locator("#evaluate-stop")).to_be_hidden()
    expect(page.locator("#evaluate-go")).to_be_visible()
    return evaluation


def test_an_evaluation_comes_back(demo_page: Page):
    open_tab(demo_page, "Evaluate")
    demo_page.locator("#evaluate-retrievers").get_by_label("dense").uncheck()
    demo_page.locator("#evaluate-retrievers").get_by_label("hybrid").uncheck()
    older = evaluated(demo_page)
    newest = evaluated(demo_page)
    demo_page.wait_for_timeout(500)  # the field takes its new choices a moment later, and not while it is open
    demo_page.locator("#evaluate-earlier input").click()
    demo_page.get_by_role("option").nth(1).click()
    says(demo_page, tab="evaluate", evaluation=older)
    demo_page.reload()
    opened(demo_page, "Evaluate")
    expect(demo_page.locator(f"#evaluate-results [data-evaluation='{older}']")).to_be_visible()
    demo_page.go_back()
    expect(demo_page.locator(f"#evaluate-results [data-evaluation='{newest}']")).to_be_visible()


def test_what_is_unknown_or_anothers_is_left_out_without_an_error(demo_page: Page, browser: Browser, demo: App):
    open_tab(demo_page, "Chat")
    says(demo_page, tab="chat", conversation="[0-9a-f]{32}")
    link = demo_page.url
    with open_page(browser, demo.url) as other:
        for address in (link, f"{demo.url}?tab=chat&conversation=x&turn=y&passage=z"):
            other.goto(address)
            opened(other, "Chat")
            expect(other.locator("#chat-transcript")).to_contain_text("Ask your PDFs")
            expect(other.locator(".error")).to_have_count(0)
            expect(other).to_have_url(re.compile(r"\?tab=chat$"))
        other.goto(f"{demo.url}?tab=documents&document={'a' * 64}&page=9999999")
        expect(other.locator("#documents-table")).to_contain_text("No documents yet")
        other.goto(f"{demo.url}?tab=nowhere&evaluation=1")
        opened(other, "Documents")
        expect(other.locator(".error")).to_have_count(0)


# ------------------------------------------------------------ a reload while an answer is written


def test_a_reload_during_the_first_answer_comes_back_to_it_and_it_is_finished(browser: Browser, demo: App):
    with open_page(browser, demo.url, left=True) as page:
        expect(page.locator("#pq-header")).to_contain_text("SmolLM2 135M Instruct ready", timeout=180_000)
        page.get_by_role("button", name="Try the sample").click()
        expect(page.locator("#documents-table .state")).to_have_text("ready")
        open_tab(page, "Chat")
        page.get_by_role("radio", name="own words").click()
        expect(page.get_by_role("radio", name="own words")).to_have_attribute("aria-checked", "true")
        asked = "Summarise what the report says about the pipes under the harbour."
        page.locator("#chat-question textarea").fill(asked)
        page.locator("#chat-question textarea").press("Enter")
        says(page, conversation="[0-9a-f]{32}")
        new = place(page)["conversation"]
        page.reload()
        opened(page, "Chat")
        expect(page.locator("#chat-columns .question")).to_have_text([asked])
        expect(page.locator("#chat-transcript .turn .meta")).to_be_visible()
        question(page, asked)
        expect(page.locator("#chat-transcript .stopped")).to_have_count(0)
        expect(page.locator("#chat-send")).to_be_visible()
        expect(page.locator("#chat-stop")).to_be_hidden()
        expect(page.locator(".conversations li:not(.day)")).to_have_count(1)
        assert place(page)["conversation"] == new


# ------------------------------------------------------------ light and dark


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


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_chosen_colours_stay_over_reloads_and_no_other_flash(browser: Browser, app: App, system: str):
    other = "light" if system == "dark" else "dark"
    with open_page(browser, app.url, color_scheme=system) as page:
        page.add_init_script(FIRST_SEEN)
        colours = page.get_by_role("radiogroup", name="Colours")
        expect(colours.get_by_role("radio", name="system")).to_have_attribute("aria-checked", "true")
        assert page.evaluate(DARK) == (system == "dark")
        colours.get_by_role("radio", name=other).click()
        assert page.evaluate(DARK) == (other == "dark")
        chosen = page.evaluate(BACKGROUND)
        page.reload()
        expect(colours.get_by_role("radio", name=other)).to_have_attribute("aria-checked", "true")
        page.wait_for_timeout(500)
        assert page.evaluate(DARK) == (other == "dark")
        assert set(page.evaluate("seen")) == {chosen}
        page.emulate_media(color_scheme=other)
        page.emulate_media(color_scheme=system)
        assert page.evaluate(DARK) == (other == "dark")  # a change of the system changes no choice
        page.goto(f"{app.url}?__theme={system}")
        expect(colours.get_by_role("radio", name=system, exact=True)).to_have_attribute("aria-checked", "true")
        assert page.evaluate(DARK) == (system == "dark")  # the link counts while it stands in the address
        colours.get_by_role("radio", name="system").click()
        expect(page).not_to_have_url(re.compile("__theme"))
        page.emulate_media(color_scheme=other)
        page.wait_for_function(f"{DARK} === {str(other == 'dark').lower()}")


# ------------------------------------------------------------ the choice of documents


@pytest.fixture(scope="module")
def quays(browser: Browser, app: App) -> Iterator[Page]:
    """A page of many documents."""
    with open_page(browser, app.url) as page:
        add(page, *(upload(f"q{n}.pdf", pdf(title=f"Quay {n}")) for n in range(QUAYS)))
        expect(page.locator("#documents-table .state")).to_have_count(QUAYS)
        yield page


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_documents_to_ask_about_open_within_their_column(quays: Page, width: int, height: int):
    page = quays
    page.set_viewport_size({"width": width, "height": height})
    page.reload()
    open_tab(page, "Chat")
    if width < 860:
        page.get_by_role("button", name="Conversations").click()
    page.get_by_label("Ask about").click()
    options = page.locator("#chat-scope .options")
    expect(options).to_be_visible()
    column = page.locator("#chat-columns > .column").first.bounding_box()
    box, tabs = options.bounding_box(), page.locator("#pq-tabs > .tab-wrapper").bounding_box()
    assert column["x"] <= box["x"]
    assert box["x"] + box["width"] <= column["x"] + column["width"]
    assert tabs["y"] + tabs["height"] <= column["y"] <= box["y"]
    assert box["y"] + box["height"] <= column["y"] + column["height"] <= height
    page.get_by_role("option").last.click()
    expect(page.locator("#chat-columns .token")).to_have_count(1)
