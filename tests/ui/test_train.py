"""The Train tab as a job: questions made, reviewed by keys and taken along; a model trained, compared and used."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.models.trained import keep_trained
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.training import Scored, Step
from tests.serving_fakes import PDF
from tests.training.test_record import record
from tests.ui.inside import opened, serving
from tests.ui.serving import open_page, open_tab

pytestmark = pytest.mark.browser


def decide(page: Page, key: str) -> None:
    """Press a key on the question in review, and wait for the next one."""
    words = page.locator("#train-question").inner_text()
    page.keyboard.press(key)
    expect(page.locator("#train-review")).not_to_contain_text(words)


def test_from_a_document_to_a_retriever_of_ones_own(browser: Browser, tmp_path, monkeypatch) -> None:
    with opened(tmp_path) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))

        def train(owner, plan, settings, **_how):  # in a moment; real trainings are tested with the services
            yield from (Step(number, step, 2, 1 / step, 0.01) for number in (1, 2) for step in (1, 2))
            yield Scored(2, 2, 0.75, 0.5)
            made = replace(record(), name="my-bi-encoder")
            yield keep_trained(services.models.files.encoders.folder, made, lambda _folder: None)

        monkeypatch.setattr(services.training, "train", train)
        with serving(services) as url, open_page(browser, url) as page:
            _make(page)
            _review(page)
            _take_along(page)
            _train(page)
            _compare(page)
        assert (services.models.files.encoders.folder / "my-bi-encoder").is_dir()


def _make(page: Page) -> None:
    open_tab(page, "Train")
    page.locator("#train-passages input").fill("4")
    kind, drawn = page.locator("#train-kind"), page.locator("#train-drawn")
    kind.get_by_label("after examples").check()
    expect(drawn).to_contain_text("Examples: 3 that come with the program")
    drawn.get_by_role("button", name="Make them by rules").click()
    expect(kind.get_by_label("By rules")).to_be_checked()
    expect(drawn).not_to_contain_text("billion")
    page.locator("button#train-make").click()
    expect(page.locator("#train-made")).to_contain_text("by rules")
    page.locator("#train-made").get_by_role("button", name="Review them").click()


def _review(page: Page) -> None:
    expect(page.locator("#train-page i.mark").first).to_be_visible()
    path = page.locator("#train-path")
    decide(page, "a")
    decide(page, "r")
    page.keyboard.press("w")
    page.keyboard.type("From the old quay.")
    page.keyboard.press("Enter")
    expect(page.locator("#train-answer")).to_have_text("From the old quay.")
    expect(path).to_contain_text("1 accepted")
    page.keyboard.press("e")
    page.keyboard.type("Which quay does the heat come from?")
    page.keyboard.press("Enter")
    expect(path).to_contain_text("2 accepted")
    page.keyboard.press("u")
    expect(path).to_contain_text("1 accepted")
    expect(page.locator("#train-answer")).to_have_text("From the old quay.")
    decide(page, "a")


def _take_along(page: Page) -> None:
    expect(page.locator("#train-path")).to_contain_text("2 accepted")
    with page.expect_download() as download:
        page.locator("button#train-jsonl").click()
    rows = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
    assert len(rows) == 2
    assert rows[1]["answer"] == "From the old quay."
    open_tab(page, "Evaluate")
    page.locator("#evaluate-source").get_by_label("Accepted questions").check()
    expect(page.locator("#evaluate-questions")).to_contain_text("2 questions")
    open_tab(page, "Chat")
    first = page.locator("#chat-transcript .empty [data-action=ask]").first
    assert first.inner_text() in {row["question"] for row in rows}


def _train(page: Page) -> None:
    open_tab(page, "Train")
    page.locator("#train-path [data-step=train]").click()
    page.get_by_role("button", name="More").locator("visible=true").click()
    expect(page.locator("#train-similarity")).to_be_visible()
    page.locator("#train-model-kind").get_by_label("DPR").check()
    expect(page.locator("#train-similarity")).to_be_hidden()
    page.locator("#train-held-out input").fill("0")
    with page.expect_download() as download:
        page.locator("button#train-triples").click()
    assert download.value.path().read_text("utf-8").count("\t") > 2
    page.locator("button#train-go").click()
    expect(page.locator("#train-live")).to_contain_text("my-bi-encoder is trained")
    expect(page.locator("#train-curves figcaption").first).to_contain_text("Loss: 0.500 at round 2, step 2")


def _compare(page: Page) -> None:
    page.locator("#train-live").get_by_role("button", name="Compare before and after").click()
    compared = page.locator("#train-compared")
    expect(compared.locator("table.measures tr")).to_have_count(3)
    expect(compared.get_by_role("status")).to_contain_text(re.compile("not help|chance|Better"))
    compared.get_by_role("button", name="Use this model").click()
    expect(page.locator("#train-message")).to_contain_text("my-bi-encoder searches now, by hybrid")
    page.reload()
    page.locator("#train-path [data-step=compare]").click()
    expect(compared).to_contain_text("in use")
    open_tab(page, "Evaluate")
    page.locator("#evaluate-retrievers").get_by_label("dense + my-bi-encoder").check()
    expect(page.locator("#evaluate-systems")).to_contain_text("dense + my-bi-encoder")
