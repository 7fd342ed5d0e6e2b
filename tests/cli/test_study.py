"""study: results of a study on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfqa_core.csv_format import read_csv
from pdfqa_core.storage import Store
from tests.services.helpers import studies_of
from tests.services.test_study_reports import ADA, BEN, rate, two_talks


@pytest.fixture
def rated(empty: Path) -> Path:
    """A workspace with a study of four turns that two people have rated."""
    with Store.open(empty) as store:
        studies = studies_of(store)
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


def test_a_study_goes_to_another_workspace_and_ratings_come_in(run, rated, tmp_path, monkeypatch):
    packed, table = tmp_path / "pilot.zip", tmp_path / "ratings.csv"
    assert "32 ratings in" in run("study", "export", "--output", packed).out
    assert run("export", "ratings", "--format", "wide", "--output", table).status == 0
    monkeypatch.setenv("PDFQA_WORKSPACE", str(tmp_path / "other"))
    assert run("study", "import", packed, "--json").data == {"study": "Pilot", "answers": 4, "ratings": 32}
    assert run("study", "results", "--json").data["results"][0]["mean"] == 0.75
    table.write_text(table.read_text("utf-8-sig").replace("answer: Ben", "answer: Dan"), "utf-8")
    refused = run("study", "add-ratings", table)
    assert refused.status == 2
    assert "row 2, column 'answer: Dan': nobody called 'Dan' has signed in" in refused.err
    added = run("study", "add-ratings", table, "--sign-in", "Dan", "--json")
    assert added.data == {"study": "Pilot", "ratings": 32}


def test_judged_answers_are_imported_from_a_table(run, empty, tmp_path):
    table = tmp_path / "judged.tsv"
    table.write_text("Question\tAnswer\tA\tB\nQ1\tx\tYes\tYes\nQ2\ty\tNo\tYes\nQ3\tz\tNo\tNo\n")
    options = ("--columns", "question=Question,answer=Answer", "--annotators", "A,B", "--values", "Yes=1,No=0")
    assert run("study", "import", table, *options).out == "judged: 3 answers, 6 ratings\n"
    assert "answer  (A and B, n = 3)" in run("study", "agreement").out
    wrong = run("study", "import", table, "--columns", "query=Question")
    assert "'query' is no field" in wrong.err
    assert "'Yes' is not NAME=VALUE" in run("study", "import", table, "--values", "Yes").err


def test_measures_are_compared_with_people(run, rated, tmp_path):
    scores, gold = tmp_path / "scores.csv", tmp_path / "gold.json"
    judged = "".join(f"{turn},judge,{value}\n" for turn, value in (("a1", 0.9), ("a2", 0.1), ("b1", 0.8), ("b2", 0.2)))
    scores.write_text("item,measure,value\n" + judged + "x1,judge,0.1\n")
    gold.write_text('[{"question": "What is it?", "answer": "It is [1]."}]')
    found = run("study", "measures", "--gold", gold, "--scores", scores, "--json").data
    by_name = {one["measure"]: one for one in found["trust"]}
    assert (by_name["judge"]["n"], by_name["answer_f1"]["n"]) == (3, 3)  # of one answer the two say different things
    plain = run("study", "measures", "--scores", scores).out
    assert plain.startswith("Measure  n  Spearman")
    assert run("study", "measures", "--scores", scores, "--to", "latex").out.startswith("% needs")
    assert "Name their file with --gold" in run("study", "measures", "--judge").err
