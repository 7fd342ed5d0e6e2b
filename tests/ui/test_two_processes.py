"""Two processes on one PostgreSQL database, behind a balancer that sends each request to the other one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from playwright.sync_api import Browser, expect

from pdfqa_core.services import SAMPLE as SAMPLES
from pdfqa_core.services.accounts import AccountRole, AccountService
from pdfqa_core.services.tokens import TokenService
from pdfqa_core.storage import Store
from pdfqa_core.ui.accounts import COOKIE as SIGNED_IN
from pdfqa_core.ui.peers import COOKIE
from tests.postgres import Postgres
from tests.serving_fakes import QUESTIONS
from tests.ui.balancer import Balancer, balancing
from tests.ui.serving import SAMPLE, WAIT, App, open_tab, running

NAME, PASSWORD = "Ada", "correct horse"
METERS = QUESTIONS["q03"]["question"]
TIMEOUT = 120  # seconds


@dataclass
class Pair:
    """Two running processes with their balancer, and a token."""

    first: App
    second: App
    balancer: Balancer
    token: str

    @property
    def client(self) -> Client:
        return Client(self.balancer.url, headers={"Authorization": f"Bearer {self.token}"}, verbose=False)


@pytest.fixture(scope="module")
def pair(postgres: Postgres, newest_tables: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("pair")
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database(newest_tables))
        with Store.open(folder / "workspace", url) as store:
            AccountService(store.accounts).add(NAME, AccountRole.OWNER, PASSWORD)
            token = TokenService(store.tokens, demo=False).add("script")
        environment = {"PDFQA_DATABASE_URL": url}
        one, two = (stack.enter_context(running(folder, "--proxied", environment=environment)) for _ in range(2))
        yield Pair(one, two, stack.enter_context(balancing([one.url, two.url])), token)


def streamed(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    *_, last = client.submit(**arguments, api_name=name)
    return last


def test_a_program_does_all_with_its_token_though_each_request_goes_elsewhere(pair: Pair):
    read = streamed(pair.client, "/ingest", file=handle_file(SAMPLE))
    assert [one["state"] for one in read["documents"]] == ["ready"]
    (listed,) = pair.client.predict(api_name="/list_documents")["documents"]
    assert listed["document_id"] == read["documents"][0]["document_id"]
    (hit,) = pair.client.predict(question=METERS, k=1, api_name="/search")["hits"]
    page = pair.client.predict(document=SAMPLE.name, page=hit["pages"][0], api_name="/read_page")
    assert hit["text"].split()[0] in page["text"]
    first = streamed(pair.client, "/ask", question=METERS)
    assert first["done"]
    again = streamed(pair.client, "/ask", question="And at night?", conversation_id=first["conversation_id"])
    assert again["conversation_id"] == first["conversation_id"]
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    measured = streamed(pair.client, "/evaluate", questions=questions, retrievers=["bm25"])
    assert measured["systems"][0]["metrics"]["MRR"]["mean"] > 0.5
    assert min(pair.balancer.passed.values()) >= 8  # both were asked
    for app in (pair.first, pair.second):  # what is kept is in the database: each process knows it
        direct = Client(app.url, headers={"Authorization": f"Bearer {pair.token}"}, verbose=False)
        assert direct.predict(api_name="/list_documents")["documents"] == [listed]


def test_a_call_by_plain_http_is_begun_and_heard_in_two_requests(pair: Pair):
    asked = {"Authorization": f"Bearer {pair.token}"}
    where = f"{pair.balancer.url}/gradio_api/call/v2/list_documents"
    for _ in range(3):
        begun = httpx.post(where, json={}, headers=asked, timeout=TIMEOUT).json()
        answer = httpx.get(f"{where}/{begun['event_id']}", headers=asked, timeout=TIMEOUT)
        assert answer.text.startswith("event: complete\ndata: ")
    assert httpx.post(where, json={}, timeout=TIMEOUT).status_code == 401
    wrong = {"Authorization": f"Bearer {pair.token}x"}
    assert [httpx.post(where, json={}, headers=wrong, timeout=TIMEOUT).status_code for _ in range(2)] == [401, 401]


def test_signing_in_holds_in_both_processes_and_signing_out_too(pair: Pair):
    with httpx.Client(base_url=pair.balancer.url, timeout=TIMEOUT, follow_redirects=True) as browser:
        assert "Password" in browser.get("/").text
        browser.post("/sign-in", data={"name": NAME, "password": PASSWORD})
        for app in (pair.first, pair.second):
            mine = {SIGNED_IN: browser.cookies[SIGNED_IN]}
            assert httpx.get(f"{app.url}/config", cookies=mine, timeout=TIMEOUT).status_code == 200
        named = browser.cookies[COOKIE]
        assert [browser.get("/config").status_code for _ in range(4)] == [200] * 4
        assert browser.cookies[COOKIE] == named
        browser.post("/sign-out")
        assert [httpx.get(f"{app.url}/config", cookies=mine, timeout=TIMEOUT).status_code for app in
                (pair.first, pair.second)] == [401, 401]  # fmt: skip


@pytest.mark.parametrize("said", [{"X-Forwarded-User": NAME}, {"X-PDFQA-Passed-On": "1"}, {"Cookie": f"{COOKIE}=x"}])
def test_what_anybody_can_say_lets_nobody_in(pair: Pair, said: dict[str, str]):
    for _ in range(2):
        assert httpx.get(f"{pair.balancer.url}/config", headers=said, timeout=TIMEOUT).status_code == 401


@pytest.mark.browser
def test_a_page_works_and_when_its_process_is_killed_it_goes_on_with_the_other_one(pair: Pair, browser: Browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.goto(pair.balancer.url)
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#documents-table")).to_contain_text("Harbour Heat")
    open_tab(page, "Chat")
    page.locator("#chat-question textarea").fill(METERS)
    page.keyboard.press("Enter")
    expect(page.locator("#chat-transcript .answer").last).to_contain_text("15 minutes")
    expect(page).to_have_url(re.compile("conversation="))  # which is what brings it back

    def home() -> str:
        return next(str(one["value"]) for one in context.cookies() if one["name"] == COOKIE)

    before, apps = home(), (pair.first, pair.second)
    names = [httpx.get(f"{app.url}/", timeout=TIMEOUT).cookies[COOKIE] for app in apps]
    killed = apps[names.index(before)]
    killed.process.kill()
    killed.process.wait()
    page.reload()
    open_tab(page, "Chat")
    expect(page.locator("#chat-transcript .answer").last).to_contain_text("15 minutes")
    page.locator("#chat-question textarea").fill(METERS)
    page.keyboard.press("Enter")
    expect(page.locator("#chat-transcript .answer")).to_have_count(2)
    assert {before, home()} == set(names)
    context.close()
    assert streamed(pair.client, "/ask", question=METERS)["done"]
