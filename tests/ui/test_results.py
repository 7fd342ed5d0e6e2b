"""The results of a study on the page: the same numbers as in the files, and none before everybody has finished."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfqa_core.csv_format import read_csv
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.storage import Store
from pdfqa_core.ui.annotate_results import measured, measures_html, report, tables_html
from tests.services.helpers import BM25
from tests.serving_fakes import FakeModels
from tests.storage.conftest import turn

TALKS, TURNS = 4, 3


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Services, str]]:
    """A study of four conversations of three turns that Ada and Ben have rated; its id."""
    rng, folder = random.Random(5), tmp_path_factory.mktemp("results")
    with Store.open(folder) as store:
        for talk in range(TALKS):
            conversation = store.conversations.create(LOCAL_OWNER, f"Heat pump {talk + 1}")
            for number in range(TURNS):
                asked = turn(f"t{talk}x{number}", "One.", "Two.", question=f"Question {number + 1}?")
                store.conversations.append_turn(LOCAL_OWNER, conversation.id, asked)
        talks = [one.id for one in store.conversations.list(LOCAL_OWNER)]
        study = store.studies.create(LOCAL_OWNER, "Pilot", talks, 1)
    with Services.open(folder, BM25, FakeModels()) as services:
        for name in ("Ada", "Ben"):
            services.studies.sign_in(LOCAL_OWNER, study.id, name)
            for key in study.turn_ids:
                parts = ((key, "answer"), (f"{key}#1", "passage"), (f"{key}#2", "passage"))
                said = {part: str(int(rng.random() < 0.7)) for part in parts} | {(key, "intent"): "boolean"}
                services.studies.save(LOCAL_OWNER, study.id, name, key, said)
        yield services, study.id


def rows_of(services: Services, study_id: str, choice: str, gold: str | None = None) -> list[dict[str, str]]:
    file, told = report(services, choice, LOCAL_OWNER, study_id, "", gold)
    assert told == ""
    table = read_csv(Path(file).read_bytes())
    return [dict(zip(table.header, row.cells, strict=True)) for row in table.rows]


def tables(shown: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with the group of its fold; cells are texts."""
    for group, content in re.findall(r'<details class="results" data-group="([\w-]+)".*?>(.*?)</details>', shown, re.S):
        for table in re.findall("<table.*?</table>", content, re.S):
            lines = [
                re.findall("<t[dh].*?>(.*?)</t[dh]>", line, re.S) for line in re.findall("<tr>.*?</tr>", table, re.S)
            ]
            yield group, [[" ".join(re.sub("<.*?>", "", cell).split()) for cell in line] for line in lines]


def on_the_page(shown: str) -> dict[tuple[str, str, str, str], tuple[str, str]]:
    """Return mean and interval by rater, group, value and measure as they stand on the page."""
    found = {}
    for group, (heads, *lines) in tables(shown):
        for cells in lines if "Rater" in heads else ():
            value, rater = "" if group == "overall" else cells[0], cells[heads.index("Rater")]
            for head, cell in list(zip(heads, cells, strict=True))[heads.index("n") + 1 :]:
                mean, bounds = re.match(r"\d\.\d\d", cell), re.search(r"\d\.\d\d to [\d.]+", cell)
                found[rater, group, value, head] = (mean[0] if mean else "", bounds[0] if bounds else "")
    return found


def test_the_page_shows_the_numbers_of_the_csv(rated: tuple[Services, str]) -> None:
    services, study_id = rated
    page = tables_html(services, LOCAL_OWNER, study_id, "")
    shown = on_the_page(page)
    rows = rows_of(services, study_id, "Results, CSV")
    assert len(rows) == len(shown) > 3 * (1 + TURNS + TALKS) * 3
    for row in rows:
        head = "Acc." if row["measure"] == "accuracy" else row["measure"]
        mean = f"{float(row['mean']):.2f}" if row["mean"] else ""
        bounds = f"{float(row['low']):.2f} to {float(row['high']):.2f}" if row["low"] else ""
        assert shown[row["rater"], row["group"], row["value"], head] == (mean, bounds), row
    assert page.count("<figure><svg") == 2
    differed = sum(
        row["rater"] == "majority" and row["group"] == "overall" and int(row["unscored"]) > 0 for row in rows
    )
    assert differed > 0
    overall = next(content for group, content in tables(page) if group == "overall")
    (most,) = (line for line in overall if line[0] == "majority")
    assert sum("left out" in cell for cell in most) == differed
    file, _ = report(services, "Results, LaTeX", LOCAL_OWNER, study_id, "", None)
    assert "left out)" in Path(file).read_text()


def test_measures_are_compared_with_people(rated: tuple[Services, str], tmp_path: Path) -> None:
    services, study_id = rated
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps([{"question": f"Question {n}?", "answer": "It is" + " so" * n} for n in range(1, 5)]))
    (_, trust), *_ = tables(measures_html(measured(services, LOCAL_OWNER, study_id, "", str(gold))))
    _, n, _, _, auroc, *_ = next(line for line in trust if line[0].startswith("Answer F1"))
    rows = rows_of(services, study_id, "Measures against people, CSV", str(gold))
    row = next(row for row in rows if (row["measure"], row["statistic"]) == ("answer_f1", "auroc"))
    assert n == row["n"]
    assert auroc == f"{float(row['value']):.2f} {float(row['low']):.2f} to {float(row['high']):.2f}"
