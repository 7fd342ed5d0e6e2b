import json

import pytest

from pdfqa_core.csv_format import read_csv
from pdfqa_core.services import SAMPLE

GOLD = SAMPLE / "questions.jsonl"


def test_a_grid_is_measured_on_gold_that_no_chunking_owns(run, workspace):
    found = run(
        "evaluate", "retrieval", "--data", GOLD, "--chunkers", "windows,snippets", "--retrievers", "bm25",
        "--measures", "HR@5,MRR", "--json",
    )  # fmt: skip
    assert found.status == 0
    systems = found.data["systems"]
    assert [s["name"].split()[2] for s in systems] == ["windows", "snippets"]
    for system in systems:
        assert (system["metrics"]["MRR"]["n"], system["metrics"]["MRR"]["unscored"]) == (10, 5)
        scored = [item for item in system["items"] if item["metrics"]["MRR"] is not None]
        assert system["metrics"]["MRR"]["mean"] == pytest.approx(sum(item["metrics"]["MRR"] for item in scored) / 10)
        assert all(item["metrics"]["MRR"] == (1 / item["rank"] if item["rank"] else 0) for item in scored)
    assert systems[0]["metrics"]["HR@5"]["mean"] >= 0.7
    compared = found.data["comparisons"][0]
    difference = systems[1]["metrics"]["MRR"]["mean"] - systems[0]["metrics"]["MRR"]["mean"]
    assert abs(compared["differences"]["MRR"]["mean"] - difference) < 1e-9
    assert len(compared["wins"]) + len(compared["losses"]) <= 10


def test_the_table_and_the_files(run, workspace, tmp_path):
    systems = tmp_path / "systems.toml"
    systems.write_text('["five words"]\nchunking = {chunker = "snippets", length = 5}\n')
    found = run(
        "evaluate", "retrieval", "--data", GOLD, "--retriever", "bm25", "--systems", systems, "--baseline",
        "five words", "--measures", "MRR", "--csv", tmp_path / "rows.csv", "--trec", tmp_path / "trec",
    )  # fmt: skip
    assert found.status == 0
    assert "against  five words" in found.out
    assert "n = 10, 5 unscored" in found.out
    table = read_csv((tmp_path / "rows.csv").read_bytes())
    assert len(table.rows) == 2 * 15
    assert table.header[0] == "system"
    qrels = (tmp_path / "trec" / "qrels.txt").read_text().splitlines()
    assert {line.split()[2].split("#")[0] for line in qrels} == {"harbour-heat.pdf"}
    assert len(list((tmp_path / "trec").glob("run-*.txt"))) == 2


def test_a_beir_folder_needs_no_documents(run, empty, tmp_path):
    corpus = [
        {"_id": "d1", "title": "Cats", "text": "Cats purr."},
        {"_id": "d2", "title": "Dogs", "text": "Dogs bark."},
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "Who barks? dogs"}')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td2\t1\n")
    found = run("evaluate", "retrieval", "--data", tmp_path, "--retriever", "bm25", "--json")
    assert found.status == 0
    assert found.data["systems"][0]["metrics"]["HR@1"]["mean"] == 1.0
    assert found.data["systems"][0]["passages"] == 2


def test_wrong_calls_are_told(run, workspace, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[a.retrieval]\nretriever = 'magic'\n")
    for arguments, words in (
        (("--data", tmp_path / "none.jsonl"), "No such file"),
        (("--data", GOLD, "--retrievers", "magic"), "no retriever called 'magic'"),
        (("--data", GOLD, "--measures", "P@5"), "no ranking measure called 'P@5'"),
        (("--data", GOLD, "--baseline", "x"), "no system called 'x'"),
        (("--data", GOLD, "--systems", wrong), "wrong.toml, system 'a'"),
        (("--data", GOLD, "--depth", "-1"), "--depth"),
    ):
        found = run("evaluate", "retrieval", *arguments, "--json")
        assert found.status == 2
        assert words in found.data["error"]["what"] + found.data["error"]["hint"], arguments
