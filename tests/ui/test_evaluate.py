"""Measuring retrieval in the page: questions, systems, table, one question's evidence, files."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from pdfqa_core.csv_format import read_csv
from pdfqa_core.exports.results import read_results
from tests.protocols.test_beir import zip_of
from tests.ui.serving import WAIT, open_tab

pytestmark = pytest.mark.browser

# Where in the field for a file its label ends, what is said begins and ends, and the field ends.
FIELD = """(field) => {
  const said = document.createRange();
  said.selectNodeContents(field.querySelector('[data-testid=upload-text]'));
  const {top, bottom} = said.getBoundingClientRect();
  const ends = [field.querySelector('label'), field].map((one) => one.getBoundingClientRect().bottom);
  return [ends[0], top, bottom, ends[1]];
}"""


def test_the_sample_is_measured_and_a_question_opens_its_gold_page(page: Page) -> None:
    open_tab(page, "Evaluate")
    page.locator("#evaluate-questions").get_by_role("button", name="Add the sample").click()
    expect(page.locator("#evaluate-questions")).to_contain_text("15 questions, 10 with gold places")
    page.locator("#evaluate-retrievers").get_by_label("dense").uncheck()
    page.locator("#evaluate-retrievers").get_by_label("hybrid").uncheck()
    page.locator("#evaluate-chunkers").get_by_label("snippets").check()
    expect(page.locator("#evaluate-systems .chip")).to_have_count(2)
    page.locator("button#evaluate-go").click()
    results = page.locator("#evaluate-results")
    expect(results).to_contain_text("10 of 15 questions scored, 5 unscored", timeout=2 * WAIT)
    expect(results.locator("tr.chosen")).to_contain_text("baseline")
    expect(results.locator("tbody tr, table > tr")).to_have_count(2)
    questions = page.locator("#evaluate-items tr[data-action]")
    expect(questions).to_have_count(10)
    questions.filter(has_text="Ropewalk Court").click()
    expect(page.locator("#evaluate-item")).to_contain_text("Gold: harbour-heat.pdf, p. 3")
    expect(page.locator("#evaluate-page .sheet [class*=mark]").first).to_be_visible()
    with page.expect_download() as download:
        page.locator("button#evaluate-csv").click()
    table = read_csv(download.value.path().read_bytes())
    assert len(table.rows) == 2 * 15 * 5
    assert {row.cells[table.header.index("item")] for row in table.rows} >= {"q01", "q15"}
    open_tab(page, "Documents")
    page.locator("#documents-table").get_by_role("button", name="remove").click()
    expect(page.locator("#documents-table tr[data-document]")).to_have_count(0)


def test_a_wrong_file_says_which_row(page: Page, tmp_path) -> None:
    wrong = tmp_path / "gold.jsonl"
    wrong.write_text('{"question": "x?", "page": 1}\n{"answer": "no question"}\n')
    open_tab(page, "Evaluate")
    page.get_by_label("My file").check()
    expect(page.locator("#evaluate-questions")).to_contain_text("Bring a file of questions")
    page.locator("#evaluate-file input[type=file]").set_input_files(wrong)
    expect(page.locator("#evaluate-questions [role=alert]")).to_contain_text("row 2: there is no question")
    page.locator("button#evaluate-go").click()
    expect(page.locator("#evaluate-work")).to_contain_text("row 2: there is no question")
    page.locator("#evaluate-file").get_by_role("button", name="Clear").click()
    expect(page.locator("#evaluate-questions")).to_contain_text("Bring a file of questions")
    page.get_by_label("The sample's 15 questions").check()
    expect(page.locator("#evaluate-questions")).to_contain_text("not among your documents")


def test_a_template_is_offered_and_the_field_for_a_file_is_not_cut(page: Page) -> None:
    open_tab(page, "Evaluate")
    expect(page.locator("button#evaluate-template")).to_be_hidden()
    page.get_by_label("My file").check()
    with page.expect_download() as download:
        page.locator("button#evaluate-template").click()
    assert read_csv(download.value.path().read_bytes()).header[:3] == ("question", "document", "page")
    label_end, first, last, end = page.locator("#evaluate-file").evaluate(FIELD)
    assert label_end <= first < last <= end
    page.get_by_label("The sample's 15 questions").check()
    expect(page.locator("button#evaluate-template")).to_be_hidden()


def test_a_beir_zip_needs_no_documents(page: Page, tmp_path) -> None:
    open_tab(page, "Evaluate")
    page.get_by_label("My file").check()
    page.locator("#evaluate-file input[type=file]").set_input_files(zip_of(tmp_path / "tiny.zip", "tiny/"))
    expect(page.locator("#evaluate-questions")).to_contain_text("1 question, 1 with gold places")
    page.locator("button#evaluate-go").click()
    expect(page.locator("#evaluate-results")).to_contain_text("1 of 1 question scored", timeout=2 * WAIT)
    page.locator("#evaluate-results").get_by_role("button", name="Delete").click()
    broken = zip_of(tmp_path / "broken.zip", **{"corpus.jsonl": '{"_id": "d1"}\n{"_id": "d1"}\n'})
    page.locator("#evaluate-file").get_by_role("button", name="Clear").click()
    page.locator("#evaluate-file input[type=file]").set_input_files(broken)
    expect(page.locator("#evaluate-questions [role=alert]")).to_contain_text("corpus.jsonl, row 2: the id 'd1'")
    page.get_by_label("The sample's 15 questions").check()


def test_choices_and_file_are_there_again_after_a_reload_and_results_are_taken_along(page: Page, tmp_path) -> None:
    own = tmp_path / "my questions.jsonl"
    own.write_text('{"question": "How much did the heat pump cost?", "document": "harbour-heat.pdf", "page": 3}\n')
    open_tab(page, "Evaluate")
    page.locator("#evaluate-questions").get_by_role("button", name="Add the sample").click()
    expect(page.locator("#evaluate-questions")).to_contain_text("15 questions")
    page.get_by_label("My file").check()
    page.locator("#evaluate-file input[type=file]").set_input_files(own)
    expect(page.locator("#evaluate-questions")).to_contain_text("1 question, 1 with gold places")
    for name in ("dense", "hybrid"):
        page.locator("#evaluate-retrievers").get_by_label(name).uncheck()
    page.locator("#evaluate-chunkers").get_by_label("snippets").check()
    page.locator("button#evaluate-go").click()
    expect(page.locator("#evaluate-results")).to_contain_text("1 of 1 question scored", timeout=2 * WAIT)
    shown = page.locator("#evaluate-results [data-evaluation]").get_attribute("data-evaluation")
    expect(page).to_have_url(re.compile(f"[?&]evaluation={shown}"))  # the address follows a moment later
    page.reload()
    open_tab(page, "Evaluate")
    expect(page.locator("#evaluate-questions")).to_contain_text("my questions: 1 question, 1 with gold places")
    expect(page.locator("#evaluate-file")).to_contain_text("my ques")
    expect(page.locator("#evaluate-chunkers").get_by_label("snippets")).to_be_checked()
    expect(page.locator("#evaluate-retrievers").get_by_label("dense")).not_to_be_checked()
    expect(page.locator("#evaluate-systems .chip")).to_have_count(2)
    expect(page.locator("#evaluate-results")).to_contain_text("1 of 1 question scored")
    files = {}
    for name in ("html", "latex", "figure", "json", "parquet"):
        with page.expect_download() as download:
            page.locator(f"button#evaluate-{name}").click()
        files[download.value.suggested_filename] = download.value.path().read_bytes()
    assert list(files) == ["retrieval.html", "retrieval.tex", "retrieval.pdf", "retrieval.json", "retrieval.parquet"]
    assert b"How much did the heat pump cost?" in files["retrieval.html"]
    assert b"\\toprule" in files["retrieval.tex"]
    assert files["retrieval.pdf"].startswith(b"%PDF")
    found = read_results(files["retrieval.json"], "retrieval.json")
    assert [len(system.items) for system in found.systems] == [1, 1]
    assert found.versions["pdfqa"]
    assert files["retrieval.parquet"].startswith(b"PAR1")
    results = page.locator("#evaluate-results")
    assert results.locator("[data-copy]").get_attribute("data-copy").startswith("system\tmeasure\tmean\tlow")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    results.get_by_role("button", name="Copy table").click()
    expect(results.get_by_role("button", name="copied")).to_be_visible()
    results.get_by_role("button", name="Delete").click()  # the page asks, the fixture says yes
    expect(results).not_to_contain_text("my questions")
    page.get_by_label("The sample's 15 questions").check()
    expect(page.locator("#evaluate-file")).to_be_hidden()
    open_tab(page, "Documents")
    page.locator("#documents-table").get_by_role("button", name="remove").click()
    expect(page.locator("#documents-table tr[data-document]")).to_have_count(0)
