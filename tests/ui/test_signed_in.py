"""What people with an account see: each role what it may use, and nothing that would only be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services import Services
from pdfqa_core.services.accounts import AccountRole
from tests.services.helpers import LITERAL
from tests.ui.calling import serving
from tests.ui.serving import SAMPLE, WAIT, open_tab

PASSWORD = "correct horse"


def with_accounts(services: Services) -> None:
    for role in AccountRole:
        services.people.accounts.add(role.value, role, PASSWORD)


@contextmanager
def signed_in(browser: Browser, url: str, role: AccountRole) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.goto(url)
    page.get_by_label("Name").fill(role.value)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()


@pytest.mark.browser
def test_each_role_sees_what_it_may_use(browser: Browser, tmp_path: Path):
    with serving(tmp_path, LITERAL, prepare=with_accounts) as app:
        with signed_in(browser, app.url, AccountRole.OWNER) as page:
            expect(page.get_by_role("tab", name="Models", exact=True)).to_be_visible()
            page.set_input_files("#documents-upload input[type=file]", str(SAMPLE))
            expect(page.locator("#documents-table .state")).to_have_text("ready")
        with signed_in(browser, app.url, AccountRole.VIEWER) as page:
            expect(page.locator("#documents-table")).to_contain_text("Harbour Heat")
            for name in ("Retrieval", "Annotate", "Train", "Models"):
                expect(page.get_by_role("tab", name=name, exact=True)).to_be_hidden()
            changes = "#documents-upload, [data-choose-folder], #documents-table .check, [data-action=remove]"
            assert not any(one.is_visible() for one in page.locator(changes).all())
            page.locator("#documents-table tbody td").first.click()
            expect(page.locator("#documents-page img")).to_be_visible()
            open_tab(page, "Chat")
            expect(page.locator("#chat-transcript .empty")).to_be_visible()
            assert not any(one.is_visible() for one in page.locator("#chat-compose, #chat-transcript button").all())
        with signed_in(browser, app.url, AccountRole.ANNOTATOR) as page:
            expect(page.locator("#pq-invited h2")).to_have_text("Nothing to rate yet")
            expect(page.get_by_role("tab", name="Documents", exact=True)).to_be_hidden()
            expect(page.get_by_text("Harbour Heat")).to_have_count(0)
