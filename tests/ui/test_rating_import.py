"""Ratings of a spreadsheet on the page: a file, its columns, what does not fit, mended, saved; and the template."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.csv_format import read_csv
from pdfqa_core.storage import Store
from tests.ui.serving import App
from tests.ui.studies import annotate_tab, app_with_pilot
from tests.ui.test_axe import findings, scheme

pytestmark = pytest.mark.browser

TABLE = "Frage;Urteil\nHow loud is pump 1?;ja\nHow loud is pump 2?;nein\nHow loud is pump 3?;vielleicht\n"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    questions = [f"How loud is pump {number}?" for number in (1, 2, 3)]
    with app_with_pilot(tmp_path_factory.mktemp("import"), questions, "One.", people=["Zoë"]) as started:
        yield started


@pytest.fixture(scope="module")
def page(browser: Browser, app: App) -> Iterator[Page]:
    with annotate_tab(browser, app) as opened:
        opened.get_by_role("button", name="Ratings from a spreadsheet").click()
        yield opened


def bring(page: Page, file: Path, data: bytes) -> Locator:
    file.write_bytes(data)
    with page.expect_file_chooser() as choosing:
        page.locator("#annotate-import-file").click()
    choosing.value.set_files(file)
    return page.locator("#annotate-import-columns")


def saved(app: App) -> dict[tuple[str, str, str], str]:
    with Store.open(app.workspace) as store:
        study = store.studies.list("local")[0]
        return {(one.item_id, one.annotator, one.criterion): one.value for one in store.studies.ratings(study.id)}


def test_what_is_no_table_says_so(page: Page, tmp_path: Path) -> None:
    shown = bring(page, tmp_path / "book.csv", b"PK\x03\x04book")
    expect(shown.locator(".error")).to_contain_text("no text that a spreadsheet saves")


def test_columns_are_mapped_faults_are_told_and_the_rest_is_saved(page: Page, app: App, tmp_path: Path) -> None:
    shown = bring(page, tmp_path / "urteile.csv", TABLE.encode("cp1252"))
    expect(shown.locator(".preview thead th")).to_have_text(["Frage", "Urteil"])
    expect(shown).to_contain_text("3 of 3 rows")
    expect(shown.get_by_role("combobox", name="Annotator", exact=True)).to_have_value("=Zoë")  # the only one
    shown.get_by_role("button", name="Save the ratings").click()
    expect(shown.locator(".error")).to_contain_text("No column is chosen for the item")
    shown.get_by_role("combobox", name="Item", exact=True).select_option("Frage")
    shown.get_by_role("combobox", name="Value", exact=True).select_option("Urteil")
    shown.get_by_role("combobox", name="Criterion", exact=True).select_option("=answer")
    shown.get_by_role("textbox", name="What words in the cells mean").fill("ja=1, nein=0")
    shown.get_by_role("button", name="Save the ratings").click()
    faults = shown.locator("table.faults tbody tr")
    expect(faults).to_have_count(1)
    expect(faults.locator("td")).to_contain_text(["4", "Urteil", "'vielleicht' is no value of answer"])
    expect(shown.get_by_role("combobox", name="Item", exact=True)).to_have_value("Frage")  # what was chosen stays
    for dark in (False, True):
        scheme(page, dark)
        assert findings(page, dark) == []
    scheme(page, False)
    assert saved(app) == {}
    shown = bring(page, tmp_path / "mended.csv", TABLE.replace("vielleicht", "nein").encode("cp1252"))
    expect(faults).to_have_count(0)
    expect(shown.get_by_role("textbox", name="What words in the cells mean")).to_have_value("ja=1, nein=0")
    shown.get_by_role("button", name="Save the ratings").click()
    expect(shown.locator(".said")).to_contain_text("Saved: 3 ratings of the table")
    assert saved(app) == {("t1", "Zoë", "answer"): "1", ("t2", "Zoë", "answer"): "0", ("t3", "Zoë", "answer"): "0"}
    expect(page.locator("#annotate-names")).to_contain_text("Zoë")


def test_the_template_filled_in_is_read_without_a_choice(page: Page, app: App, tmp_path: Path) -> None:
    with page.expect_download() as getting:
        page.locator("#annotate-import-template").click()
    path = tmp_path / getting.value.suggested_filename
    getting.value.save_as(path)
    table = read_csv(path.read_bytes())
    assert path.name == "to-rate-Pilot.csv"
    assert table.header[-1] == "passage: Zoë"
    rows = [[*row.cells[:-1], "relevant" if "#" in row.cells[0] else ""] for row in table.rows]
    filled = "\n".join("\t".join(row) for row in (table.header, *rows))
    shown = bring(page, tmp_path / "filled.tsv", filled.encode("utf-16"))
    expect(shown.get_by_role("combobox", name="Passages (a row each): Zoë", exact=True)).to_have_value("passage: Zoë")
    shown.get_by_role("button", name="Save the ratings").click()
    expect(shown.locator(".said")).to_contain_text("3 ratings of the table")
    assert saved(app)["t2#1", "Zoë", "passage"] == "1"


def test_people_who_are_not_there_come_in_on_request(page: Page, app: App, tmp_path: Path) -> None:
    shown = bring(page, tmp_path / "more.csv", b"item,rater,criterion,value\nt1,Ben,answer,incorrect\n")
    expect(shown.get_by_role("combobox", name="Annotator", exact=True)).to_have_value("rater")
    shown.get_by_role("button", name="Save the ratings").click()
    expect(shown.locator("table.faults td").last).to_contain_text("nobody called 'Ben' has signed in")
    shown.get_by_role("combobox", name="People who are not in the study yet", exact=True).select_option("are added")
    shown.get_by_role("button", name="Save the ratings").click()
    expect(shown.locator(".said")).to_contain_text("Saved: 1 rating of the table")
    assert saved(app)["t1", "Ben", "answer"] == "0"
