"""The Train tab as a job: questions, review by keys, files, training stopped and gone on with, compared, used."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as TooLate

from tests.retrieval.tiny_models import sentence_transformer
from tests.ui.serving import WAIT, App, open_page, open_tab, running, settle

pytestmark = pytest.mark.browser
pytest.importorskip("sentence_transformers")


@pytest.fixture
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with a folder of models of its own."""
    folder = tmp_path_factory.mktemp("training")
    with running(folder, environment={"PDFQA_MODELS": str(folder / "models")}) as started:
        yield started


def step(page: Page, name: str) -> None:
    page.locator(f"#train-path [data-step={name}]").click()
    expect(page.locator("#train-path .chosen")).to_have_attribute("data-row", name)


def decide(page: Page, key: str) -> str:
    """Press a key on the question in review, wait for the next one, and return the words it had."""
    question = page.locator("#train-question")
    words = question.inner_text()
    page.keyboard.press(key)
    expect(page.locator("#train-review")).not_to_contain_text(words)
    return words


def test_from_a_document_to_a_retriever_of_ones_own(browser: Browser, training: App, tmp_path) -> None:
    with open_page(browser, training.url) as page:
        open_tab(page, "Train")
        expect(page.locator("#train-drawn")).to_contain_text("No documents yet")
        page.locator("#train-drawn").get_by_role("button", name="Add PDFs").click()
        page.get_by_role("button", name="Try the sample").click()
        expect(page.locator("#documents-table .state")).to_have_text("ready")
        open_tab(page, "Train")
        page.locator("#train-passages input").fill("0")
        page.locator("#train-questions input").fill("3")
        expect(page.locator("#train-drawn")).to_contain_text("passages: at most")
        _advised(page)
        page.locator("button#train-make").click()
        expect(page.locator("#train-made")).to_contain_text("by rules", timeout=2 * WAIT)
        page.locator("#train-made").get_by_role("button", name="Review them").click()
        _review(page)
        _files(page)
        _train(page, str(sentence_transformer(tmp_path)))
        _compare(page)


def _advised(page: Page) -> None:
    """Choose few-shot with the smallest model, and take the offer to leave it to rules."""
    kind, drawn, examples = (page.locator(name) for name in ("#train-kind", "#train-drawn", "#train-examples"))
    expect(examples).to_be_hidden()
    kind.get_by_label("after examples").check()
    expect(drawn).to_contain_text("Examples: 3 that come with the program")
    expect(drawn).to_contain_text("0.135 billion parameters")
    examples.locator("input").fill("2")
    expect(drawn).to_contain_text("Examples: 2 that come with the program")
    drawn.get_by_role("button", name="Make them by rules").click()
    expect(kind.get_by_label("By rules")).to_be_checked()
    expect(examples).to_be_hidden()
    expect(drawn).not_to_contain_text("billion")


def _review(page: Page) -> None:
    expect(page.locator("#train-page i.mark").first).to_be_visible()
    accepted = decide(page, "a")
    decide(page, "r")
    page.keyboard.press("e")
    page.keyboard.type("Which quay does the heat come from?")
    page.keyboard.press("Enter")
    expect(page.locator("#train-path")).to_contain_text("2 accepted")
    page.locator("#train-only").get_by_label("accepted").check()
    expect(page.locator("#train-review")).to_contain_text(accepted)
    page.locator("#train-only").get_by_label("waiting").check()
    expect(page.locator("#train-review")).to_contain_text("waiting")
    page.keyboard.press("u")
    expect(page.locator("#train-path")).to_contain_text("1 accepted")
    while page.locator("#train-question").count():
        decide(page, "a")
    expect(page.locator("#train-review")).to_contain_text("All are looked at")


def _files(page: Page) -> None:
    with page.expect_download() as download:
        page.locator("button#train-jsonl").click()
    rows = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
    assert len(rows) > 10
    with page.expect_download() as download:
        page.locator("button#train-beir").click()
    assert "qrels/test.tsv" in zipfile.ZipFile(download.value.path()).namelist()
    open_tab(page, "Evaluate")
    page.locator("#evaluate-source").get_by_label("Accepted questions").check()
    expect(page.locator("#evaluate-questions")).to_contain_text(f"{len(rows)} questions")
    open_tab(page, "Chat")
    first = page.locator("#chat-transcript .empty [data-action=ask]").first
    assert first.inner_text() in {row["question"] for row in rows}
    open_tab(page, "Train")


def _train(page: Page, base: str) -> None:
    step(page, "train")
    page.locator("#train-columns .label-wrap").click()
    settle(page)
    page.locator("#train-base").get_by_role("textbox").fill(base)
    for name, value in {"steps": 100, "batch": 4, "evaluate-every": 50, "patience": 0}.items():
        page.locator(f"#train-{name} input").fill(str(value))
    page.locator("button#train-estimate").click()
    expect(page.locator("#train-live")).to_contain_text("Takes at most", timeout=2 * WAIT)
    page.locator("button#train-go").click()
    expect(page.locator("#train-curves figcaption").first).to_contain_text("Loss:", timeout=2 * WAIT)
    page.reload()
    step(page, "train")
    expect(page.locator("#train-curves figcaption").first).to_contain_text("Loss:")
    if page.locator("button#train-stop").is_visible():
        with suppress(TooLate):  # a quick machine may be done before
            page.locator("button#train-stop").click(timeout=5_000)
        finished = page.locator("#train-live").get_by_role("button", name=re.compile("Go on|Compare before and after"))
        expect(finished.first).to_be_visible(timeout=2 * WAIT)
        if finished.first.inner_text() == "Go on":
            finished.first.click()
    expect(page.locator("#train-live")).to_contain_text("my-bi-encoder is trained", timeout=3 * WAIT)


def _compare(page: Page) -> None:
    page.locator("#train-live").get_by_role("button", name="Compare before and after").click()
    compared = page.locator("#train-compared")
    expect(compared.locator("table.measures tr")).to_have_count(3)
    expect(compared.get_by_role("status")).to_contain_text(re.compile("not help|chance|Better"))
    compared.get_by_role("button", name="Use this model").click()
    expect(page.locator("#train-message")).to_contain_text("my-bi-encoder searches now, by hybrid")
    expect(compared).to_contain_text("in use")
    page.reload()
    step(page, "compare")
    expect(compared).to_contain_text("in use")
    open_tab(page, "Evaluate")
    page.locator("#evaluate-retrievers").get_by_label("dense + my-bi-encoder").check()
    expect(page.locator("#evaluate-systems")).to_contain_text("embedding model my-bi-encoder")


def test_visitors_of_a_demo_are_told_and_refused(browser: Browser, demo: App) -> None:
    with open_page(browser, demo.url) as page:
        open_tab(page, "Train")
        expect(page.locator("#train-path")).to_contain_text("Visitors of a demo can neither make questions nor train")
        step(page, "train")
        page.locator("button#train-go").click()
        expect(page.locator("#train-work [role=alert]")).to_contain_text("Visitors of a demo")
