"""Two people rate a study with the keyboard; nobody sees the other's ratings before both have finished."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.storage import Store
from tests.storage.conftest import turn
from tests.ui.serving import open_page, open_tab, running

pytestmark = pytest.mark.browser

PASSAGES = (23, 2)  # of the two turns; the keys end at the twentieth


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("annotate")
    with Store.open(folder / "workspace") as store:
        conversation = store.conversations.create("local", "Heat pump")
        for number, count in enumerate(PASSAGES):
            asked = turn(f"t{number}", *(f"Passage {n}." for n in range(1, count + 1)), question=f"Question {number}?")
            asked = replace(asked, answer=replace(asked.answer, text="It is ammonia."))
            store.conversations.append_turn("local", conversation.id, asked)
        store.studies.create("local", "Pilot", [conversation.id], 1)
    with running(folder) as app, open_page(browser, app.url) as opened:
        open_tab(opened, "Annotate")
        expect(opened.locator("#annotate-results")).to_contain_text("Nobody has signed in yet")
        sign_in(opened, "Ada")
        yield opened


def sign_in(page: Page, name: str) -> None:
    page.locator("#annotate-name").get_by_role("textbox").fill(name)
    page.locator("#annotate-begin").click()
    expect(page.locator(".annotate-bar")).to_be_visible()


def rate_everything(page: Page, keys: str) -> None:
    for done in range(len(PASSAGES)):
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator("#annotate-form")).not_to_contain_text("Still open")
        expect(page.locator("#annotate-bar")).to_contain_text(f"{done + 1} rated")
        page.keyboard.press("Enter")
        expect(page.locator("#annotate-form [aria-pressed='true']")).to_have_count(0)
    expect(page.locator("#annotate-item")).to_contain_text("All 2 items are rated")


def test_every_passage_can_be_reached_and_the_first_twenty_by_a_key(page: Page) -> None:
    while page.locator("#annotate-item .question").inner_text() != "Question 0?":
        page.keyboard.press("s")
        page.wait_for_timeout(500)
    form = page.locator("#annotate-form")
    expect(form.locator("[data-criterion=passage][data-value='1']")).to_have_count(23)
    expect(page.locator("#annotate-item .passage")).to_have_count(23)
    form.locator("[data-item='t0#23'][data-value='1']").click()
    page.keyboard.press("m")
    page.keyboard.press("x")
    expect(form.locator("[data-value='1'][aria-pressed='true']")).to_have_count(2)
    expect(form.locator("[data-value='0'][aria-pressed='true']")).to_have_count(21)


def test_ratings_stay_hidden_until_both_have_finished(page: Page) -> None:
    message, results = page.locator("#annotate-message"), page.locator("#annotate-results")
    rate_everything(page, "1yx")
    page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-begin")).to_be_visible()
    page.locator("#annotate-csv").click()
    expect(message).to_contain_text("Sign in to download your own")
    sign_in(page, "Ben")
    expect(results).to_contain_text("still rating: Ben")
    rate_everything(page, "2yx")
    expect(results.locator("table.agreement")).to_be_visible()
    page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-begin")).to_be_visible()
    with page.expect_download() as download:
        page.locator("#annotate-csv").click()
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (2 * 2 + sum(PASSAGES))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#annotate-copy").click()
    expect(page.locator("#annotate-copy")).to_have_text("copied")
    assert len(page.evaluate("navigator.clipboard.readText()").splitlines()) == 1 + len(rows)
    expect(message).to_be_empty()
