"""A study that is made: what is said then, where it is seen, and a form that is empty again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.services import ConversationSummary
from pdfqa_core.study_types import Study
from pdfqa_core.ui.annotate_new import made_words, talks
from tests.ui.studies import annotate_tab, app_with_pilot

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("new")
    with app_with_pilot(folder, ["Why?", "When?"], "One.") as app, annotate_tab(browser, app) as opened:
        yield opened


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "type your name below and press “Sign in and rate”"),
        (("Ada",), "Ada presses the button with that name below."),
        (("Ada", "Ben"), "Ada and Ben each press their name below."),
        (("Ada", "Ben", "Cleo"), "Ada, Ben and Cleo each press their name below."),
        (tuple("ABCDE"), "the 5 who rate each press their name below."),
    ],
)
def test_what_is_next_names_those_who_rate(names: tuple[str, ...], words: str) -> None:
    said = made_words(Study("s", "Pilot", datetime.now(UTC), "me", ("t1",)), names)
    assert said.startswith(f"“Pilot” is made, with 1 item. Next: {words}")


def test_conversations_of_one_name_are_told_apart_by_their_time() -> None:
    def named(key: str, title: str, minute: int, turns: int = 2) -> ConversationSummary:
        moment = datetime(2026, 3, 1, 9, minute).astimezone()
        return ConversationSummary(key, title, moment, moment, (), turns)

    kept = [named("a", "Pumps?", 5), named("b", "Pumps?", 7), named("c", "Pipes?", 5), named("d", "Pipes?", 9, turns=0)]
    services: Any = SimpleNamespace(conversations=SimpleNamespace(list=lambda owner: kept))
    assert talks(services, "me") == [
        ("Pumps? (2, 1 March 2026 09:05)", "a"), ("Pumps? (2, 1 March 2026 09:07)", "b"), ("Pipes? (2)", "c"),
    ]  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE])
def test_what_was_done_is_seen_and_the_form_is_empty_again(page: Page, size: dict[str, int], tmp_path: Path) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    message, name = page.locator("#annotate-message"), page.locator("#annotate-study-name").get_by_role("textbox")
    page.get_by_role("button", name="New study").click()
    expect(page.locator("#annotate-preset")).to_contain_text("MaHuEval is manual human evaluation")
    page.locator("#annotate-create").click()
    expect(message.locator(".error")).to_contain_text("A study needs a name.")
    expect(message.locator(".error")).to_be_in_viewport(ratio=1)
    name.fill(f"Pilot at {size['width']}")
    table = tmp_path / "items.csv"
    table.write_text("question,answer,gold_answer\nHow loud?,Loud.,Quiet.\n")
    page.get_by_label("a table (CSV)").click()
    page.locator("#annotate-table input[type=file]").set_input_files(table)
    expect(page.locator("#annotate-table")).to_contain_text("items")
    page.locator("#annotate-people").get_by_role("textbox").fill("Ada, Ben")
    page.locator("#annotate-create").click()
    expect(message.locator(".said")).to_contain_text(
        f"“Pilot at {size['width']}” is made, with 1 item. Next: Ada and Ben each press their name below."
    )
    expect(message.locator(".said")).to_be_in_viewport(ratio=1)
    expect(page.locator("#annotate-names button").first).to_be_in_viewport()
    expect(name).to_be_hidden()
    page.get_by_role("button", name="New study").click()
    expect(name).to_have_value("")
    expect(page.locator("#annotate-people").get_by_role("textbox")).to_have_value("")
    expect(page.get_by_label("answers from the chat")).to_be_checked()
    expect(page.locator("#annotate-table")).to_be_hidden()
    page.get_by_role("button", name="New study").click()
    expect(name).to_be_hidden()


@pytest.mark.browser
def test_the_button_that_makes_a_study_looks_like_one(page: Page) -> None:
    page.get_by_role("button", name="New study").click()
    colours = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one.closest('.column')).backgroundColor]"
    button, ground = page.locator("button#annotate-create").evaluate(colours)
    assert button not in {ground, "rgba(0, 0, 0, 0)"}
    page.get_by_role("button", name="New MaHuEval study").click()
    begin = page.locator("button#annotate-mahueval-begin")
    assert begin.evaluate("one => getComputedStyle(one).borderTopWidth") == "1px"
