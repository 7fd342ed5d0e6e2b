"""A question that is asked while an answer is written: it is kept, and the page says that it has to wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.llm.openai_server import FakeServer
from tests.ui.serving import open_page, open_tab, running

pytestmark = pytest.mark.browser

RECIPE = "[retrieval]\nretriever = 'bm25'\n[reading]\nreader = 'generative'\nrefusal = 'none'\ncheck_meaning = false\n"
METERS = "How often are the meters read?"
NEXT = "Who reads them?"


@pytest.fixture
def page(browser: Browser, slow_model: FakeServer, tmp_path: Path) -> Iterator[Page]:
    """The chat about the sample."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "pdfqa.toml").write_text(RECIPE)
    environment = {"PDFQA_LLM_URL": f"{slow_model.url}/v1", "PDFQA_MODEL": "served-model"}
    with running(tmp_path, environment=environment) as app, open_page(browser, app.url) as opened:
        open_tab(opened, "Chat")
        opened.get_by_role("button", name="Try the sample").click()
        expect(opened.locator("#chat-transcript")).to_contain_text("Ask about 1 document")
        yield opened


def test_what_is_asked_meanwhile_stays_in_the_box_and_a_line_says_why(page: Page, slow_model: FakeServer) -> None:
    box, line, turns = (page.locator(f"#chat-{one}") for one in ("question textarea", "waits", "transcript .turn"))
    written = page.locator("#chat-live .answer")
    box.fill(METERS)
    box.press("Enter")
    expect(written).to_contain_text("every 1 minutes")
    expect(line).to_be_hidden()
    box.fill(NEXT)
    box.press("Enter")
    expect(line).to_contain_text("An answer is still being written. Stop it (Esc), or ask this when it is done.")
    expect(written).to_contain_text("every 12 minutes")  # the answer moves on, and the line stays
    expect(line).to_be_visible()
    expect(box).to_have_value(NEXT)

    page.locator("#chat-stop").click()
    expect(turns).to_have_count(1)
    expect(line).to_be_hidden()
    expect(box).to_have_value(NEXT)
    box.press("Enter")
    expect(written).to_contain_text("every 1 minutes")
    expect(line).to_be_hidden()
    box.fill("And at night?")
    turns.get_by_role("button", name="retry").click()
    expect(line).to_be_visible()
    expect(page.locator("#chat-stop")).to_be_visible()
    expect(box).to_have_value("And at night?")
    page.locator("#chat-stop").click()
    expect(turns).to_have_count(2)
    expect(line).to_be_hidden()


def test_a_new_conversation_is_not_disturbed_by_the_answer_of_the_one_before(page: Page) -> None:
    box, live = page.locator("#chat-question textarea"), page.locator("#chat-live")
    box.fill(METERS)
    box.press("Enter")
    expect(live.locator(".answer")).to_contain_text("every 1 minutes")
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#chat-transcript")).to_contain_text("Ask about 1 document")
    expect(live).to_have_text("")
    expect(page.locator("#chat-send")).to_be_visible()
    page.wait_for_timeout(2_000)  # more of the answer is written meanwhile
    expect(live).to_have_text("")

    page.locator(".conversations .open").first.click()
    expect(live.locator(".question")).to_have_text(METERS)
    before = live.locator(".answer").inner_text()
    expect(live.locator(".answer")).not_to_have_text(before)  # it goes on
    page.locator("#chat-stop").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(1)
    expect(live).to_have_text("")
