"""The chat in the browser: an answer, its evidence and its copies, and what one does while an answer is written."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.services import ANSWER, LOCAL_OWNER, job_name
from pdfqa_core.streaming import is_set
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, until
from tests.serving_fakes import PDF
from tests.ui.prepared import looking, prepared
from tests.ui.serving import open_page, open_tab

pytestmark = pytest.mark.browser

FLATS = "How many flats does Ropewalk Court have?"
METERS, NEXT = "How often are the meters read?", "Who reads them?"
SELECT = "one => { getSelection().selectAllChildren(one); return getSelection().toString(); }"
OVERHANG = "[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]"


class Sentences(FakeLLM):
    """Writes one sentence after the other, each when `more` is let go; `number` is that of the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.more, self.number = threading.Semaphore(0), 0

    def write(self, schema, stop):
        while True:
            while not self.more.acquire(timeout=0.05):
                if is_set(stop):
                    return
            self.number += 1
            yield f"All meters are read every {self.number} minutes. "

    def write_until_shown(self, live: Locator) -> None:
        """Write on until the page shows a sentence that it did not show before."""
        words = f"every {self.number + 1} minutes"
        until(lambda: self.more.release() or words in live.inner_text())


def ask(page: Page, question: str) -> None:
    page.locator("#chat-question textarea").fill(question)
    page.locator("#chat-question textarea").press("Enter")


def test_an_answer_leads_to_its_page_and_is_copied_and_saved_with_its_sources(browser: Browser, tmp_path: Path):
    with looking(browser, tmp_path) as (page, _):
        open_tab(page, "Chat")
        page.get_by_role("button", name="Try the sample").click()
        page.locator("#chat-transcript").get_by_role("button", name=FLATS).click()
        turn = page.locator("#chat-transcript .turn")
        expect(turn).to_have_count(1)
        chosen_rank = page.locator("#chat-evidence .passage.chosen .rank")
        page.locator("#chat-evidence .passage").nth(2).click()
        expect(chosen_rank).to_have_text("3")
        turn.locator(".cite").first.click()
        expect(chosen_rank).to_have_text("1")
        expect(page.locator("#chat-page i.quote").first).to_be_in_viewport()

        selected = turn.locator(".answer > span").first.evaluate(SELECT)
        expect(page.locator("#chat-evidence .passage.chosen .quoted").first).to_be_in_viewport()
        assert page.evaluate("getSelection().toString()") == selected  # it is still selected

        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        turn.get_by_role("button", name="copy", exact=True).click()
        expect(turn.get_by_role("button", name="copied")).to_be_visible()
        answer, _, notes = page.evaluate("navigator.clipboard.readText()").partition("\n\n[")
        marker, quote = re.match(r"(\d)\] harbour-heat\.pdf, p\. \d: “(.+?)”", notes).groups()
        assert f" [{marker}]" in answer
        assert quote in " ".join(page.locator("#chat-evidence").inner_text().split())
        turn.locator(".answer").evaluate(SELECT)
        page.keyboard.press("Control+c")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(answer[:20])
        assert f"\n\n[{marker}] harbour-heat.pdf, p. " in copied

        chosen = page.locator(".conversations li.chosen")
        chosen.locator("summary").click()
        with page.expect_download() as download:
            chosen.get_by_role("button", name="Markdown", exact=True).click()
        download.value.save_as(tmp_path / "saved.md")
        assert f"## 1. {FLATS}" in (tmp_path / "saved.md").read_text(encoding="utf-8")

        page.set_viewport_size({"width": 390, "height": 844})  # a phone
        for name in ("Documents", "Retrieval", "Chat", "Annotate", "Evaluate", "Train", "Models"):
            expect(page.get_by_role("tab", name=name, exact=True)).to_be_in_viewport()
        assert page.evaluate(OVERHANG) == [0, 0]


def test_what_is_typed_while_an_answer_is_written_stays_and_the_answer_comes_back(browser: Browser, tmp_path: Path):
    llm = Sentences()
    with prepared(tmp_path, PDF, settings=BM25, llm=llm) as app, open_page(browser, app.url, left=True) as page:
        open_tab(page, "Chat")
        box, line, turns = (page.locator(f"#chat-{one}") for one in ("question textarea", "waits", "transcript .turn"))
        live = page.locator("#chat-live")
        ask(page, METERS)
        llm.write_until_shown(live)
        ask(page, NEXT)
        expect(line).to_contain_text("An answer is still being written. Stop it (Esc), or ask this when it is done.")
        llm.write_until_shown(live)
        expect(line).to_be_visible()
        expect(box).to_have_value(NEXT)

        page.get_by_role("button", name="New conversation").click()
        expect(page.locator("#chat-transcript")).to_contain_text("Ask about 1 document")
        expect(page.locator("#chat-send")).to_be_visible()
        (talk,) = app.services.answers.conversations.list(LOCAL_OWNER)
        written = app.services.tasks.job(job_name(ANSWER, LOCAL_OWNER, talk.id))
        before = len(written.so_far)
        until(lambda: llm.more.release() or len(written.so_far) > before)
        open_tab(page, "Models")
        open_tab(page, "Chat")
        expect(live).to_have_text("")  # a new conversation is not disturbed by the answer of the one before

        page.locator(".conversations .open").first.click()
        expect(live.locator(".question")).to_have_text(METERS)
        llm.write_until_shown(live)
        page.reload()
        expect(page.locator("#chat-columns .question")).to_have_text([METERS])
        llm.write_until_shown(live)
        page.locator("#chat-stop").click()
        expect(turns).to_have_count(1)
        expect(live).to_have_text("")
        expect(page.locator(".conversations li:not(.day)")).to_have_count(1)
