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


def test_pages_and_their_labels(report):
    assert [report.get_page_label(i) for i in range(len(report))] == ["i", "ii", "1", "2", "3", "4", "5", "6"]


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
