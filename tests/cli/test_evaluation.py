"""agreement, export and doctor."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from pdfqa_core.json_codec import decode
from pdfqa_core.llm import hardware
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Store
from pdfqa_core.study_types import Rating
from pdfqa_core.types import Conversation
from tests.serving_fakes import QUESTIONS

LITERAL = ("--retriever", "bm25", "--reader", "extractive", "--confidence-threshold", "0")
KEYS = {"n", "agreement", "kappa", "low", "high", "pabak", "ac1"}


def long_format(pairs, criterion="correct"):
    rows = [("item", "annotator", "criterion", "value")]
    for number, (one, other) in enumerate(pairs):
        rows += [(f"i{number}", "Ann", criterion, one), (f"i{number}", "Ben", criterion, other)]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


@pytest.fixture
def csv_file(tmp_path):
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: Cohen's kappa is 0.4 (agreement .7, chance .5)."""
    counts = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    path = tmp_path / "ratings.csv"
    path.write_text(long_format([pair for pair, count in counts.items() for _ in range(count)]))
    return path


def test_agreement_is_the_known_kappa(run, csv_file):
    done = run("agreement", csv_file, "--json")
    assert done.status == 0
    row = done.data["criteria"]["correct"]
    assert set(row) >= KEYS
    assert (row["n"], row["agreement"]) == (50, pytest.approx(0.7))
    assert row["kappa"] == pytest.approx(0.4)
    assert row["low"] < 0.4 < row["high"]
    assert row["agreement_low"] < 0.7 < row["agreement_high"]
    assert row["pabak"] == pytest.approx(0.4)
    plain = run("agreement", csv_file).out
    assert "correct  (Ann and Ben, n = 50)" in plain
    assert "Cohen's kappa  0.4000" in plain


def test_a_table_with_a_column_per_annotator(run, tmp_path):
    path = tmp_path / "wide.tsv"
    path.write_text('id\tsaid\tA\tB\tC\n1\t"So" he said\tYes\tYes\t\n1\tx\tNo\tYes\tNo\n2\ty\tNo\tNo\tmaybe\n')
    done = run("agreement", path, "--columns", "A,B", "--values", "Yes,No", "--criterion", "acceptable", "--json")
    row = done.data["criteria"]["acceptable"]
    assert (row["n"], row["annotators"], row["confusion"]) == (3, ["A", "B"], [[1, 1], [0, 1]])
    assert done.data["left_out"] == 0
    assert run("agreement", path, "--columns", "A,B,C", "--values", "Yes,No", "--json").data["left_out"] == 2
    twice = run("agreement", path, "--columns", "A,B", "--item", "id", "--json")
    assert (twice.status, "the item '1' is in row 2 already" in twice.data["error"]["what"]) == (2, True)
    assert "cannot be told" in run("agreement", path, "--json").data["error"]["what"]
    assert "'D' is missing" in run("agreement", path, "--columns", "A,D", "--json").data["error"]["what"]
    nothing = run("agreement", path, "--columns", "A,B", "--values", "ja", "--json")
    assert "No, Yes" in nothing.data["error"]["hint"]


def test_what_is_left_out_or_looks_alike_is_said(run, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("sep=;\nitem;A;B\n1;Low;low\n2;mid;NA\n3;mid;HIGH\n4;high;\n5;low;low\n")
    done = run("agreement", path, "--json")
    assert done.data["left_out"] == 2
    assert done.data["notes"][0] == "Left out: 2 cells without a value that counts (1 NA, 1 empty)."
    assert "--ignore-case" in done.data["notes"][1]
    assert all(note in run("agreement", path).out for note in done.data["notes"])
    ordinal = ("agreement", path, "--ignore-case", "--weights", "linear")
    assert "--scale" in run(*ordinal, "--json").data["error"]["hint"]
    row = run(*ordinal, "--scale", "low,mid,high", "--json").data["criteria"]["value"]
    assert (row["n"], row["agreement"], row["labels"]) == (3, pytest.approx(2 / 3), ["Low", "mid", "HIGH"])


def test_the_labels_of_nq301_agree_as_one_command_says(run, shared_data):
    file = shared_data / "human_labels" / "nq301_human.tsv"
    done = run("agreement", file, "--columns", "annotator1,annotator2", "--values", "Yes,No", "--json")
    row = done.data["criteria"]["value"]
    assert (row["n"], row["confusion"]) == (1483, [[574, 86], [109, 714]])
    assert row["kappa"] == pytest.approx(0.734719, abs=1e-6)
    assert row["agreement"] == pytest.approx(1288 / 1483)
    assert row["low"] < row["kappa"] < row["high"]


@pytest.fixture
def rated(workspace, run):
    """Two answers in one study, rated by two people who agree on one of them."""
    first = run("ask", QUESTIONS["q03"]["question"], *LITERAL, "--json").data
    second = run(
        "ask", QUESTIONS["q01"]["question"], *LITERAL, "--conversation", first["conversation_id"], "--json"
    ).data
    with Store.open(workspace) as store:
        study = store.studies.create(LOCAL_OWNER, "Pilot", [first["conversation_id"]], 1)
        ratings = []
        for annotator, values in (("Ann", "10"), ("Ben", "11")):
            store.studies.sign_in(study.id, annotator)
            for row, value in zip((first, second), values, strict=True):
                now = datetime.now(UTC)
                ratings.append(Rating(study.id, row["turn_id"], annotator, "correct", value, "=1+1", 2.0, now))
        store.studies.save_ratings(ratings)
    return first["conversation_id"]


def test_exported_ratings_are_read_back_by_agreement(workspace, run, rated, tmp_path):
    done = run("export", "ratings", "--study", "Pilot", "--output", tmp_path / "out" / "ratings.csv", "--json")
    assert done.status == 0
    assert done.data == {"file": str(tmp_path / "out" / "ratings.csv"), "rows": 4}
    row = run("agreement", done.data["file"], "--json").data["criteria"]["correct"]
    assert (row["n"], row["agreement"], row["kappa"]) == (2, 0.5, 0.0)


def test_exported_conversations_round_trip(workspace, run, rated):
    done = run("export", "conversations")
    assert done.status == 0
    assert done.out.startswith("1 rows in ")
    (path,) = (workspace / "exports").iterdir()
    with Store.open(workspace) as store:
        assert decode(Conversation, path.read_bytes()) == store.conversations.get(LOCAL_OWNER, rated)


def test_conversations_in_forms_with_pictures(run, rated, tmp_path):
    for form in ("docx", "html", "zip"):
        done = run("export", "conversations", "--format", form, "--conversation", rated, "--json")
        assert (done.status, done.data["rows"], Path(done.data["file"]).suffix) == (0, 1, f".{form}")
    with zipfile.ZipFile(done.data["file"]) as packed:
        assert "pages/001.jpg" in packed.namelist()
    unknown = run("export", "conversations", "--conversation", "none", "--json")
    assert (unknown.status, unknown.data["error"]["what"]) == (2, "There is no conversation 'none'.")


def test_an_export_to_standard_output_is_the_file_and_nothing_else(workspace, run, rated):
    done = run("export", "conversations", "--output", "-")
    assert decode(Conversation, done.out).id == rated
    both = run("export", "conversations", "--output", "-", "--json")
    assert (both.status, "both print" in both.data["error"]["what"]) == (2, True)


def test_doctor_says_what_does_not_work(empty, run, monkeypatch, tmp_path):
    monkeypatch.setenv("PDFQA_MODEL", str(tmp_path / "none.gguf"))
    monkeypatch.setattr(hardware, "find_gpu", lambda: hardware.Gpu("Metal", 16_000_000_000, 9_500_000_000))
    done = run("doctor", "--json")
    checks = {row["name"]: row for row in done.data["checks"]}
    assert list(checks) == [
        "machine", "GPU", "packages", "workspace", "private files", "reading PDFs", "limits of reading", "OCR",
        "sentences (nltk)", "languages (lingua)", "search by words (rank-bm25)", "search in large indexes (hnswlib)",
        "tables (pandas)", "agreement (scikit-learn)", "cluster", "encoder", "models folder", "language model",
    ]  # fmt: skip
    for package in ("rank-bm25", "nltk", "pandas", "hnswlib", "scikit-learn"):
        assert f"{package} {version(package)}" in checks["packages"]["detail"]
    assert done.status == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["language model"]
    assert checks["language model"]["hint"] == "Check the path."
    assert checks["workspace"]["detail"] == str(empty)
    assert checks["private files"]["detail"].startswith(("nobody else on", "this system has no"))
    assert checks["GPU"]["detail"] == "Metal, 9.5 of 16.0 GB memory free"
    assert "8 pages" in checks["reading PDFs"]["detail"]
    assert "limited by the system" in checks["limits of reading"]["detail"]
    assert "onnxruntime" in checks["OCR"]["detail"]
    assert "384 dimensions" in checks["encoder"]["detail"]
    assert done.err == ""
