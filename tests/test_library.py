"""The program from Python: documents, search, answers, measures and ratings as tables and pictures."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

import pdfqa_core as pdfqa
from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.services.documents import sample_pdf, sample_questions
from pdfqa_core.types import Outcome

NOTEBOOK = Path(__file__).parent.parent / "examples" / "research.ipynb"
METERS = "How often are the meters read?"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A workspace with the sample, searched by words and answered by its best sentences."""
    folder = tmp_path_factory.mktemp("library")
    with pdfqa.open(folder, retriever="bm25", reader="extractive", check_meaning=False, progress=False) as opened:
        opened.add(sample_pdf())
        yield opened


def test_documents_are_a_table(workspace, tmp_path):
    (row,) = workspace.documents.to_dict("records")
    assert (row["filename"], row["state"], row["pages"]) == (sample_pdf().name, "ready", 8)
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"no PDF")
    (row,) = workspace.add(broken).to_dict("records")
    assert row["state"] == "broken"
    assert row["reason"]
    with pytest.raises(UsageError, match="no such file"):
        workspace.add(tmp_path / "absent.pdf")


def test_passages_are_a_table(workspace):
    hits = workspace.search(METERS, k=3)
    table = hits.to_frame()
    assert list(table["rank"]) == [1, 2, 3] == [hit.rank for hit in hits]
    assert "every 15 minutes" in table["text"][0]
    assert table["pages"][0] == list(hits[0].passage.pages)
    assert "every 15 minutes" in hits._repr_html_()
    assert repr(hits) == "<3 passages>"
    assert len(workspace.search(METERS, documents=sample_pdf().name)) > 0


def test_an_answer_shows_its_evidence(workspace):
    reply = workspace.ask(METERS)
    assert "every 15 minutes" in reply.text
    assert reply.sure == (reply.outcome is Outcome.ANSWER)
    row = reply.to_frame().to_dict("records")[0]
    assert (row["filename"], row["page"]) == (sample_pdf().name, 4)
    picture = reply.pictures(width=400)[0]
    assert picture.width == 400
    assert picture.convert("RGB").tobytes() != workspace.page(sample_pdf().name, 4, width=400).convert("RGB").tobytes()
    assert "data:image/jpeg;base64," in reply._repr_html_()
    with pytest.raises(UsageError, match=r"Page 99 was not read.*has 8 pages"):
        workspace.page(sample_pdf().name, 99)
    with pytest.raises(UsageError, match="Only citations"):
        workspace.page(sample_pdf().name, 4, ["every 15 minutes"])
    assert workspace.ask("Zanzibar xylophone?").text == ""
    follow_up = workspace.ask("And the boilers?", after=reply)
    assert (follow_up.conversation_id, follow_up.turn.number) == (reply.conversation_id, 2)


def test_systems_are_compared_in_a_table(workspace, tmp_path):
    rows = [{**one, "document": sample_pdf().name} for one in sample_questions() if one["answerable"]]
    found = workspace.evaluate(rows, {"one": {"k1": 1.5}, "other": {"size": 40, "step": 20}}, baseline="one")
    table = found.to_frame()
    assert set(table["system"]) == {"one", "other"}
    assert set(found.items()["item"]) == {one["id"] for one in rows}
    mean = table.query("system == 'one' and measure == 'MRR'")["mean"].iloc[0]
    assert mean == pytest.approx(found.items().query("system == 'one' and measure == 'MRR'")["value"].mean())
    for name, begins in (
        ("t.csv", b"\xef\xbb\xbfsystem"),
        ("t.tex", b"\\begin"),
        ("f.png", b"\x89PNG"),
        ("r.html", b"<!"),
    ):
        assert begins in found.save(tmp_path / name).read_bytes()[:400]
    written = pd.read_csv(found.save(tmp_path / "t.csv"))
    assert written["difference"].dropna().tolist() == pytest.approx(table["difference"].dropna().tolist())
    assert written["difference"].min() < 0
    with pytest.raises(UsageError, match=r"t\.doc"):
        found.save(tmp_path / "t.doc")
    with pytest.raises(StorageError, match="cannot be written"):
        found.save(tmp_path / "nowhere" / "t.csv")
    again = workspace.evaluation(workspace.evaluations["evaluation_id"][0], baseline="one")
    assert again.to_frame().equals(table)
    assert again.notes == found.notes
    by_frame = workspace.evaluate(pd.DataFrame(rows), {"one": {"k1": 1.5}}).to_frame()
    assert by_frame["mean"].tolist() == table.query("system == 'one'")["mean"].tolist()
    with pytest.raises(UsageError, match="settings by name"):
        workspace.evaluate(rows, {"one": "bm25"})
    seed = workspace.evaluate(rows, {"one": {}, "other": {"headings": True}}, profile="seed").evaluation
    assert [note.partition(":")[2] for note in seed.notes if "by hand" in note] == [" headings = yes."]
    assert {one.index.passages for one in seed.systems} != {one.index.passages for one in found.evaluation.systems}


def test_answers_are_scored_too(workspace, tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"id": "q", "question": METERS, "answer": "Every 15 minutes."}), "utf-8")
    found = workspace.evaluate(file, protocol="answers", options={"bertscore": "no"})
    assert found.to_frame().query("measure == 'rouge_l'")["mean"].iloc[0] > 0


def test_ratings_give_kappa(workspace, tmp_path):
    file = tmp_path / "ratings.csv"
    pd.DataFrame({"item": range(4), "Ada": ["1", "1", "0", "0"], "Ben": ["1", "0", "0", "0"]}).to_csv(file, index=False)
    table = workspace.agreement(file)
    assert table.query("statistic == 'kappa'")["value"].iloc[0] == pytest.approx(0.5)
    file.write_text("item,Ada,Ben\n1,correct,correct\n2,wrong,corect\n3,wrong,wrong\n4,NA,wrong\n", "utf-8")
    with pytest.warns(UserWarning, match="Left out|differ in one letter") as warned:
        table = workspace.agreement(file, values=["correct", "corect", "wrong"])
    assert [str(one.message).split(",")[0].split(" (")[0] for one in warned] == [
        "Left out: 1 cells without a value that counts",
        "'correct' and 'corect' differ in one letter",
    ]
    assert set(table["n"]) == {3}


def test_a_study_is_made_and_opened_again(workspace):
    made = workspace.study("Meters", [workspace.ask(METERS)], annotators="Ada")
    assert workspace.study("Meters").id == made.id
    assert made.ratings().empty
    with pytest.raises(UsageError, match="Meters"):
        workspace.study("Absent")


def test_a_setting_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"'retreiver' is no setting.*retriever"):
        pdfqa.open(tmp_path, retreiver="bm25")


def test_the_page_with_the_notebook_s_results_shows_what_the_notebook_does():
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    page = NOTEBOOK.parent.parent / "docs" / "research.html"
    shown = re.sub(r"\s+", "", unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8"))))
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert [one for one in code if re.sub(r"\s+", "", one) not in shown] == []


def test_the_notebook_runs_from_start_to_end(tmp_path, monkeypatch):
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    (tmp_path / "research").mkdir()
    (tmp_path / "research" / "pdfqa.toml").write_text('[reading]\nreader = "extractive"\n', "utf-8")  # no model
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert set(names["table"]["system"]) == {"words", "words and meaning"}
    assert "every 15 minutes" in names["reply"].text
    assert (tmp_path / "table.tex").read_text("utf-8").count("\\begin{table}") == 1
