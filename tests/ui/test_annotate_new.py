"""A study that its owner makes of a table and sets up, and its first item; what is said and offered meanwhile."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from pdfqa_core.services import ConversationSummary
from pdfqa_core.study_types import Study
from pdfqa_core.ui.annotate_setup import made_words, talks
from tests.ui.studies import annotate_tab, app_with_pilot, question
from tests.ui.test_axe import findings

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
TABLE = (
    "question,answer,gold_answer,gold_passage,kind,gold:answer,explanation\n"
    "How loud is it?,About 50 dB.,51 dB,The pump makes 51 dB.,,,\n"
    "How warm?,Cold.,Warm,It is warm.,training,0,The passage says warm.\n"
)


def test_what_is_next_names_those_who_rate() -> None:
    for names, words in (
        ((), "type your name below and press “Sign in and rate”"),
        (("Ada",), "Ada presses the button with that name below."),
        (("Ada", "Ben", "Cleo"), "Ada, Ben and Cleo each press their name below."),
        (tuple("ABCDE"), "the 5 who rate each press their name below."),
    ):
        said = made_words(Study("s", "Pilot", datetime.now(UTC), "me", ("t1",)), names)
        assert said.startswith(f"“Pilot” is made, with 1 item. Next: {words}")


def test_conversations_of_one_name_are_told_apart_by_their_time() -> None:
    def named(key: str, title: str, minute: int, turns: int = 2) -> ConversationSummary:
        moment = datetime(2026, 3, 1, 9, minute).astimezone()
        return ConversationSummary(key, title, moment, moment, (), turns)

    kept = [named("a", "Pumps?", 5), named("b", "Pumps?", 7), named("c", "Pipes?", 5), named("d", "Pipes?", 9, turns=0)]
    listed = SimpleNamespace(list=lambda owner: kept)
    services: Any = SimpleNamespace(answers=SimpleNamespace(conversations=listed))
    assert talks(services, "me") == [
        ("Pumps? (2, 1 March 2026 09:05)", "a"), ("Pumps? (2, 1 March 2026 09:07)", "b"), ("Pipes? (2)", "c"),
    ]  # fmt: skip


@pytest.mark.browser
def test_a_study_of_a_table_is_made_set_up_and_begun(browser: Browser, tmp_path: Path) -> None:
    with app_with_pilot(tmp_path, ["Why?"], "One.") as app, annotate_tab(browser, app.url) as page:
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        message, name = page.locator("#annotate-message"), page.locator("#annotate-study-name").get_by_role("textbox")
        page.get_by_role("button", name=re.compile(r"^New study\W*$")).click()
        page.locator("#annotate-create").click()
        expect(message.locator(".error")).to_contain_text("A study needs a name.")
        expect(message.locator(".error")).to_be_in_viewport(ratio=1)
        name.fill("Hundred")
        table = tmp_path / "items.csv"
        table.write_text(TABLE)
        page.get_by_label("a table (CSV)").click()
        page.locator("#annotate-table input[type=file]").set_input_files(table)
        expect(page.locator("#annotate-table")).to_contain_text("items")
        page.locator("#annotate-people").get_by_role("textbox").fill("Ada, Ben")
        page.locator("#annotate-create").click()
        expect(message.locator(".said")).to_contain_text("“Hundred” is made, with 2 items.")
        expect(message.locator(".said")).to_be_in_viewport(ratio=1)
        expect(page.locator("#annotate-names button")).to_have_text(["Ada", "Ben"])
        expect(page.locator("#annotate-name")).to_be_hidden()  # nobody else signs in
        expect(name).to_be_hidden()
        page.get_by_role("button", name=re.compile(r"^New study\W*$")).click()
        expect(name).to_have_value("")
        expect(page.locator("#annotate-table")).to_be_hidden()
        page.get_by_role("button", name=re.compile(r"^New study\W*$")).click()
        expect(name).to_be_hidden()

        page.set_viewport_size(DESK)  # type: ignore[arg-type]
        page.get_by_role("button", name="This study").click()
        setup = page.locator("#annotate-setup")
        setup.locator("summary", has_text="Add a question").click()
        form = setup.locator("details[open]")
        for field, text in (("name", "style"), ("title", "How is it written?"), ("labels", "muddled\nclear")):
            form.locator(f"[name={field}]").fill(text)
        form.locator("[name=kind]").select_option("ordinal")
        form.locator("[name=about]").select_option("answer")
        form.get_by_role("button", name="Add").click()
        expect(setup.locator(".said")).to_contain_text("“How is it written?” is saved.")
        setup.locator("[name=guideline]").fill("Read twice.")
        setup.get_by_role("button", name="Save guideline").click()
        expect(setup.locator(".said")).to_contain_text("The guideline is saved")
        setup.locator("[name=names]").fill("Ada, Adda")
        setup.locator("[data-action=invite]").click()
        expect(setup.locator(".said")).to_contain_text("Added: Adda.")
        setup.locator("[data-action=remove-person][data-person=Adda]").click()
        expect(setup.locator(".said")).to_contain_text("Adda is out of this study.")
        page.evaluate("document.querySelectorAll('#annotate-setup details').forEach((one) => { one.open = true; })")
        assert findings(page) == []

        page.locator("#annotate-names").get_by_role("button", name="Ada", exact=True).click()
        item, form = page.locator("#annotate-item"), page.locator("#annotate-form")
        expect(item).to_contain_text("Training item")
        assert question(page) == "How warm?"
        page.keyboard.press(".")
        expect(item.locator("[data-kept^=guideline]")).to_contain_text("Read twice.")
        for key in "y2":
            page.keyboard.press(key)
        expect(form).to_contain_text("Enter submits it")
        page.keyboard.press("Enter")
        expect(form.locator(".explained")).to_contain_text("The passage says warm.")
        expect(form).to_contain_text("right is: incorrect")
        page.keyboard.press("Enter")
        expect(item.locator(".question")).to_have_text("How loud is it?")
