"""Two processes on one PostgreSQL database: both know what either learns; one goes on when the other is killed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services.accounts import AccountRole, AccountService, TokenService
from pdfqa_core.storage import Store
from pdfqa_core.ui.accounts import COOKIE as SIGNED_IN
from tests.postgres import Postgres
from tests.serving_fakes import QUESTIONS
from tests.ui.calling import program
from tests.ui.serving import SAMPLE, WAIT, App, open_tab, running

NAME, PASSWORD = "Ada", "correct horse"
METERS = QUESTIONS["q03"]["question"]
TIMEOUT = 120  # seconds


@dataclass
class Pair:
    """Two running processes, and a token."""

    apps: tuple[App, App]
    token: str

    def client(self, place: int) -> Client:
        return program(self.apps[place].url, Authorization=f"Bearer {self.token}")

    def call(self, place: int, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the last of what an endpoint of one process says."""
        *_, last = self.client(place).submit(**arguments, api_name=name)
        return last


@pytest.fixture
def pair(postgres: Postgres, newest_tables: str, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database(newest_tables))
        with Store.open(tmp_path / "workspace", url) as store:
            AccountService(store.accounts).add(NAME, AccountRole.OWNER, PASSWORD)
            token = TokenService(store.tokens, demo=False).add("script")
        environment = {"PDFQA_DATABASE_URL": url}
        one, two = (stack.enter_context(running(tmp_path, "--proxied", environment=environment)) for _ in range(2))
        yield Pair((one, two), token)


@pytest.mark.browser
def test_two_processes_do_as_one_and_where_one_is_killed_the_other_goes_on(pair: Pair, browser: Browser):
    read = pair.call(0, "/ingest", file=handle_file(SAMPLE))
    first = pair.call(0, "/ask", question=METERS)
    again = pair.call(1, "/ask", question="And at night?", conversation_id=first["conversation_id"])
    assert again["conversation_id"] == first["conversation_id"]
    (listed,) = pair.client(1).predict(api_name="/list_documents")["documents"]
    assert (listed["document_id"], listed["state"]) == (read["documents"][0]["document_id"], "ready")
    check_signing_in(pair)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT)
    check_a_page(pair, context.new_page())
    context.close()
    assert pair.call(1, "/ask", question=METERS)["done"]


def check_signing_in(pair: Pair) -> None:
    """Check that signing in holds in both processes, and signing out too."""

    def known() -> list[int]:
        return [httpx.get(f"{app.url}/config", cookies=mine, timeout=TIMEOUT).status_code for app in pair.apps]

    with httpx.Client(base_url=pair.apps[0].url, timeout=TIMEOUT, follow_redirects=True) as browser:
        assert "Password" in browser.get("/").text
        browser.post("/sign-in", data={"name": NAME, "password": PASSWORD})
        mine = {SIGNED_IN: browser.cookies[SIGNED_IN]}
        assert known() == [200, 200]
        browser.post("/sign-out")
        assert known() == [401, 401]


def check_a_page(pair: Pair, page: Page) -> None:
    """Check that a page works, and goes on with the other process when its own is killed."""
    answers = page.locator("#chat-transcript .answer")

    def ask() -> None:
        page.locator("#chat-question textarea").fill(METERS)
        page.keyboard.press("Enter")

    page.goto(pair.apps[0].url)
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#documents-table")).to_contain_text("Harbour Heat")
    open_tab(page, "Chat")
    ask()
    expect(answers.last).to_contain_text("15 minutes")
    expect(page).to_have_url(re.compile("conversation="))  # which is what brings it back
    pair.apps[0].process.kill()
    pair.apps[0].process.wait()
    page.goto(page.url.replace(pair.apps[0].url, pair.apps[1].url))  # as a balancer sends it there
    open_tab(page, "Chat")
    expect(answers.last).to_contain_text("15 minutes")
    ask()
    expect(answers).to_have_count(2)
