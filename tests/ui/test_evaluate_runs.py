"""Runs in the page: from a file of questions to its answers, scores and files; left and found again."""

from __future__ import annotations

import json
import re
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.protocols.test_beir import folder_of
from tests.services.test_runs import SQUAD
from tests.ui.serving import WAIT, open_tab, settle

pytestmark = pytest.mark.browser

QUERIES = 240  # so many that a run is still under way when it is paused
MANY = {
    "corpus.jsonl": "".join(f'{{"_id": "d{n}", "text": "House {n} has {n + 3} rooms."}}\n' for n in range(QUERIES)),
    "queries.jsonl": "".join(f'{{"_id": "q{n}", "text": "How many rooms has house {n}?"}}\n' for n in range(QUERIES)),
    "qrels/test.tsv": "".join(f"q{n}\td{n}\t1\n" for n in range(QUERIES)),
}


def test_a_file_is_run_watched_left_found_again_and_taken_along(page: Page, tmp_path) -> None:
    data = tmp_path / "storks.json"
    data.write_text(json.dumps(SQUAD))
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()
    expect(page.locator("#runs-list")).to_contain_text(re.compile("Choose questions and systems|rename"))
    if (left := page.locator("#runs-list").get_by_role("button", name="delete")).count():
        left.first.click()  # of an earlier attempt
    expect(page.locator("#runs-list")).to_contain_text("Choose questions and systems")
    expect(page.locator("#runs-questions")).to_contain_text("add it on the Documents tab")
    page.locator("#runs-source").get_by_label("My file").check()
    expect(page.locator("#runs-questions")).to_contain_text("Bring a file of questions")
    page.locator("#runs-file input[type=file]").set_input_files(data)
    expect(page.locator("#runs-questions")).to_contain_text("2 questions, 2 with a gold answer")
    page.locator("#runs-readers").get_by_label("extractive").check()
    page.locator("#runs-readers").get_by_label("auto").uncheck()
    page.locator("#runs-retrievers").get_by_label("bm25", exact=True).check()
    page.locator("#runs-retrievers").get_by_label("hybrid", exact=True).uncheck()
    page.locator("#runs-chunkers").get_by_label("paragraphs").check()
    expect(page.locator("#runs-systems .chip")).to_have_count(2)
    expect(page.locator("#runs-systems")).to_contain_text("4 answers")
    page.locator("button#runs-go").click()
    results = page.locator("#runs-results")
    expect(results.locator("tr.chosen")).to_contain_text("baseline", timeout=2 * WAIT)
    expect(results).to_contain_text("All systems: bm25")
    expect(page.locator("#runs-list tr.chosen")).to_contain_text("4 answers")
    page.locator("#runs-items tr[data-action]").filter(has_text="What do storks eat?").click()
    answers = page.locator("#runs-item .run-answer")
    expect(answers).to_have_count(2)
    expect(answers.first).to_contain_text("Storks eat frogs.")
    expect(answers.first.locator("mark.other").first).to_have_text("Storks")
    results.get_by_role("button", name="Answer F1").click()
    expect(results.locator("th[aria-sort=descending]")).to_contain_text("Answer F1")
    page.locator("#runs-only").get_by_label("better").check()
    expect(page.locator("#runs-items")).to_contain_text("No question of this kind.")
    page.locator("#runs-only").get_by_label("all", exact=True).check()
    page.locator("#runs-charts-fold button").first.click()
    drawn = page.locator("#runs-charts-drawn figure")
    expect(drawn.first.locator("figcaption")).to_have_text("Answer F1 of every system")
    expect(drawn.first.locator("svg[role=img]")).to_be_visible()
    results.get_by_role("button", name="Answer EM").click()
    expect(results.locator("th[aria-sort=descending]")).to_contain_text("Answer EM")
    page.locator("#runs-rate button").first.click()
    settle(page)
    page.locator("#runs-rate-name textarea, #runs-rate-name input").fill(tmp_path.name)  # another one at each attempt
    page.locator("#runs-rate-n input").fill("3")
    page.locator("#runs-rate-make").click()
    expect(page.locator("#runs-rate-said")).to_contain_text("is made, with 3 items of 2 questions")
    files = {}
    for name in ("html", "charts", "latex", "json", "answers", "zip", "methods"):
        with page.expect_download() as download:
            page.locator(f"button#runs-{name}").click()
        files[name] = download.value.path()
    assert b"What do storks eat?" in files["html"].read_bytes()
    assert files["charts"].read_bytes().startswith(b"%PDF")
    assert b"\\toprule" in files["latex"].read_bytes()
    found = json.loads(files["json"].read_text("utf-8"))
    assert found["systems"][0]["items"][0]["answer"] == "Storks eat frogs."
    assert b"**Measures.**" in files["methods"].read_bytes()
    assert "gold.json" in zipfile.ZipFile(files["answers"]).namelist()
    page.reload()
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()
    expect(page.locator("#runs-results tr.chosen")).to_contain_text("baseline")
    page.locator("#runs-list").get_by_role("button", name="delete").click()  # the page asks, the fixture says yes
    expect(page.locator("#runs-list")).to_contain_text("Choose questions and systems")
    (tmp_path / "run.zip").write_bytes(files["zip"].read_bytes())
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Bring in a run").click()
    chooser.value.set_files(tmp_path / "run.zip")
    expect(page.locator("#runs-results tr.chosen")).to_contain_text("baseline")
    page.locator("#runs-what").get_by_text("Retrieval", exact=True).click()
    expect(page.locator("#evaluate-source")).to_be_visible()


def test_a_beir_data_set_is_run_paused_and_gone_on_with(page: Page, tmp_path) -> None:
    folder = folder_of(tmp_path / "tiny", **MANY)
    parts = [folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"]
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()
    page.locator("#runs-source").get_by_label("My file").check()
    page.locator("#runs-file input[type=file]").set_input_files(parts[:2])
    expect(page.locator("#runs-questions [role=alert]")).to_contain_text("missing: qrels/test.tsv")
    page.locator("#runs-file").get_by_role("button", name="Clear").click()
    page.locator("#runs-file input[type=file]").set_input_files(parts)
    expect(page.locator("#runs-questions")).to_contain_text(f"{QUERIES} questions, {QUERIES} with a gold place")
    page.locator("#runs-readers").get_by_label("extractive").check()
    page.locator("#runs-readers").get_by_label("auto").uncheck()
    for retriever in ("bm25", "dense"):
        page.locator("#runs-retrievers").get_by_label(retriever, exact=True).check()
    expect(page.locator("#runs-systems")).to_contain_text(f"{3 * QUERIES} answers")
    page.locator("button#runs-go").click()
    page.locator("button#runs-stop").click()
    expect(page.locator("#runs-work")).to_contain_text(f"of {3 * QUERIES} answers. They are kept")
    expect(page.locator("#runs-list tr.chosen")).to_contain_text("paused")
    page.locator("#runs-results").get_by_role("button", name="go on").click()
    results = page.locator("#runs-results")
    expect(results.get_by_role("button", name="HR@1")).to_be_visible(timeout=2 * WAIT)
    expect(results).to_contain_text("As in the sources under Scoring")
    expect(results.locator(".deviations")).to_contain_text("hybrid: a similarity of meaning below 0 counts as 0")
    expect(page.locator("#runs-list tr.chosen")).to_contain_text(f"{3 * QUERIES} answers")
    page.locator("#runs-list tr.chosen").get_by_role("button", name="delete").click()
    expect(page.locator("#runs-list")).not_to_contain_text("beir.zip")


def test_a_protocol_shows_what_it_needs(page: Page, tmp_path) -> None:
    others = tmp_path / "others.jsonl"
    others.write_text('{"question": "Who is the mayor of Paris?"}\n')
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()
    expect(page.locator("#runs-unanswerable")).to_be_hidden()
    page.locator("#runs-protocol input").click()
    page.get_by_role("option", name="Refusal").click()
    page.locator("#runs-unanswerable input[type=file]").set_input_files(others)
    expect(page.locator("#runs-questions")).to_contain_text("16 questions, 15 with a gold answer, 6 without an answer")
    expect(page.locator("#runs-evidence").get_by_label("closed book")).to_have_count(0)
    page.locator("#runs-scoring button").first.click()
    expect(page.locator("#runs-nli")).to_be_hidden()
    page.locator("#runs-protocol input").click()
    page.get_by_role("option", name="Entailment").click()
    expect(page.locator("#runs-nli")).to_be_visible()
    expect(page.locator("#runs-unanswerable")).to_be_hidden()
    expect(page.locator("#runs-questions")).to_contain_text("15 questions, 15 with a gold answer")
    page.locator("#runs-more button").first.click()
    page.locator("#runs-extractors").get_by_label("pdfplumber").check()
    page.locator("#runs-models input").click()
    page.get_by_role("option", name="SmolLM2 135M Instruct").click()
    expect(page.locator("#runs-systems .chip")).to_have_text(["as read", "read by pdfplumber"])
    expect(page.locator("#runs-systems")).to_contain_text("model smollm2-135m")


def test_a_wrong_file_says_which_row_and_which_command(page: Page, tmp_path) -> None:
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()
    page.locator("#runs-source").get_by_label("My file").check()
    wrong = tmp_path / "predictions.json"
    wrong.write_text('[{"answer": "x", "citations": []}]')
    page.locator("#runs-file input[type=file]").set_input_files(wrong)
    expect(page.locator("#runs-questions [role=alert]")).to_contain_text("pdfqa evaluate answers")
    page.locator("button#runs-go").click()
    expect(page.locator("#runs-work")).to_contain_text("row 1: there is no question")
    expect(page.locator("button#runs-go")).to_be_visible()


def test_columns_of_ones_own_are_chosen(page: Page, tmp_path) -> None:
    table = tmp_path / "fragen.csv"
    table.write_text("Frage;Antwort;Seite\nWhat do storks eat?;frogs;4\nWhere do they nest?;on roofs;vii\n")
    open_tab(page, "Evaluate")
    page.locator("#evaluate-what").get_by_text("Answers", exact=True).click()
    page.locator("#runs-source").get_by_label("My file").check()
    page.locator("#runs-file input[type=file]").set_input_files(table)

    def choose(field: str, column: str) -> None:
        page.locator(f"#runs-column-{field} input").click()
        page.get_by_role("option", name=column, exact=True).click()
        expect(page.get_by_role("option")).to_have_count(0)  # the list closes before another one opens

    choose("question", "Frage")
    choose("answer", "Antwort")
    expect(page.locator("#runs-questions")).to_contain_text("2 questions, 2 with a gold answer")
    choose("page", "Seite")
    problem = page.locator("#runs-questions [role=alert]")
    expect(problem).to_contain_text("row 3, column 'Seite' (page, from 1): 'vii' is no page number")
    with page.expect_download() as download:
        page.locator("button#runs-template").click()
    assert download.value.path().read_bytes().startswith(b"\xef\xbb\xbfquestion,answer,document,page")
