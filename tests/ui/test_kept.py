"""What somebody typed stays when the page is drawn anew, and does not go over to another thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from pdfqa_core.storage import Store
from tests.storage.conftest import turn
from tests.ui.prepared import looking
from tests.ui.serving import open_tab

pytestmark = pytest.mark.browser


def test_a_text_stays_with_its_question_its_form_and_its_item(browser: Browser, tmp_path: Path) -> None:
    with Store.open(tmp_path / "workspace") as store:
        talk = store.conversations.create("local", "Heat pump")
        for number in (1, 2):
            store.conversations.append_turn(
                "local", talk.id, turn(f"t{number}", "One.", question=f"Question {number}?")
            )
        store.studies.create("local", "Pilot", [talk.id], 1)
    with looking(browser, tmp_path) as (page, _):
        open_tab(page, "Annotate")
        page.get_by_role("button", name="This study").click()
        setup = page.locator("#annotate-setup")
        expect(setup.locator("[name=guideline]")).to_be_visible()
        setup.locator("summary", has_text="Add a question").click()
        form = setup.locator("details", has_text="Add a question")
        form.locator("[name=name]").fill("Stil & Ton")
        form.locator("[name=title]").fill("How is it written?")
        form.locator("[name=kind]").select_option("ordinal")
        form.locator("[name=labels]").fill("muddled\nclear")
        form.get_by_role("button", name="Add").click()
        expect(setup.locator(".error")).to_be_visible()
        expect(form.locator("[name=title]")).to_have_value("How is it written?")
        expect(form.locator("[name=kind]")).to_have_value("ordinal")
        form.locator("[name=name]").fill("style")
        form.get_by_role("button", name="Add").click()
        expect(setup.locator(".said")).to_contain_text("“How is it written?” is saved.")
        for field in ("name", "title", "labels"):
            expect(form.locator(f"[name={field}]")).to_have_value("")

        first, second = setup.locator("details [name=name][readonly]").evaluate_all(
            "some => some.slice(0, 2).map((one) => one.value)"
        )

        def of(name: str) -> Locator:
            return setup.locator(f"[data-about$=' question {name}']")

        setup.locator("[name=guideline]").fill("Read twice.")
        setup.locator("details", has=page.locator(f"[data-about$=' question {second}']")).locator("summary").click()
        of(second).locator("[name=help]").fill("of the second")
        of(second).get_by_role("button", name="Move up").click()
        expect(setup.locator(".said")).to_contain_text("order of the questions is changed")
        expect(of(second).locator("[name=help]")).to_have_value("of the second")
        expect(of(first).locator("[name=help]")).not_to_have_value("of the second")
        expect(setup.locator("[name=guideline]")).to_have_value("Read twice.")

        setup.locator("[name=preset]").select_option("rag")
        setup.get_by_role("button", name="Use its questions").click()
        expect(setup.locator(".said")).to_contain_text("RAG quality")
        page.locator("#annotate-name").get_by_role("textbox").fill("Dora")
        page.locator("#annotate-begin").click()
        expect(page.locator("#annotate-sign-out")).to_have_text("Dora: sign out")
        item, remark = page.locator("#annotate-item .question").last, page.locator("#annotate-form .words textarea")
        shown = item.inner_text()
        remark.fill("of the first")
        remark.blur()
        expect(page.locator("#annotate-form .saved")).to_contain_text("✓ saved")
        page.keyboard.press("s")
        expect(item).not_to_have_text(shown)
        expect(remark).to_have_value("")
        page.keyboard.press("b")
        expect(item).to_have_text(shown)
        expect(remark).to_have_value("of the first")
