"""Runs in the page: from a file of questions to its answers, scores and files; deleted, and brought in again."""

from __future__ import annotations

import json
import zipfile

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.services.test_runs import SQUAD
from tests.ui.inside import opened, serving
from tests.ui.serving import open_page, open_tab, settle

pytestmark = pytest.mark.browser


def answers_part(page: Page) -> None:
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()


def test_a_file_is_run_looked_through_taken_along_deleted_and_brought_in_again(browser: Browser, tmp_path) -> None:
    data, packed = tmp_path / "storks.json", tmp_path / "run.zip"
    data.write_text(json.dumps(SQUAD))
    with opened(tmp_path) as services, serving(services) as url, open_page(browser, url) as page:
        answers_part(page)
        runs, results = page.locator("#runs-list"), page.locator("#runs-results")
        expect(runs).to_contain_text("Choose questions and systems")
        page.locator("#runs-source").get_by_label("My file").check()
        page.locator("#runs-file input[type=file]").set_input_files(data)
        expect(page.locator("#runs-questions")).to_contain_text("2 questions, 2 with a gold answer")
        page.locator("#runs-chunkers").get_by_label("paragraphs").check()
        expect(page.locator("#runs-systems")).to_contain_text("4 answers")
        page.locator("button#runs-go").click()
        expect(results.locator("tr.chosen")).to_contain_text("baseline")
        expect(runs.locator("tr.chosen")).to_contain_text("4 answers")
        page.locator("#runs-items tr[data-action]").filter(has_text="What do storks eat?").click()
        answers = page.locator("#runs-item .run-answer")
        expect(answers).to_have_count(2)
        expect(answers.first).to_contain_text("Storks eat frogs.")
        expect(answers.first.locator("mark.other").first).to_have_text("Storks")
        results.get_by_role("button", name="Answer F1").click()
        expect(results.locator("th[aria-sort=descending]")).to_contain_text("Answer F1")
        page.locator("#runs-charts-fold button").first.click()
        expect(page.locator("#runs-charts-drawn figure svg[role=img]").first).to_be_visible()
        page.locator("#runs-rate button").first.click()
        settle(page)
        page.locator("#runs-rate-name :is(textarea, input)").fill("Storks")
        page.locator("#runs-rate-n input").fill("3")
        page.locator("#runs-rate-make").click()
        expect(page.locator("#runs-rate-said")).to_contain_text("is made, with 3 items of 2 questions")
        files = {}
        for kind in ("html", "charts", "json", "answers", "zip"):
            with page.expect_download() as download:
                page.locator(f"button#runs-{kind}").click()
            files[kind] = download.value.path()
        packed.write_bytes(files["zip"].read_bytes())
        found = json.loads(files["json"].read_text("utf-8"))
        assert found["systems"][0]["items"][0]["answer"].startswith("Storks eat frogs.")
        assert b"What do storks eat?" in files["html"].read_bytes()
        assert files["charts"].read_bytes().startswith(b"%PDF")
        assert "gold.json" in zipfile.ZipFile(files["answers"]).namelist()
        page.reload()
        answers_part(page)
        expect(results.locator("tr.chosen")).to_contain_text("baseline")
        runs.get_by_role("button", name="delete").click()  # the page asks, the browser says yes
        expect(runs).to_contain_text("Choose questions and systems")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Bring in a run").click()
        chooser.value.set_files(packed)
        expect(results.locator("tr.chosen")).to_contain_text("baseline")
