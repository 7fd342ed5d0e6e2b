"""What a person says of an answer: a thumb that stays, and a study it goes into without leaving the chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.storage import Store
from pdfqa_core.types import Thumb
from tests.storage.conftest import turn
from tests.ui.serving import open_page, open_tab, running

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a conversation of two answers, and a study of another conversation."""
    folder = tmp_path_factory.mktemp("rate")
    with Store.open(folder / "workspace") as store:
        other = store.conversations.create("local", "Meters")
        store.conversations.append_turn("local", other.id, turn("t0", "Zero."))
        store.studies.create("local", "Pilot", [other.id], 1)
        conversation = store.conversations.create("local", "Heat pump")
        for number in (1, 2):
            asked = turn(f"t{number}", "One.", question=f"Why {number}?")
            store.conversations.append_turn("local", conversation.id, asked)
    return folder


@pytest.fixture(scope="module")
def page(browser: Browser, workspace: Path) -> Iterator[Page]:
    with running(workspace) as app, open_page(browser, app.url) as opened:
        open_chat(opened)
        yield opened


def open_chat(page: Page) -> None:
    open_tab(page, "Chat")
    page.locator(".conversations .open", has_text="Heat pump").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(2)


def answer(page: Page, number: int) -> Locator:
    return page.locator(f"#chat-transcript .turn[data-row=t{number}]")


def thumbs(workspace: Path) -> list[Thumb]:
    with Store.open(workspace / "workspace") as store:
        return [store.conversations.turn("local", f"t{number}").thumb for number in (1, 2)]


def studies(workspace: Path) -> dict[str, tuple[str, ...]]:
    with Store.open(workspace / "workspace") as store:
        return {study.name: study.turn_ids for study in store.studies.list("local")}


def test_a_thumb_is_there_after_a_reload_and_a_second_click_takes_it_back(page: Page, workspace: Path):
    good, bad = (answer(page, 1).get_by_role("button", name=name) for name in ("good answer", "bad answer"))
    bad.click()
    expect(bad).to_have_attribute("aria-pressed", "true")
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    expect(bad).to_have_attribute("aria-pressed", "false")
    page.reload()
    open_chat(page)
    expect(good).to_have_attribute("aria-pressed", "true")
    assert thumbs(workspace) == [Thumb.UP, Thumb.NONE]
    good.click()
    expect(good).to_have_attribute("aria-pressed", "false")
    assert thumbs(workspace) == [Thumb.NONE, Thumb.NONE]


def test_an_answer_goes_into_an_open_study_and_out_again(page: Page, workspace: Path):
    one = answer(page, 1)
    one.get_by_role("button", name="add to study…").click()
    one.get_by_role("button", name="Pilot").click()
    expect(one.locator(".studying")).to_contain_text("This answer was added to the study “Pilot”.")
    assert studies(workspace) == {"Pilot": ("t0", "t1")}
    one.get_by_role("button", name="undo").click()
    expect(page.locator(".studying")).to_have_count(0)
    assert studies(workspace) == {"Pilot": ("t0",)}


def test_a_new_study_is_of_the_answer_or_of_the_conversation_and_opens_when_asked(page: Page, workspace: Path):
    two = answer(page, 2)
    two.get_by_role("button", name="add to study…").click()
    two.get_by_role("button", name="a new study of the whole conversation").click()
    expect(two.locator(".studying")).to_contain_text("2 answers were added to the study “Heat pump”.")
    two.get_by_role("button", name="undo").click()
    expect(page.locator(".studying")).to_have_count(0)
    two.get_by_role("button", name="add to study…").click()
    two.get_by_role("button", name="a new study of this answer").click()
    expect(two.locator(".studying")).to_contain_text("Why 2?")
    assert studies(workspace) == {"Why 2?": ("t2",), "Pilot": ("t0",)}
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    two.get_by_role("button", name="open it").click()
    expect(page.get_by_role("tab", name="Annotate")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#annotate-study input")).to_have_value("Why 2?")
