"""One person does it all with the embedded model: adds a PDF, searches, asks, has it rated, and gets a kappa."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.cli import main
from tests.services.helpers import until
from tests.ui.serving import SAMPLE, open_page, open_tab, running
from tests.ui.studies import question, rate_item, sign_in, sign_out

pytestmark = [pytest.mark.browser, pytest.mark.model]

QUESTIONS = {
    item["id"]: item["question"]
    for item in map(json.loads, SAMPLE.with_name("questions.jsonl").read_text(encoding="utf-8").splitlines())
}
REFRIGERANT, NOISE = QUESTIONS["q02"], QUESTIONS["q09"]
HAMLET = "Which actor plays Hamlet?"
FOLLOW_UP = "Where is the ammonia kept?"
ASKED = (REFRIGERANT, FOLLOW_UP, NOISE, HAMLET)
INTENTS, VALUES, PASSAGES = {"1": "extractive", "2": "abstractive", "3": "boolean"}, {"y": "1", "n": "0"}, "qwert"
# The keys of intent, answer and the relevant passages; x: the others are not.
ADA = {REFRIGERANT: "1yqx", FOLLOW_UP: "1nqwx", NOISE: "3yqx", HAMLET: "1yx"}
BEN = {REFRIGERANT: "1yqx", FOLLOW_UP: "2yqx", NOISE: "3yqex", HAMLET: "1nx"}
APPEARED = """() => {
  const wanted = {evidence: '#chat-evidence .passage', answer: '#chat-live .answer',
                  finished: '#chat-transcript .turn'};
  window.appeared = [];
  new MutationObserver(() => {
    for (const [name, selector] of Object.entries(wanted))
      if (!window.appeared.includes(name) && document.querySelector(selector)) window.appeared.push(name);
  }).observe(document.body, {childList: true, subtree: true});
}"""


def add_a_pdf(page: Page) -> None:
    """Add the sample and turn its pages."""
    page.set_input_files("#documents-upload input[type=file]", SAMPLE)
    row, image = page.locator("#documents-table tbody tr"), page.locator("#documents-page img")
    expect(row.locator(".state")).to_have_text("ready")
    expect(row).to_contain_text("harbour-heat.pdf")
    expect(row.locator("td.number").first).to_have_text("8")
    expect(image).to_have_attribute("alt", re.compile("^page 1 of"))
    until(lambda: image.evaluate("image => image.complete && image.naturalWidth") > 800)
    page.locator("#documents-page").get_by_role("button", name="next page").click()
    expect(image).to_have_attribute("alt", re.compile("^page 2 of"))


def search(page: Page) -> None:
    """Look at another chunker, and search with the one that stays."""
    open_tab(page, "Retrieval")
    preview = page.locator("#retrieval-preview")
    for name, words in (("paragraphs", "hybrid over paragraphs"), ("windows", "hybrid over windows of 120 words")):
        page.get_by_role("radio", name=name).check()
        expect(preview).to_contain_text(words)
    page.locator("#retrieval-question").get_by_role("textbox").fill(REFRIGERANT)
    page.locator("#retrieval-search").click()
    hits = page.locator("#retrieval-hits .passage")
    expect(hits.locator(".rank")).to_have_text(["1", "2", "3", "4", "5"])
    expect(hits.first.locator("mark:visible").first).to_be_visible()
    hits.first.get_by_role("button", name="open page").click()
    expect(page.locator("#retrieval-page i.mark").first).to_be_visible()


def ask(page: Page, asked: str) -> Locator:
    """Ask and return the finished turn."""
    turns = page.locator("#chat-transcript .turn")
    before = turns.count()
    page.locator("#chat-question textarea").fill(asked)
    page.locator("#chat-question textarea").press("Enter")
    expect(turns).to_have_count(before + 1)
    expect(page.locator("#chat-send")).to_be_visible()
    return turns.last


def chat(page: Page) -> None:
    """Ask what the document says, what leans on that, something else, and what it does not say."""
    open_tab(page, "Chat")
    expect(page.locator("#chat-transcript")).to_contain_text("Ask about 1 document")
    page.get_by_role("radio", name="own words").click()
    expect(page.get_by_role("radio", name="own words")).to_have_attribute("aria-checked", "true")
    page.evaluate(APPEARED)
    turn, evidence = ask(page, REFRIGERANT), page.locator("#chat-evidence .passage")
    assert page.evaluate("window.appeared") == ["evidence", "answer", "finished"]
    expect(turn.locator(".answer")).to_have_text(re.compile(r"\w"))  # what it says is up to a small model
    expect(turn.locator(".meta")).to_contain_text("SmolLM2")
    expect(evidence).to_have_count(5)
    expect(evidence.first).to_contain_text("ammonia")
    marker = turn.locator(".cite").first
    place = re.search(r"p\. (\d+)", marker.get_attribute("title") or "")
    assert place is not None
    marker.click()
    expect(page.locator("#chat-page img")).to_have_attribute("alt", re.compile(rf"^page {place[1]} of"))
    expect(page.locator("#chat-page i.quote").first).to_be_in_viewport()

    ask(page, FOLLOW_UP)
    expect(evidence.filter(has_text="heat pump").first).to_be_attached()
    ask(page, NOISE)
    expect(evidence.first).to_contain_text("dB(A)")
    nothing = ask(page, HAMLET)
    expect(nothing.locator(".answer.refused")).to_be_visible()
    expect(nothing.locator(".cite")).to_have_count(0)
    expect(nothing.get_by_role("button", name="Answer anyway")).to_be_visible()


def come_back(page: Page) -> None:
    """Rename the conversation, begin another one and delete it; after a reload the first is opened again."""
    items = page.locator(".conversations li:not(.day)")
    items.get_by_role("button", name="rename").click()
    page.keyboard.type("The heat pump")
    page.keyboard.press("Enter")
    expect(items).to_contain_text(["The heat pump"])
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(0)
    ask(page, HAMLET)
    page.reload()
    open_tab(page, "Chat")
    expect(page.locator("#chat-transcript .question")).to_have_text([HAMLET])  # it is still open
    items.filter(has_text="The heat pump").locator(".open").click()
    expect(page.locator("#chat-transcript .question")).to_have_text(list(ASKED))
    expect(page.locator("#chat-evidence .passage")).to_have_count(5)
    other = items.filter(has_text=HAMLET)
    other.locator(".open").focus()  # shows its buttons
    other.get_by_role("button", name="delete").click()
    expect(items).to_have_count(1)
    expect(page.locator("#chat-transcript .question")).to_have_text(list(ASKED))


def have_it_rated(page: Page) -> None:
    """Make a study of the conversation, which Ada and Ben rate."""
    turn = page.locator("#chat-transcript .turn").first
    turn.get_by_role("button", name="add to study…").click()
    turn.get_by_role("button", name="a new study of the whole conversation").click()
    turn.get_by_role("button", name="open it").click()
    expect(page.get_by_role("tab", name="Annotate")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#annotate-study input")).to_have_value("The heat pump")
    for name, keys in (("Ada", ADA), ("Ben", BEN)):
        sign_in(page, name)
        for _ in ASKED:
            expect(page.locator("#annotate-form [aria-pressed='true']")).to_have_count(0)
            expect(page.locator("#annotate-results table")).to_have_count(0)
            rate_item(page, keys[question(page)])
        if name == "Ada":
            sign_out(page)


def values(keys: Mapping[str, str], criterion: str) -> list[str]:
    """Return an annotator's values of a criterion, in the order in which the questions were asked."""
    if criterion == "passage":
        return [str(int(key in keys[one][2:])) for one in ASKED for key in PASSAGES]
    return [INTENTS[keys[one][0]] if criterion == "intent" else VALUES[keys[one][1]] for one in ASKED]


def kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Return Cohen's kappa (1960), written down once more to check the program's."""
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    expected = sum(first.count(value) * second.count(value) for value in {*first, *second}) / n**2
    return (observed - expected) / (1 - expected)


def test_one_person_goes_from_a_pdf_to_a_kappa(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path) as app, open_page(browser, app.url) as page:
        expect(page.locator("#pq-header")).to_contain_text("SmolLM2 135M Instruct ready", timeout=180_000)
        add_a_pdf(page)
        search(page)
        chat(page)
        come_back(page)
        have_it_rated(page)

        expected = {name: kappa(values(ADA, name), values(BEN, name)) for name in ("intent", "answer", "passage")}
        rows = page.locator("#annotate-results table.agreement tr:has(td)")
        expect(rows).to_have_count(3)
        cells = [row.locator("td").all_inner_texts() for row in rows.all()]
        shown = {name: (n, number) for name, n, _, number, *_ in cells}
        assert shown == {name: (str(len(values(ADA, name))), f"{expected[name]:.2f}") for name in expected}
        with page.expect_download() as download:
            page.locator("#annotate-csv").click()
        path = tmp_path / "ratings.csv"
        download.value.save_as(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        said = list(csv.DictReader(file))
    for name, keys in (("Ada", ADA), ("Ben", BEN)):
        for criterion in expected:
            mine = [row["value"] for row in said if (row["annotator"], row["criterion"]) == (name, criterion)]
            assert sorted(mine) == sorted(values(keys, criterion))
    assert main(["agreement", str(path), "--json"]) == 0
    criteria = json.loads(capsys.readouterr().out)["criteria"]
    assert {name: criteria[name]["kappa"] for name in expected} == pytest.approx(expected)
