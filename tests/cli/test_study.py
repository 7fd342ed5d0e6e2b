"""study: results of a study on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfqa_core.csv_format import read_csv
from pdfqa_core.services.studies import StudyService
from pdfqa_core.storage import Store
from tests.services.test_study_reports import ADA, BEN, rate, two_talks


@pytest.fixture
def rated(empty: Path) -> Path:
    """A workspace with a study of four turns that two people have rated."""
    with Store.open(empty) as store:
        studies = StudyService(store.studies, store.conversations)
        study_id = two_talks(store, studies, owner="local")
        rate(studies, study_id, "Ada", ADA, owner="local")
        rate(studies, study_id, "Ben", BEN, owner="local")
    return empty


def test_results_are_printed_and_written(run, rated, tmp_path):
    plain = run("study", "results")
    assert plain.status == 0
    assert "Overall\n  Rater     n  Acc." in plain.out
    assert "  Ada       4  0.75 [" in plain.out
    assert "percentiles of the means of resampled conversations" in plain.out
    data = run("study", "results", "Pilot", "--json").data
    assert data["study"] == "Pilot"
    first = data["results"][0]
    assert (first["rater"], first["group"], first["measure"], first["mean"]) == ("Ada", "overall", "accuracy", 0.75)
    table = read_csv(run("study", "results", "--to", "csv").out.encode())
    assert len(table.rows) == len(data["results"])
    assert run("study", "results", "--to", "latex").out.startswith("% needs \\usepackage{booktabs}")
    chart = tmp_path / "chart.png"
    assert run("study", "results", "--output", chart).status == 0
    assert chart.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Nobody",), "There is no study 'Nobody'"),
        (("--to", "png"), "A png file is not shown on a terminal"),
        (("--output", "results.xyz"), "results.xyz does not say which form it has"),
    ],
)
def test_wrong_calls_say_what_to_do(run, rated, arguments, words):
    done = run("study", "results", *arguments)
    assert done.status == 2
    assert words in done.err


def test_agreement_is_printed_and_written(run, rated, tmp_path):
    plain = run("study", "agreement").out
    assert "answer  (Ada and Ben, n = 4)" in plain
    found = {one["all"]["criterion"]: one["all"] for one in run("study", "agreement", "--json").data["agreement"]}
    (pair,) = found["passage"]["pairs"]
    assert (pair["n"], pair["agreement"], pair["labels"]) == (8, 0.75, ["0", "1"])
    report = tmp_path / "report.html"
    assert run("study", "agreement", "--output", report).status == 0
    assert "passage: Ada (rows) and Ben (columns)" in report.read_text()
    assert run("study", "agreement", "--to", "markdown").out.startswith("# Pilot: agreement")
