"""Two processes on one PostgreSQL database, behind a balancer that sends each request to the other one."""

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
from pdfqa_core.ui.peers import COOKIE
from tests.postgres import Postgres
from tests.serving_fakes import QUESTIONS
from tests.ui.balancer import Balancer, balancing
from tests.ui.calling import program
from tests.ui.serving import SAMPLE, WAIT, App, open_tab, running

NAME, PASSWORD = "Ada", "correct horse"
METERS = QUESTIONS["q03"]["question"]
TIMEOUT = 120  # seconds


@dataclass
class Pair:
    """Two running processes with their balancer, and a token."""

    apps: tuple[App, App]
    balancer: Balancer
    token: str

    @property
    def signed(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, url: str = "") -> Client:
        return program(url or self.balancer.url, **self.signed)


@pytest.fixture
def pair(postgres: Postgres, newest_tables: str, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database(newest_tables))
        with Store.open(tmp_path / "workspace", url) as store:
            AccountService(store.accounts).add(NAME, AccountRole.OWNER, PASSWORD)
            token = TokenService(store.tokens, demo=False).add("script")
        environment = {"PDFQA_DATABASE_URL": url}
        one, two = (stack.enter_context(running(tmp_path, "--proxied", environment=environment)) for _ in range(2))
        yield Pair((one, two), stack.enter_context(balancing([one.url, two.url])), token)


def streamed(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    *_, last = client.submit(**arguments, api_name=name)
    return last


@pytest.mark.browser
def test_two_processes_do_as_one_and_where_one_is_killed_the_other_goes_on(pair: Pair, browser: Browser):
    check_programs(pair)
    check_signing_in(pair)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT)
    check_a_page(pair, context.new_page())
    context.close()
    assert streamed(pair.client(), "/ask", question=METERS)["done"]


def check_programs(pair: Pair) -> None:
    """Check that a program does its work with a token though each request goes elsewhere, also by plain HTTP."""
    read = streamed(pair.client(), "/ingest", file=handle_file(SAMPLE))
    first = streamed(pair.client(), "/ask", question=METERS)
    again = streamed(pair.client(), "/ask", question="And at night?", conversation_id=first["conversation_id"])
    assert again["conversation_id"] == first["conversation_id"]
    assert min(pair.balancer.passed.values()) >= 8  # both were asked
    for app in pair.apps:  # what is kept is in the database: each process knows it
        (listed,) = pair.client(app.url).predict(api_name="/list_documents")["documents"]
        assert (listed["document_id"], listed["state"]) == (read["documents"][0]["document_id"], "ready")
    where = f"{pair.balancer.url}/gradio_api/call/v2/list_documents"
    with httpx.Client(timeout=TIMEOUT, headers=pair.signed) as program:
        for _ in range(3):
            begun = program.post(where, json={}).json()
            assert program.get(f"{where}/{begun['event_id']}").text.startswith("event: complete\ndata: ")
    wrong_token = {"Authorization": f"Bearer {pair.token}x"}
    for wrong in ({}, wrong_token, {"X-PDFQA-Passed-On": "1"}, {"Cookie": f"{COOKIE}=x"}):
        assert [httpx.post(where, json={}, headers=wrong, timeout=TIMEOUT).status_code for _ in range(2)] == [401, 401]


def check_signing_in(pair: Pair) -> None:
    """Check that signing in holds in both processes, and signing out too."""

    def known() -> list[int]:
        return [httpx.get(f"{app.url}/config", cookies=mine, timeout=TIMEOUT).status_code for app in pair.apps]

    with httpx.Client(base_url=pair.balancer.url, timeout=TIMEOUT, follow_redirects=True) as browser:
        assert "Password" in browser.get("/").text
        browser.post("/sign-in", data={"name": NAME, "password": PASSWORD})
        mine, named = {SIGNED_IN: browser.cookies[SIGNED_IN]}, browser.cookies[COOKIE]
        assert known() == [200, 200]
        assert [browser.get("/config").status_code for _ in range(4)] == [200] * 4
        assert browser.cookies[COOKIE] == named
        browser.post("/sign-out")
        assert known() == [401, 401]


def check_a_page(pair: Pair, page: Page) -> None:
    """Check that a page works, and goes on with the other process when its own is killed."""
    answers = page.locator("#chat-transcript .answer")

    def home() -> str:
        return next(str(one["value"]) for one in page.context.cookies() if one["name"] == COOKIE)

    def ask() -> None:
        page.locator("#chat-question textarea").fill(METERS)
        page.keyboard.press("Enter")

    page.goto(pair.balancer.url)
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#documents-table")).to_contain_text("Harbour Heat")
    open_tab(page, "Chat")
    ask()
    expect(answers.last).to_contain_text("15 minutes")
    expect(page).to_have_url(re.compile("conversation="))  # which is what brings it back
    before, names = home(), [httpx.get(app.url, timeout=TIMEOUT).cookies[COOKIE] for app in pair.apps]
    killed = pair.apps[names.index(before)].process
    killed.kill()
    killed.wait()
    page.reload()
    open_tab(page, "Chat")
    expect(answers.last).to_contain_text("15 minutes")
    ask()
    expect(answers).to_have_count(2)
    assert {before, home()} == set(names)
