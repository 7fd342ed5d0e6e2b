"""What people with an account see: each role what it may use, and nothing that would only be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services.accounts import AccountRole, AccountService
from pdfqa_core.storage import Store
from tests.ui.serving import SAMPLE, WAIT, App, open_tab, running

pytestmark = pytest.mark.browser

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app in which everybody has to sign in; the owner has added the sample."""
    folder: Path = tmp_path_factory.mktemp("accounts")
    with Store.open(folder / "workspace") as store:
        people = AccountService(store.accounts)
        for role in AccountRole:
            people.add(role.value, role, PASSWORD)
    with running(folder) as app:
        yield app


@contextmanager
def signed_in(browser: Browser, app: App, role: AccountRole) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.goto(app.url)
    page.get_by_label("Name").fill(role.value)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()


def test_an_owner_adds_a_document_and_a_viewer_reads_it(browser: Browser, shared: App):
    with signed_in(browser, shared, AccountRole.OWNER) as page:
        expect(page.get_by_role("tab", name="Models", exact=True)).to_be_visible()
        page.set_input_files("#documents-upload input[type=file]", str(SAMPLE))
        expect(page.locator("#documents-table .state")).to_have_text("ready")
    with signed_in(browser, shared, AccountRole.VIEWER) as page:
        expect(page.locator("#documents-table")).to_contain_text("Harbour Heat")
        for name in ("Retrieval", "Annotate", "Train", "Models"):
            expect(page.get_by_role("tab", name=name, exact=True)).to_be_hidden()
        for hidden in ("#documents-upload", "[data-choose-folder]", "#documents-table .check"):
            expect(page.locator(hidden).first).to_be_hidden()
        for remove in page.locator("#documents-table [data-action=remove]").all():
            expect(remove).to_be_hidden()
        page.locator("#documents-table tbody td").first.click()
        expect(page.locator("#documents-page img")).to_be_visible()
        open_tab(page, "Chat")
        expect(page.locator("#chat-compose")).to_be_hidden()
        expect(page.locator("#chat-transcript .empty")).to_be_visible()
        expect(page.locator("#chat-transcript .empty button").first).to_be_hidden()


def test_a_member_works_but_does_not_change_the_models(browser: Browser, shared: App):
    with signed_in(browser, shared, AccountRole.MEMBER) as page:
        expect(page.get_by_role("tab", name="Train", exact=True)).to_be_visible()
        expect(page.get_by_role("tab", name="Models", exact=True)).to_be_hidden()


def test_an_annotator_who_is_invited_nowhere_is_told_so_and_sees_nothing(browser: Browser, shared: App):
    with signed_in(browser, shared, AccountRole.ANNOTATOR) as page:
        expect(page.locator("#pq-invited h2")).to_have_text("Nothing to rate yet")
        expect(page.locator("#pq-invited")).to_contain_text("You are invited to no study yet.")
        expect(page.get_by_role("tab", name="Documents", exact=True)).to_be_hidden()
        expect(page.get_by_text("Harbour Heat")).to_have_count(0)
