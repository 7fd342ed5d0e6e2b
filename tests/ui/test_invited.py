"""Two people on two machines rate one study of a demo's visitor through their links; a link works once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services import Services
from pdfqa_core.services.accounts import InvitationService
from pdfqa_core.study_types import Role
from tests.services.helpers import store_of
from tests.storage.conftest import turn
from tests.ui.inside import WORD_FOR_WORD, opened, serving
from tests.ui.serving import WAIT, Record
from tests.ui.studies import rate_item

pytestmark = pytest.mark.browser

OWNER = "visitor-" + "o" * 43
SYSTEM = "zzsystemzz"


def invite(services: Services) -> dict[str, str]:
    """Make a study of a visitor; return the link of each who is invited."""
    with store_of(services) as store:
        conversation = store.conversations.create(OWNER, "Heat pump")
        asked = turn("t0", "A passage.", question="What cools it?")
        answer = replace(asked.answer, text="It is ammonia.", model=SYSTEM)
        store.conversations.append_turn(OWNER, conversation.id, replace(asked, answer=answer))
        study = store.studies.create(OWNER, "Pilot", [conversation.id], 1)
        people = InvitationService(store.invitations, store.studies)
        links = {name: people.invite(OWNER, study.id, name) for name in ("Ada", "Ben")}
        links["Eve"] = people.invite(OWNER, study.id, "Eve", Role.VIEWER)
        links["password"] = people.make_password(OWNER, study.id, "Ben")
        return {**links, "entrance": f"?tab=annotate&study={study.id}&enter=1"}


class Visitors:
    """Browser profiles, one a visitor; nothing is asked of other hosts."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url, self.record = browser, url, Record()

    def open(self, address: str) -> Page:
        context = self.browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(WAIT)
        self.record.watch(context)
        page = context.new_page()
        page.goto(f"{self.url}/{address}")
        return page


def test_two_annotators_share_a_study_through_their_links(browser: Browser, tmp_path: Path) -> None:
    with opened(tmp_path, WORD_FOR_WORD.changed("server", demo=True)) as services, serving(services) as url:
        links, visitors = invite(services), Visitors(browser, url)
        ada = visitors.open(links["Ada"])
        expect(ada.locator("#pq-header")).to_contain_text("Ada, rating")
        expect(ada.locator("#annotate-form .choice").first).to_be_visible()
        expect(ada.get_by_role("tab", name="Documents")).not_to_be_visible()
        expect(ada).not_to_have_url(re.compile("invite="))  # a link that was used is not passed on with the address

        again = visitors.open(links["Ada"])
        expect(again.locator(".not-let-in .error")).to_contain_text("This link was used before")
        expect(again.locator("#annotate-form")).not_to_be_visible()

        ben = visitors.open(links["entrance"])
        ben.locator("#pq-enter-name").get_by_role("textbox").fill("Ben")
        ben.locator("#pq-enter-password input").fill("guess")
        ben.locator("#pq-enter-button").click()
        expect(ben.locator(".not-let-in .error")).to_contain_text("do not belong together")
        ben.locator("#pq-enter-password input").fill(links["password"])
        ben.locator("#pq-enter-button").click()
        expect(ben.locator("#pq-header")).to_contain_text("Ben, rating")

        rate_item(ada, "1yx")
        assert SYSTEM not in ada.content() + ben.content()
        expect(ben.locator("#annotate-form [aria-pressed='true']")).to_have_count(0)
        expect(ben.locator("#annotate-results table.agreement")).to_have_count(0)
        rate_item(ben, "1nx")
        expect(ben.locator("#annotate-results table.agreement")).to_be_visible()
        eve = visitors.open(links["Eve"])
        expect(eve.locator("#annotate-results table.agreement")).to_be_visible()
        expect(eve.locator("#annotate-form .choice")).to_have_count(0)
        ada.reload()
        expect(ada.locator("#pq-header")).to_contain_text("Ada, rating")
        expect(ada.locator("#annotate-results table.agreement")).to_be_visible()
        for page in (ada, again, ben, eve):
            page.context.close()
        assert visitors.record.outside == []
