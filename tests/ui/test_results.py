"""The results of a study on the page: the same numbers as in the files, and none before everybody has finished."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.csv_format import read_csv
from pdfqa_core.services.studies import StudyService
from pdfqa_core.storage import Store
from tests.services.test_study_reports import rate
from tests.storage.conftest import turn
from tests.ui.serving import open_page, open_tab, running
from tests.ui.test_axe import findings, scheme

pytestmark = pytest.mark.browser

TALKS, TURNS = 6, 4


def rated_study(workspace: Path) -> None:
    """Make a study of six conversations of four turns that Ada and Ben have rated."""
    rng = random.Random(5)
    with Store.open(workspace) as store:
        talks = []
        for talk in range(TALKS):
            conversation = store.conversations.create("local", f"Heat pump {talk + 1}")
            talks.append(conversation.id)
            for number in range(TURNS):
                asked = turn(f"t{talk}x{number}", "One.", "Two.", question=f"Question {number + 1}?")
                store.conversations.append_turn("local", conversation.id, asked)
        studies = StudyService(store.studies, store.conversations)
        study_id = studies.create("local", "Pilot", talks).id
        truth = {
            f"t{talk}x{number}": rng.choice("eab") + "".join(str(int(rng.random() < 0.7)) for _ in range(3))
            for talk in range(TALKS) for number in range(TURNS)
        }  # fmt: skip
        for name in ("Ada", "Ben"):
            said = {}
            for turn_id, values in truth.items():
                flipped = [str(1 - int(one)) if rng.random() < 0.15 else one for one in values[1:]]
                said[turn_id] = values[0] + "".join(flipped)
            rate(studies, study_id, name, said, owner="local")


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("results")
    rated_study(folder / "workspace")
    with running(folder) as app, open_page(browser, app.url) as opened:
        open_tab(opened, "Chat")  # where a link at the top of the page leads
        open_tab(opened, "Annotate")
        yield opened


def on_the_page(page: Page) -> dict[tuple[str, str, str, str], tuple[str, str]]:
    """Return mean and interval by rater, group, value and measure as they stand on the page."""
    found = {}
    for details in page.locator("#annotate-tables details[data-group]:has(th:text-is('Rater'))").all():
        group = details.get_attribute("data-group") or ""
        heads = details.locator("th").all_text_contents()
        for line in details.locator("tbody tr").all():
            cells = line.locator("td").all_text_contents()
            value = "" if group == "overall" else cells[0].strip()
            rater = cells[heads.index("Rater")].strip()
            for head, cell in list(zip(heads, cells, strict=True))[heads.index("n") + 1 :]:
                mean = re.match(r"[0-9]\.[0-9]{2}", cell.strip())
                bounds = re.search(r"[0-9]\.[0-9]{2} to [0-9.]+", cell)
                found[rater, group, value, head] = (mean[0] if mean else "", bounds[0] if bounds else "")
    return found


def test_the_page_shows_the_numbers_of_the_csv(page: Page) -> None:
    expect(page.locator("#annotate-tables details[data-group=overall] tbody tr")).to_have_count(3)
    shown = on_the_page(page)
    with page.expect_download() as download:
        page.locator("button#annotate-report-get").click()
    table = read_csv(Path(download.value.path()).read_bytes())
    rows = [dict(zip(table.header, row.cells, strict=True)) for row in table.rows]
    assert len(rows) == len(shown) > 3 * (1 + TURNS + TALKS) * 3
    for row in rows:
        head = "Acc." if row["measure"] == "accuracy" else row["measure"]
        mean = f"{float(row['mean']):.2f}" if row["mean"] else ""
        bounds = f"{float(row['low']):.2f} to {float(row['high']):.2f}" if row["low"] else ""
        assert shown[row["rater"], row["group"], row["value"], head] == (mean, bounds), row


def test_charts_and_agreement_stand_beside_the_tables(page: Page) -> None:
    tables = page.locator("#annotate-tables")
    expect(tables.locator("details[data-group=overall] svg[role=img]")).to_have_count(2)
    tables.locator("details[data-group=over-time] > summary").click()
    expect(tables.locator("details[data-group=over-time] svg")).to_be_visible()
    expect(page.locator("#annotate-results table.agreement")).to_contain_text("passage")
    page.locator("#annotate-report input").click()
    page.get_by_role("option", name="Agreement, report (HTML)").click()
    with page.expect_download() as download:
        page.locator("button#annotate-report-get").click()
    assert download.value.suggested_filename == "agreement-Pilot.html"
    assert "Ada and Ben" in Path(download.value.path()).read_text("utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(page: Page, dark: bool) -> None:
    page.evaluate("document.querySelectorAll('#pq-tabs details').forEach((one) => { one.open = true; })")
    scheme(page, dark)
    assert findings(page) == []
    scheme(page, False)


def test_measures_are_compared_with_people(page: Page, tmp_path: Path) -> None:
    measures = page.locator("#annotate-measures")
    expect(measures).to_contain_text("Add gold answers below")
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps([{"question": f"Question {n}?", "answer": "It is" + " so" * n} for n in range(1, 5)]))
    page.locator("#annotate-reports input[type=file]").set_input_files(gold)
    expect(measures.locator("tbody tr", has_text="Answer F1")).to_have_count(1)
    shown = measures.locator("tbody tr", has_text="Answer F1").locator("td").all_text_contents()
    page.locator("#annotate-report input").click()
    page.get_by_role("option", name="Measures against people, CSV").click()
    with page.expect_download() as download:
        page.locator("button#annotate-report-get").click()
    table = read_csv(Path(download.value.path()).read_bytes())
    rows = [dict(zip(table.header, row.cells, strict=True)) for row in table.rows]
    auroc = next(row for row in rows if (row["measure"], row["statistic"]) == ("answer_f1", "auroc"))
    assert shown[1] == auroc["n"]
    assert shown[4].split()[0] == f"{float(auroc['value']):.2f}"
    assert f"{float(auroc['low']):.2f} to {float(auroc['high']):.2f}" in shown[4]


def test_an_item_takes_the_place_of_the_tables_and_gives_it_back(page: Page) -> None:
    page.locator("#annotate-results .passage").first.click()
    expect(page.locator("#annotate-dispute")).to_contain_text("Who said what stays hidden")
    expect(page.locator("#annotate-results")).to_be_empty()  # it names them
    page.locator("#annotate-dispute [data-action=close]").click()
    expect(page.locator("#annotate-tables details[data-group=overall]")).to_be_visible()
    page.locator("#annotate-name").get_by_role("textbox").fill("Ada")
    page.locator("#annotate-begin").click()
    expect(page.locator("#annotate-item")).to_contain_text("All 24 items are rated")
    expect(page.locator("#annotate-tables details[data-group=overall]")).to_be_visible()
    page.locator("#annotate-results .passage").first.click()
    expect(page.locator("#annotate-item .question")).to_be_visible()
    expect(page.locator("#annotate-tables table")).to_have_count(0)
    expect(page.locator("button#annotate-report-get")).to_be_hidden()
    page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-tables details[data-group=overall]")).to_be_visible()


def test_a_study_is_taken_along_and_brought_in(page: Page, browser: Browser, tmp_path: Path) -> None:
    page.locator("#annotate-report input").click()
    page.get_by_role("option", name="The study for another workspace (ZIP)").click()
    with page.expect_download() as download:
        page.locator("button#annotate-report-get").click()
    packed = tmp_path / download.value.suggested_filename
    download.value.save_as(packed)
    shown = on_the_page(page)
    with running(tmp_path / "other") as app, open_page(browser, app.url) as other:
        open_tab(other, "Annotate")
        other.get_by_role("button", name="New study").click()
        broken = tmp_path / "broken.zip"
        broken.write_bytes(packed.read_bytes()[:200])
        other.locator("#annotate-new input[type=file]").set_input_files(broken)
        expect(other.locator("#annotate-message .error")).to_contain_text("broken.zip holds no study")
        other.locator("#annotate-new input[type=file]").set_input_files(packed)
        expect(other.locator("#annotate-tables details[data-group=overall] tbody tr")).to_have_count(3)
        assert on_the_page(other) == shown
        expect(other.locator("#annotate-message")).to_be_empty()


def test_a_third_who_signs_in_hides_them_again(page: Page) -> None:
    page.locator("#annotate-name").get_by_role("textbox").fill("Cleo")
    page.locator("#annotate-begin").click()
    expect(page.locator("#annotate-results")).to_contain_text("still rating: Cleo")
    page.locator("#annotate-sign-out").click()
    expect(page.locator("button#annotate-begin")).to_be_visible()
    expect(page.locator("#annotate-tables table")).to_have_count(0)
    expect(page.locator("button#annotate-report-get")).to_be_hidden()
