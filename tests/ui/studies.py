"""A study in the workspace of an app, a page that shows it, and people who rate in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.services.helpers import store_of
from tests.storage.conftest import turn
from tests.ui.inside import opened, serving
from tests.ui.prepared import Prepared
from tests.ui.serving import open_page, open_tab


@contextmanager
def app_with_pilot(
    folder: Path, questions: Sequence[str], *passages: str, people: Sequence[str] = ()
) -> Iterator[Prepared]:
    """Serve the study "Pilot": a conversation "Heat pump" of these questions, each with these passages."""
    with opened(folder) as services:
        with store_of(services) as store:
            talk = store.conversations.create("local", "Heat pump")
            for number, question in enumerate(questions, start=1):
                store.conversations.append_turn("local", talk.id, turn(f"t{number}", *passages, question=question))
            study = store.studies.create("local", "Pilot", [talk.id], 1)
            for name in people:
                store.studies.sign_in(study.id, name)
        with serving(services) as url:
            yield Prepared(url, services)


@contextmanager
def annotate_tab(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """Open the page of an app on its Annotate tab."""
    with open_page(browser, url, **options) as opened:
        open_tab(opened, "Chat")  # where a link at the top of the page leads
        open_tab(opened, "Annotate")
        yield opened


def sign_in(page: Page, name: str) -> None:
    """Sign in to the study that is chosen, by typing the name."""
    page.locator("#annotate-name").get_by_role("textbox").fill(name)
    page.locator("#annotate-begin").click()
    expect(page.locator("#annotate-sign-out")).to_have_text(f"{name}: sign out")


def sign_out(page: Page) -> None:
    """Leave the form to somebody else."""
    page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-sign-out")).to_be_hidden()


def question(page: Page) -> str:
    """Return the question of the item that is open."""
    return page.locator("#annotate-item .question").inner_text()


def rate_item(page: Page, keys: str) -> None:
    """Rate all of the item that is open by these keys, submit it, and wait until it is gone."""
    asked = question(page)
    for key in keys:
        page.keyboard.press(key)
    expect(page.locator("#annotate-form")).to_contain_text("Enter submits it")
    page.keyboard.press("Enter")
    expect(page.locator("#annotate-item .question", has_text=asked)).to_have_count(0)
