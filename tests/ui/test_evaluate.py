"""Measuring retrieval in the page: a file of questions, systems, one question's evidence, files; all there again."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from pdfqa_core.exports.runs import read_results
from pdfqa_core.services import LOCAL_OWNER
from tests.serving_fakes import PDF
from tests.ui.inside import opened, serving
from tests.ui.serving import open_page, open_tab

pytestmark = pytest.mark.browser

QUESTIONS = [
    {"question": "How much did the heat pump cost?", "document": "harbour-heat.pdf", "page": 3},
    {"question": "How often are the meters read?", "document": "harbour-heat.pdf", "page": 4,
     "quote": "every 15 minutes"},
]  # fmt: skip


def test_a_file_is_measured_a_question_opens_its_gold_page_and_all_is_there_after_a_reload(
    browser: Browser, tmp_path
) -> None:
    own, wrong = tmp_path / "my questions.jsonl", tmp_path / "gold.jsonl"
    own.write_text("".join(f"{json.dumps(one)}\n" for one in QUESTIONS))
    wrong.write_text('{"question": "x?", "page": 1}\n{"answer": "no question"}\n')
    with opened(tmp_path) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        with serving(services) as url, open_page(browser, url) as page:
            open_tab(page, "Evaluate")
            known, results = page.locator("#evaluate-questions"), page.locator("#evaluate-results")
            expect(known).to_contain_text("15 questions, 10 with gold places")
            page.get_by_label("My file").check()
            expect(known).to_contain_text("Bring a file of questions")
            file = page.locator("#evaluate-file")
            file.locator("input[type=file]").set_input_files(wrong)
            expect(known.get_by_role("alert")).to_contain_text("row 2: there is no question")
            file.get_by_role("button", name="Clear").click()
            expect(known).to_contain_text("Bring a file of questions")
            file.locator("input[type=file]").set_input_files(own)
            expect(known).to_contain_text("2 questions, 2 with gold places")
            for name in ("dense", "hybrid"):
                page.locator("#evaluate-retrievers").get_by_label(name).uncheck()
            page.locator("#evaluate-chunkers").get_by_label("snippets").check()
            page.locator("button#evaluate-go").click()
            expect(results).to_contain_text("2 of 2 questions scored")
            page.locator("#evaluate-items tr[data-action]").filter(has_text="meters").click()
            expect(page.locator("#evaluate-item")).to_contain_text("Gold: harbour-heat.pdf, p. 4")
            expect(page.locator("#evaluate-page .sheet [class*=mark]").first).to_be_visible()
            shown = results.locator("[data-evaluation]").get_attribute("data-evaluation")
            expect(page).to_have_url(re.compile(f"[?&]evaluation={shown}"))  # the address follows a moment later
            page.reload()
            open_tab(page, "Evaluate")
            expect(known).to_contain_text("my questions: 2 questions, 2 with gold places")
            expect(page.locator("#evaluate-chunkers").get_by_label("snippets")).to_be_checked()
            expect(page.locator("#evaluate-retrievers").get_by_label("dense")).not_to_be_checked()
            expect(page.locator("#evaluate-systems .chip")).to_have_count(2)
            expect(results).to_contain_text("2 of 2 questions scored")
            files = {}
            for kind in ("html", "figure", "json", "csv"):
                with page.expect_download() as download:
                    page.locator(f"button#evaluate-{kind}").click()
                files[kind] = download.value.path().read_bytes()
            assert QUESTIONS[0]["question"].encode() in files["html"]
            assert files["figure"].startswith(b"%PDF")
            assert [len(one.items) for one in read_results(files["json"], "retrieval.json").systems] == [2, 2]
            results.get_by_role("button", name="Delete").click()  # the page asks, the browser says yes
            expect(results).not_to_contain_text("my questions")
            page.get_by_label("As in the sources").first.check()
            expect(page.locator("#evaluate-chunkers").get_by_label("snippets")).not_to_be_checked()
            expect(page.locator("#evaluate-chunkers").get_by_label("paragraphs")).to_be_checked()
            expect(page.get_by_label("is the one with most of it")).to_be_checked()
            expect(page.locator("#evaluate-systems")).to_contain_text("1 system, everything else as in the sources")
            page.locator("button#evaluate-go").click()
            expect(results).to_contain_text("Gold match exact")
            expect(results).to_contain_text("1 of 2 questions scored")  # a page without a quote has many passages
