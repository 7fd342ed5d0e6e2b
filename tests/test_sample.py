"""The sample report and its questions agree with each other and with the program that makes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "data" / "sample"
PDF = FOLDER / "harbour-heat.pdf"
LINES = (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
QUESTIONS: dict[str, dict[str, Any]] = {item["id"]: item for item in map(json.loads, LINES)}
ANSWERABLE = [item for item in QUESTIONS.values() if item["answerable"]]
UNANSWERABLE = [item for item in QUESTIONS.values() if not item["answerable"]]


@pytest.fixture(scope="module")
def report():
    document = pypdfium2.PdfDocument(PDF)
    yield document
    document.close()


@pytest.fixture(scope="module")
def texts(report):
    found = []
    for page in report:
        textpage = page.get_textpage()
        found.append(" ".join(textpage.get_text_range().split()))
        textpage.close()
        page.close()
    return found


def test_the_program_writes_the_committed_bytes(tmp_path):
    made = tmp_path / "made.pdf"
    command = [sys.executable, str(FOLDER / "make_sample.py"), str(made)]
    subprocess.run(command, check=True, timeout=120)
    assert made.read_bytes() == PDF.read_bytes()


def test_it_is_small_enough_to_commit():
    assert PDF.stat().st_size < 200_000


def test_pages_and_their_labels(report):
    assert [report.get_page_label(i) for i in range(len(report))] == ["i", "ii", "1", "2", "3", "4", "5", "6"]


def test_metadata_and_outline(report):
    metadata = report.get_metadata_dict()
    assert metadata["Title"] == "Harbour Heat: two winters of a sea-water heat pump in the town of Kestrel Bay"
    assert metadata["Author"] == "Kestrel Bay Heat Works"
    outline = [(item.level, item.get_title(), item.get_dest().get_index()) for item in report.get_toc()]
    assert (0, "6 Noise and wildlife survey", 6) in outline
    assert (1, "8.2 Next steps", 7) in outline


def test_the_printed_page_number_stands_on_every_page_but_the_cover(report, texts):
    for i in range(1, len(report)):
        assert f"June 2024 {report.get_page_label(i)} " in texts[i]


def test_fifteen_questions_with_ids_of_their_own():
    assert len(LINES) == len(QUESTIONS) == 15
    assert (len(ANSWERABLE), len(UNANSWERABLE)) == (10, 5)


@pytest.mark.parametrize("item", ANSWERABLE, ids=lambda item: item["id"])
def test_every_quote_stands_on_a_gold_page(item, texts):
    assert item["pages"], "an answerable question needs a page"
    assert all(1 <= page <= len(texts) for page in item["pages"])
    quote = " ".join(item["quote"].split())
    assert quote
    assert any(quote in texts[page - 1] for page in item["pages"])


def test_every_answerable_question_has_an_answer_and_a_type():
    assert all(item["answer"] and item["question"].endswith("?") for item in ANSWERABLE)
    assert {item["type"] for item in ANSWERABLE} == {"extractive", "abstractive", "boolean"}
    booleans = [item for item in ANSWERABLE if item["type"] == "boolean"]
    assert len(booleans) >= 2
    assert all(item["answer"].startswith(("Yes", "No")) for item in booleans)


@pytest.mark.parametrize("item", UNANSWERABLE, ids=lambda item: item["id"])
def test_unanswerable_questions_name_no_evidence(item):
    assert (item["answer"], item["pages"], item["quote"]) == ("Insufficient context", [], "")


def test_the_follow_up_comes_right_after_its_question():
    ids = list(QUESTIONS)
    follow_ups = [item for item in QUESTIONS.values() if "follow_up_of" in item]
    assert follow_ups
    for item in follow_ups:
        assert ids.index(item["follow_up_of"]) + 1 == ids.index(item["id"])
        assert {"it", "its", "they", "their"} & set(item["question"].lower().rstrip("?").split())


def test_the_sums_in_the_text_are_those_of_the_table(texts):
    """The report tells its figures twice; both tellings come from the same months."""
    words = (FOLDER / "harbour-heat.md").read_text(encoding="utf-8")
    for row in texts[5].split("Winter ")[1:3]:
        _, _, heat, electricity, backup, factor = row.split()[:6]
        assert f"{heat} MWh" in words
        assert f"{electricity} MWh of electricity" in words
        assert f"{backup} MWh" in words
        assert f"{int(heat.replace(',', '')) / float(electricity):.2f}" == factor
        assert factor in words
