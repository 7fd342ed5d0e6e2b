"""One person does it all: adds a PDF, tunes the search, asks, stops, asks again, rates, and gets a kappa.

The tests share one page and build on each other in the order in which they stand here, like the work they show. When
one fails, those behind it fail at once instead of waiting for what cannot come.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.cli import main
from pdfqa_core.reading.declining import NOT_ANSWERED
from tests.ui.serving import SAMPLE, App, open_page, open_tab, until

pytestmark = [pytest.mark.browser, pytest.mark.model]

QUESTIONS = {
    item["id"]: item["question"]
    for item in map(json.loads, SAMPLE.with_name("questions.jsonl").read_text(encoding="utf-8").splitlines())
}
REFRIGERANT, NOISE, FACTOR = (QUESTIONS[key] for key in ("q02", "q09", "q04"))
HAMLET = "Which actor plays Hamlet?"
FOLLOW_UP = "Where is the ammonia kept?"
ASKED = (REFRIGERANT, FOLLOW_UP, NOISE, HAMLET)
LONG = (
    "Describe the heat pump, its two compressors, the refrigerant, the water tank and the gas boiler in many sentences."
)
PASSAGE_KEYS = "qwert"
TRIES = 5  # to stop an answer before its end


@pytest.fixture(scope="module")
def page(browser: Browser, app: App) -> Iterator[Page]:
    """The one page of this module, opened once the language model is there."""
    with open_page(browser, app.url) as opened:
        expect(opened.locator("#pq-header")).to_contain_text("SmolLM2 135M Instruct ready", timeout=180_000)
        yield opened


@pytest.fixture(autouse=True)
def in_order(request: pytest.FixtureRequest) -> None:
    """Fail at once when an earlier test of this module has failed; one that is tried again may."""
    failed = [name for name in getattr(request.module, "failed_tests", []) if name != request.node.name]
    if failed:
        pytest.fail(f"an earlier step failed: {failed[0]}", pytrace=False)


# ------------------------------------------------------------ documents and retrieval


def test_a_pdf_is_added_and_its_pages_can_be_turned(page: Page):
    page.set_input_files("#documents-upload input[type=file]", SAMPLE)
    row = page.locator("#documents-table tbody tr")
    expect(row.locator(".state")).to_have_text("ready")
    expect(row).to_contain_text("harbour-heat.pdf")
    pages, passages = (int(cell) for cell in row.locator("td.number").all_inner_texts())
    assert pages == 8
    assert passages > pages

    view = page.locator("#documents-page")
    image = view.locator("img")
    expect(image).to_have_attribute("alt", re.compile("^page 1 of"))
    first = image.get_attribute("src") or ""
    assert first.startswith("data:image/")
    until(lambda: image.evaluate("image => image.complete && image.naturalWidth") > 800)
    view.get_by_role("button", name="next page").click()
    expect(image).to_have_attribute("alt", re.compile("^page 2 of"))
    assert image.get_attribute("src") != first
    expect(view.get_by_role("button", name="previous page")).to_be_enabled()
    view.locator("summary").click()
    expect(view.locator(".page-text")).to_contain_text("heat pump")


def test_another_chunker_changes_the_count_and_the_search_shows_ranked_passages(page: Page):
    open_tab(page, "Retrieval")
    preview = page.locator("#retrieval-preview")
    expect(preview).to_contain_text(re.compile(r"\d+ passages, median \d+ words"))
    windows = _first_number(preview)
    page.get_by_role("radio", name="paragraphs").check()
    expect(preview).to_contain_text("hybrid over paragraphs")
    assert _first_number(preview) != windows
    page.get_by_role("radio", name="windows").check()
    expect(preview).to_contain_text("hybrid over windows of 120 words, step 60, with headings")
    assert _first_number(preview) == windows
    page.locator("#build-index").click()
    expect(preview).to_contain_text("Index built: hybrid over windows")

    page.locator("#retrieval-question").get_by_role("textbox").fill(REFRIGERANT)
    page.locator("#retrieval-search").click()
    hits = page.locator("#retrieval-hits .passage")
    expect(hits).to_have_count(5)
    assert hits.locator(".rank").all_inner_texts() == ["1", "2", "3", "4", "5"]
    scores = [float(found[1]) for text in hits.locator(".parts").all_inner_texts() if (found := _hybrid(text))]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    expect(hits.locator("img[src^='data:image/']")).to_have_count(5)
    expect(hits.first.locator("mark:visible").first).to_be_visible()
    hits.first.get_by_role("button", name="open page").click()
    expect(page.locator("#retrieval-page i.mark").first).to_be_visible()


def _first_number(preview: Locator) -> int:
    return int(preview.locator("b").first.inner_text().split()[0].replace(",", ""))


def _hybrid(text: str) -> re.Match[str] | None:
    return re.search(r"hybrid (\d+\.\d+)", text)


# ------------------------------------------------------------ chat


def ask(page: Page, question: str) -> Locator:
    """Ask and return the finished turn."""
    before = page.locator("#chat-transcript .turn").count()
    page.locator("#chat-question textarea").fill(question)
    page.locator("#chat-question textarea").press("Enter")
    expect(page.locator("#chat-transcript .turn")).to_have_count(before + 1)
    expect(page.locator("#chat-send")).to_be_visible()
    return page.locator("#chat-transcript .turn").last


def test_the_evidence_comes_before_the_answer_and_a_marker_leads_to_the_page(page: Page):
    open_tab(page, "Chat")
    expect(page.locator("#chat-transcript")).to_contain_text("Ask about 1 document")
    page.get_by_role("radio", name="own words").click()
    expect(page.get_by_role("radio", name="own words")).to_have_attribute("aria-checked", "true")
    page.evaluate(
        """() => {
          const wanted = {evidence: '#chat-evidence .passage', answer: '#chat-live .answer',
                          finished: '#chat-transcript .turn'};
          window.appeared = [];
          new MutationObserver(() => {
            for (const [name, selector] of Object.entries(wanted))
              if (!window.appeared.includes(name) && document.querySelector(selector)) window.appeared.push(name);
          }).observe(document.body, {childList: true, subtree: true});
        }"""
    )
    turn = ask(page, REFRIGERANT)
    assert page.evaluate("window.appeared") == ["evidence", "answer", "finished"]
    expect(turn.locator(".answer")).to_have_text(re.compile(r"\w"))  # what it says is up to a small model
    expect(page.locator("#chat-evidence")).to_contain_text("ammonia")
    expect(turn.locator(".meta")).to_contain_text("SmolLM2")
    expect(turn.locator(".searched")).to_have_count(0)
    expect(page.locator("#chat-evidence .passage")).to_have_count(5)
    first_cited = turn.locator(".cite").first.inner_text()  # the first passage that the answer cites is open
    expect(page.locator("#chat-evidence .passage.chosen .rank")).to_have_text(first_cited)

    marker = turn.locator(".cite").first
    place = re.search(r"p\. (\d+)", marker.get_attribute("title") or "")
    assert place is not None
    marker.click()
    view = page.locator("#chat-page")
    expect(view.locator("img")).to_have_attribute("alt", re.compile(rf"^page {place[1]} of"))
    expect(view.locator("i.mark").first).to_be_visible()
    expect(view.locator("i.quote").first).to_be_in_viewport()


def test_a_follow_up_finds_what_it_leans_on_and_a_new_subject_its_own(page: Page):
    turn = ask(page, FOLLOW_UP)
    expect(turn.locator(".question")).to_have_text(FOLLOW_UP)
    expect(page.locator("#chat-evidence .passage").filter(has_text="heat pump").first).to_be_attached()
    ask(page, NOISE)
    expect(page.locator("#chat-evidence .passage").first).to_contain_text("dB(A)")


def test_what_the_document_does_not_say_is_not_answered(page: Page):
    turn = ask(page, HAMLET)
    answer = turn.locator(".answer.refused")
    expect(answer).to_contain_text(NOT_ANSWERED)
    plain = page.locator("#chat-transcript .answer:not(.refused)").first
    look = "element => ['borderLeftColor', 'color', 'background'].map(name => getComputedStyle(element)[name]).join()"
    assert answer.evaluate(look) != plain.evaluate(look)
    expect(turn.locator(".cite")).to_have_count(0)
    expect(turn.get_by_role("button", name="Answer anyway")).to_be_visible()
    expect(turn.locator("details .passage").first).to_be_hidden()
    expect(page.locator("#chat-evidence .passage")).to_have_count(5)


def test_an_older_answer_brings_its_evidence_back(page: Page):
    turn = page.locator("#chat-transcript .turn").first
    turn.locator(".answer span").first.click()
    expect(turn).to_have_class(re.compile("current"))
    expect(page.locator("#chat-evidence .passage").first).to_contain_text("ammonia")


# Stops at the first sign: a click or key from outside may come after the answer, where the machine is busy.
SOON = """() => {
    window.stopPressed = false;
    new MutationObserver((_, looking) => {
        const stop = document.querySelector("#chat-stop");
        if (!stop || !document.querySelector("#chat-live .%s")) return;
        looking.disconnect();
        %s;
        window.stopPressed = true;
    }).observe(document.querySelector("#chat-columns"), { subtree: true, childList: true, attributes: true });
}"""
PRESS_STOP = SOON % ("phase", "stop.click()")
ESCAPE = "new KeyboardEvent('keydown', {key: 'Escape', bubbles: true})"
PRESS_ESCAPE = SOON % ("answer", f"document.querySelector('#chat-question textarea').dispatchEvent({ESCAPE})")


def test_stop_keeps_what_was_written(page: Page):
    open_tab(page, "Retrieval")
    page.get_by_role("button", name="Answering").click()
    _set_longest_answer(page, "1024")
    open_tab(page, "Chat")
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(0)
    page.locator("#chat-question textarea").fill(LONG)
    page.evaluate(PRESS_ESCAPE)
    page.locator("#chat-question textarea").press("Enter")
    if not _was_stopped(page):
        _stop_another(page, PRESS_ESCAPE)
    _stop_another(page, PRESS_STOP)


def _stop_another(page: Page, press: str) -> None:
    """Have the question answered again until a stop comes before its end, which it may not on a busy machine."""
    for _ in range(TRIES):
        page.locator("#chat-transcript .turn").evaluate("turn => { turn.dataset.before = '1'; }")
        page.evaluate(press)
        page.get_by_role("button", name="retry").click()
        if _was_stopped(page):
            return
    pytest.fail(f"{TRIES} answers were at their end before they could be stopped")


def _set_longest_answer(page: Page, tokens: str) -> None:
    """Set the slider by its number; a fold that is still opening may put the old number back."""
    field = page.get_by_role("spinbutton", name="number input for Longest answer (tokens)")

    def done() -> bool:
        field.fill(tokens)
        field.press("Tab")
        page.wait_for_timeout(200)
        return field.input_value() == tokens

    until(done)


def _was_stopped(page: Page) -> bool:
    """Wait until the turn is stored and the next question can be asked; return whether it says that it was stopped."""
    turn, stored = page.locator("#chat-transcript .turn"), "#chat-transcript .turn:not([data-before]) .meta"
    page.wait_for_function(f"window.stopPressed || document.querySelector('{stored}')")
    expect(page.locator(stored)).to_be_visible()
    expect(page.locator("#chat-live .turn")).to_have_count(0)
    expect(turn).to_have_count(1)
    expect(turn.locator(".answer")).to_have_text(re.compile(r"\w"))
    expect(page.locator("#chat-stop")).to_be_hidden()
    expect(page.locator("#chat-send")).to_be_visible()
    return "stopped" in turn.locator(".meta").inner_text()


def test_the_last_question_can_be_edited_and_asked_again(page: Page):
    turns = page.locator("#chat-transcript .turn")
    page.get_by_role("button", name="edit", exact=True).click()
    field = page.locator("#chat-question textarea")
    expect(field).to_have_value(LONG)
    field.fill(FACTOR)
    field.press("Enter")
    expect(turns.locator(".question")).to_have_text([FACTOR])
    expect(turns.locator(".meta")).not_to_contain_text("stopped")
    answer = turns.locator(".answer").inner_text()
    page.get_by_role("button", name="retry").click()
    expect(page.locator("#chat-live .turn")).to_have_count(1)
    expect(page.locator("#chat-live .turn")).to_have_count(0)
    expect(turns.locator(".question")).to_have_text([FACTOR])
    assert turns.locator(".answer").inner_text() == answer


def test_a_conversation_is_renamed_reopened_with_its_evidence_and_deleted(page: Page):
    items = page.locator(".conversations li:not(.day)")
    expect(items).to_have_count(2)
    items.filter(has_text=LONG[:40]).get_by_role("button", name="rename").click()
    page.keyboard.type("The promised factor")
    page.keyboard.press("Enter")
    expect(items.filter(has_text="The promised factor")).to_have_count(1)

    page.reload()
    open_tab(page, "Chat")
    expect(page.locator("#chat-transcript .question")).to_have_text([FACTOR])  # it is still open
    page.locator(".conversations .open", has_text=REFRIGERANT[:40]).click()
    expect(page.locator("#chat-transcript .question")).to_have_text(list(ASKED))
    expect(page.locator("#chat-evidence .passage")).to_have_count(5)
    page.locator("#chat-transcript .cite").first.click()
    expect(page.locator("#chat-page i.mark").first).to_be_visible()

    doomed = items.filter(has_text="The promised factor")
    doomed.locator(".open").focus()
    delete = doomed.get_by_role("button", name="delete")
    delete.dispatch_event("click")  # on a busy machine the list may be drawn anew between mouse down and up
    expect(items).to_have_count(1)
    expect(page.locator("#chat-transcript .question")).to_have_text(list(ASKED))


# ------------------------------------------------------------ annotation


@dataclass(frozen=True)
class Judgement:
    """What an annotator thinks of an answer: the keys for intent and answer, and those of the relevant passages."""

    intent: str
    answer: str
    relevant: str = ""


# Key 1 is extractive, 2 abstractive, 3 boolean.
ADA = {
    REFRIGERANT: Judgement("1", "y", "q"),
    FOLLOW_UP: Judgement("1", "n", "qw"),
    NOISE: Judgement("3", "y", "q"),
    HAMLET: Judgement("1", "y"),
}
BEN = {
    REFRIGERANT: Judgement("1", "y", "q"),
    FOLLOW_UP: Judgement("2", "y", "q"),
    NOISE: Judgement("3", "y", "qe"),
    HAMLET: Judgement("1", "n"),
}


def judged(opinions: Mapping[str, Judgement], criterion: str) -> list[str]:
    """Return an annotator's values of a criterion, in the order in which the questions were asked."""
    chosen = [opinions[question] for question in ASKED]
    if criterion == "intent":
        return [one.intent for one in chosen]
    if criterion == "answer":
        return [one.answer for one in chosen]
    return [str(int(key in one.relevant)) for one in chosen for key in PASSAGE_KEYS]


def kappa(first: list[str], second: list[str]) -> float:
    """Return Cohen's kappa (1960), written down once more to check the program's."""
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    expected = sum(first.count(value) * second.count(value) for value in set(first + second)) / n**2
    return (observed - expected) / (1 - expected)


def sign_in(page: Page, name: str) -> None:
    page.locator("#annotate-name").get_by_role("textbox").fill(name)
    page.locator("#annotate-begin").click()
    expect(page.locator(".annotate-bar")).to_be_visible()


def rate_everything(page: Page, opinions: Mapping[str, Judgement]) -> None:
    """Rate every item with the keyboard, as fast as the keys can be pressed."""
    question = page.locator("#annotate-item .question")
    seen: list[str] = []
    for _ in ASKED:
        shown = question.inner_text()
        assert shown not in seen
        seen.append(shown)
        opinion = opinions[shown]
        for key in (opinion.intent, opinion.answer, *opinion.relevant, "x"):
            page.keyboard.press(key)
        form = page.locator("#annotate-form")
        expect(form).not_to_contain_text("Still open")
        expect(form).to_contain_text("✓ saved")
        for key in (opinion.intent, opinion.answer, *opinion.relevant):
            expect(form.locator(f"[data-key='{key}']")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Enter")
        expect(page.locator("#annotate-item .question", has_text=shown)).to_have_count(0)
    expect(page.locator("#annotate-item")).to_contain_text("All 4 items are rated")


def test_two_people_rate_without_seeing_each_other(page: Page):
    study_of_conversation(page, REFRIGERANT)
    results = page.locator("#annotate-results")

    sign_in(page, "Ada")
    rate_everything(page, ADA)
    expect(results).to_contain_text("Agreement appears here when two people have rated.")
    page.locator("#annotate-sign-out").click()
    sign_in(page, "Ben")
    expect(page.locator("#annotate-form [aria-pressed='true']")).to_have_count(0)
    expect(results).to_contain_text("still rating: Ben")
    expect(results.locator("table")).to_have_count(0)
    rate_everything(page, BEN)
    expect(results.locator("table.agreement")).to_be_visible()


def test_kappa_is_the_same_on_the_page_in_the_file_and_on_the_command_line(
    page: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    results = page.locator("#annotate-results")
    table = {}
    for row in results.locator("table.agreement tr:has(td)").all():
        cells = row.locator("td").all_inner_texts()
        table[cells[0]] = (int(cells[1]), cells[3])
    expected = {name: kappa(judged(ADA, name), judged(BEN, name)) for name in ("intent", "answer", "passage")}
    assert table == {
        "intent": (4, f"{expected['intent']:.2f}"),
        "answer": (4, f"{expected['answer']:.2f}"),
        "passage": (20, f"{expected['passage']:.2f}"),
    }
    differences = results.locator(".passage")
    expect(differences).to_have_count(5)
    expect(differences.filter(has_text=HAMLET)).to_contain_text(["Ada: correct · Ben: incorrect"])

    with page.expect_download() as download:
        page.locator("#annotate-csv").click()
    path = tmp_path / "ratings.csv"
    download.value.save_as(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"item", "annotator", "criterion", "value"} <= rows[0].keys()
    assert len(rows) == 2 * (4 + 4 + 20)
    assert {row["annotator"] for row in rows} == {"Ada", "Ben"}
    assert {row["question"] for row in rows} == set(ASKED)

    assert main(["agreement", str(path), "--json"]) == 0
    criteria = json.loads(capsys.readouterr().out)["criteria"]
    assert {name: criteria[name]["kappa"] for name in expected} == pytest.approx(expected)
    assert {name: criteria[name]["n"] for name in expected} == {name: n for name, (n, _) in table.items()}


def test_a_study_of_an_answer_is_made_from_chat_and_opened(page: Page):
    open_tab(page, "Chat")
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#chat-transcript .turn")).to_have_count(0)
    turn = ask(page, HAMLET)
    turn.get_by_role("button", name="add to study…").click()
    expect(turn.locator(".studying")).not_to_contain_text(REFRIGERANT[:40])  # two have finished that one
    turn.get_by_role("button", name="a new study of this answer").click()
    expect_study_opens(page, HAMLET)


def study_of_conversation(page: Page, study: str) -> None:
    turn = page.locator("#chat-transcript .turn").first
    turn.get_by_role("button", name="add to study…").click()
    turn.get_by_role("button", name="a new study of the whole conversation").click()
    expect_study_opens(page, study)


def expect_study_opens(page: Page, study: str) -> None:
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    page.locator("#chat-transcript").get_by_role("button", name="open it").click()
    expect(page.get_by_role("tab", name="Annotate")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#annotate-study input")).to_have_value(re.compile(re.escape(study[:40])))
    expect(page.locator("#annotate-name")).to_be_visible()
