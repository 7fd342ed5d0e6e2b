"""Two people on two machines rate one study of a demo's visitor through their links; a link works once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services.invitations import InvitationService
from pdfqa_core.storage import Store
from pdfqa_core.study_types import Role
from tests.storage.conftest import turn
from tests.ui.serving import App, Record, running

pytestmark = pytest.mark.browser

OWNER = "visitor-" + "o" * 43


@pytest.fixture(scope="module")
def invited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, dict[str, str]]]:
    """A demo in which a visitor has a study, and the link of each who is invited."""
    folder = tmp_path_factory.mktemp("invited")
    with Store.open(folder / "workspace") as store:
        conversation = store.conversations.create(OWNER, "Heat pump")
        asked = turn("t0", "A passage.", question="What cools it?")
        answer = replace(asked.answer, text="It is ammonia.", model="the-system")
        store.conversations.append_turn(OWNER, conversation.id, replace(asked, answer=answer))
        study = store.studies.create(OWNER, "Pilot", [conversation.id], 1)
        people = InvitationService(store.invitations, store.studies)
        links = {name: people.invite(OWNER, study.id, name) for name in ("Ada", "Ben")}
        links["Eve"] = people.invite(OWNER, study.id, "Eve", Role.VIEWER)
        links["password"] = people.make_password(OWNER, study.id, "Ben")
        links["entrance"] = f"?tab=annotate&study={study.id}&enter=1"
    with running(folder, environment={"PDFQA_DEMO": "1"}) as app:
        yield app, links


class Visitors:
    """Browser profiles, one a visitor; nothing may go wrong in their consoles."""

    def __init__(self, browser: Browser, app: App) -> None:
        self.browser, self.app, self.record = browser, app, Record()

    def open(self, address: str) -> Page:
        context = self.browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(60_000)
        self.record.watch(context)
        page = context.new_page()
        page.goto(f"{self.app.url}/{address}")
        return page


def rate(page: Page, keys: str) -> None:
    expect(page.locator("#annotate-item .question")).to_have_text("What cools it?")
    for key in keys:
        page.keyboard.press(key)
    expect(page.locator("#annotate-form")).not_to_contain_text("Still open")
    page.keyboard.press("Enter")


def test_two_annotators_share_a_study_through_their_links(browser: Browser, invited: tuple[App, dict[str, str]]):
    app, links = invited
    visitors = Visitors(browser, app)
    ada = visitors.open(links["Ada"])
    expect(ada.locator("#pq-header")).to_contain_text("Ada, rating")
    expect(ada.locator("#annotate-form .choice").first).to_be_visible()
    expect(ada.get_by_role("tab", name="Documents")).not_to_be_visible()
    deadline = time.monotonic() + 30
    while "invite=" in ada.url:  # a link that was used is not passed on with the address
        assert time.monotonic() < deadline
        ada.wait_for_timeout(100)

    again = visitors.open(links["Ada"])
    expect(again.locator(".not-let-in .error")).to_contain_text(
        "This link was used before, in another browser or another window. Ask the owner of the study for a new one."
    )
    expect(again.locator("#annotate-form")).not_to_be_visible()

    ben = visitors.open(links["entrance"])
    ben.locator("#pq-enter-name").get_by_role("textbox").fill("Ben")
    ben.locator("#pq-enter-password input").fill("guess")
    ben.locator("#pq-enter-button").click()
    expect(ben.locator(".not-let-in .error")).to_contain_text("do not belong together")
    ben.locator("#pq-enter-password input").fill(links["password"])
    ben.locator("#pq-enter-button").click()

    rate(ada, "1yx")
    expect(ben.locator("#pq-header")).to_contain_text("Ben, rating")
    expect(ben.locator("#annotate-results table.agreement")).to_have_count(0)
    rate(ben, "1nx")
    expect(ben.locator("#annotate-results table.agreement")).to_be_visible()
    eve = visitors.open(links["Eve"])
    for page in (ben, eve):
        expect(page.locator("#annotate-results table.agreement")).to_be_visible()
    expect(eve.locator("#annotate-form .choice")).to_have_count(0)
    ada.reload()
    expect(ada.locator("#pq-header")).to_contain_text("Ada, rating")
    expect(ada.locator("#annotate-results table.agreement")).to_be_visible()
    for page in (ada, again, ben, eve):
        page.context.close()
    assert visitors.record.outside == []
