"""`pdfqa evaluate run` from the command line: JSON, files that are scored again, going on, wrong calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pdfqa_core.extraction.process.limits import FILE_MB, OWNERS
from pdfqa_core.metrics.rouge import rouge_l
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui.session import Session
from tests.retrieval.tiny_models import sentence_transformer
from tests.services.helpers import BM25
from tests.services.test_runs import QUESTIONS
from tests.serving_fakes import FakeModels
from tests.ui.test_evaluate_form import form

LITERAL = (
    "--retriever", "bm25", "--reader", "extractive", "--confidence-threshold", "0", "--no-bertscore", "--json",
)  # fmt: skip


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(QUESTIONS))
    return path


def test_a_run_prints_what_was_answered_and_goes_on_as_the_same(run, workspace, data, tmp_path):
    done = run("evaluate", "run", "answers", "--data", data, "--out", tmp_path / "out", *LITERAL)
    assert done.status == 0
    (system,) = done.data["systems"]
    assert system["name"] == "bm25 · windows 120/60"
    assert set(system["metrics"]["answer_f1"]) == {"mean", "low", "high", "n", "unscored", "exact"}
    item = system["items"][0]
    assert item["id"] == "a"
    assert set(item) >= {"answer", "refused", "citations", "seconds", "metrics", "texts"}
    assert set(item["citations"][0]) >= {"filename", "page", "verified"}
    assert set(system["groups"]["type"]) == {"fact", "person"}
    again = run("evaluate", "run", "answers", "--data", data, *LITERAL)
    assert (again.data["run"], again.data["systems"]) == (done.data["run"], done.data["systems"])
    new = run("evaluate", "run", "answers", "--data", data, "--new", *LITERAL)
    assert new.data["run"] != done.data["run"]
    assert [i["answer"] for i in new.data["systems"][0]["items"]] == [i["answer"] for i in system["items"]]
    predictions = tmp_path / "out" / "bm25_windows_120_60.json"
    scored = run("evaluate", "answers", "--data", predictions, "--gold", tmp_path / "out" / "gold.json", "--json")
    again = scored.data["systems"][0]["metrics"]
    same = again.keys() & system["metrics"].keys()
    assert {"answer_f1", "citation_f1", "rouge_l"} <= same
    assert {name: again[name] for name in same} == {name: system["metrics"][name] for name in same}


def test_beta_encoder_and_what_was_trained_on_are_chosen_as_on_the_page(run, workspace, data, tmp_path):
    encoder = str(sentence_transformer(tmp_path))
    plain = ("evaluate", "run", "answers", "--data", data, *LITERAL)
    call = (*(one for one in plain if one != "--no-bertscore"), "--bertscore-encoder", encoder, "--beta", 2)
    usual, chosen = run(*plain).data, run(*call, "--trained-on").data
    assert chosen["settings"]["ROUGE-L"] == "β = 2"
    assert chosen["settings"]["BERTScore"].startswith(Path(encoder).name)
    gold = {one["id"]: one["answer"] for one in QUESTIONS}
    items = chosen["systems"][0]["items"]
    for item, other in zip(items, usual["systems"][0]["items"], strict=True):
        values = [rouge_l(item["answer"], [gold[item["id"]]], beta=beta) for beta in (2, 1)]
        assert [one["metrics"]["rouge_l"] for one in (item, other)] == pytest.approx(values)
    assert {item["metrics"]["bertscore_f1"] is None for item in items} == {False}
    with Services.open(workspace, BM25, FakeModels()) as services:
        options = services.evaluation.runs.get(LOCAL_OWNER, chosen["run"]).plan.options
    page = form(encoder=encoder, beta=2, trained_on=True).request(Session(LOCAL_OWNER, BM25)).options
    assert options.items() >= page.items() >= {"beta": "2", "bertscore_encoder": encoder, "trained_on": "yes"}.items()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_stops_and_the_same_command_goes_on(run, workspace, data, monkeypatch):
    shown = []

    def show(event):
        shown.append(event)
        if event.phase.endswith("question 2") and stops:
            stops.pop()
            others = set(threading.enumerate())
            os.kill(os.getpid(), signal.SIGINT)
            for thread in set(threading.enumerate()) - others:  # which tells the run to stop
                thread.join(10)

    monkeypatch.setattr("pdfqa_core.cli.terminal.show", show)
    stops = [True]
    call = ("evaluate", "run", "answers", "--data", data, *LITERAL)
    stopped = run(*call)
    assert stopped.status == 1
    assert stopped.data["error"]["what"].startswith("Stopped after 1 of 3 answers")
    assert "The same command goes on." in stopped.data["error"]["what"]
    shown.clear()
    done = run(*call)
    assert (done.status, len(done.data["systems"][0]["items"])) == (0, 3)
    asked = [event for event in shown if "question" in event.phase]
    assert [event.phase.split()[-1] for event in asked] == ["2", "3"]
    assert all(event.seconds_left > 0 for event in asked)  # at the pace of the first answer, then of this time


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("answers", "--data", "absent.json"), "absent.json"),
        (("conversations", "--data", "QUESTIONS", "--evidence", "recorded"), "no evidence called 'recorded'"),
        (("answers", "--data", "QUESTIONS", "--limit", "-1"), "--limit is -1"),
        (("answers", "--data", "QUESTIONS", "--system", "a: colour=red"), "'colour' is no setting"),
        (("answers", "--data", "QUESTIONS", "--retrievers", "guess"), "no retriever called 'guess'"),
        (("nothing", "--data", "QUESTIONS"), "invalid choice: 'nothing'"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(run, workspace, data, options, message):
    wrong = run("evaluate", "run", *(data if one == "QUESTIONS" else one for one in options), *LITERAL)
    assert wrong.status == 2
    assert message in wrong.data["error"]["what"]


@pytest.mark.parametrize(
    ("protocol", "rows", "message"),
    [
        ("answers", [{"question": "Who?"}], "bare.json: no question has a gold answer or a gold place"),
        ("conversations", [{"id": "a", "question": "Who?"}, {"question": "Why?", "follow_up_of": "a"}],
         "bare.json: no question has a gold answer or a gold place"),
        ("judge", [{"question": "Who?"}], "bare.json: no question has a gold answer"),
        ("entailment", [{"question": "Who?"}], "bare.json: no question has a gold answer"),
        ("refusal", [{"question": "Who?", "answer": "A diver."}], "bare.json: all questions are answerable"),
        ("asqa", [{"ambiguous_question": "Who?", "sample_id": 1}], "bare.json, row 1: qa_pairs is no list"),
        ("hotpotqa", [{"_id": "a", "question": "Who?", "context": []}], "bare.json, row 1: there is no answer"),
    ],
)  # fmt: skip
def test_a_file_without_gold_is_refused_before_anything_is_asked(run, workspace, write, protocol, rows, message):
    wrong = run("evaluate", "run", protocol, "--data", write("bare.json", rows), *LITERAL)
    assert (wrong.status, message in wrong.data["error"]["what"]) == (2, True), wrong.data
    assert wrong.data["error"]["hint"]
    assert "There are no runs yet" in run("evaluate", "runs").out


def test_runs_are_listed_named_taken_along_and_deleted(run, workspace, data, tmp_path):
    made = run("evaluate", "run", "answers", "--data", data, *LITERAL).data["run"]
    assert "There are no runs" not in run("evaluate", "runs").out
    assert run("evaluate", "runs", "rename", made[:8], "Mine").status == 0
    (listed,) = run("evaluate", "runs", "--json").data["runs"]
    assert (listed["id"], listed["name"], listed["done"], listed["state"]) == (made, "Mine", 3, "done")
    assert run("evaluate", "runs", "export", made, tmp_path / "run.zip").status == 0
    assert "**Measures.**" in run("evaluate", "runs", "methods", made).out
    assert run("evaluate", "runs", "delete", made, "--json").data["runs"] == []
    brought = run("evaluate", "runs", "import", tmp_path / "run.zip", "--json")
    assert (brought.data["run"], brought.data["runs"][0]["name"]) == (made, "Mine")
    assert "No run begins with 'x'" in run("evaluate", "runs", "delete", "x", "--json").data["error"]["what"]
    assert run("evaluate", "runs", "rename", made, "--json").status == 2


def test_stored_runs_are_compared(run, workspace, data, tmp_path):
    one = run("evaluate", "run", "answers", "--data", data, "--name", "first", *LITERAL)
    two = run("evaluate", "run", "answers", "--data", data, "--name", "second", "--chunker", "paragraphs", *LITERAL)
    ids = (one.data["run"], two.data["run"])
    done = run("evaluate", "compare", *ids, "--charts", tmp_path / "c.svg", "--json")
    assert done.status == 0
    names = [system["name"] for system in done.data["systems"]]
    assert names == ["first: bm25 · windows 120/60", "second: bm25 · paragraphs"]
    assert done.data["comparisons"][0]["baseline"] == names[0]
    assert b"<svg" in (tmp_path / "c.svg").read_bytes()
    wrong = run("evaluate", "compare", ids[0], "zzz", "--json")
    assert (wrong.status, "No run begins" in wrong.data["error"]["what"]) == (2, True)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 100 MB, a question per line with its passage."""
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    words, number = " ".join(f"word{number}" for number in range(120)), 0
    with path.open("w") as file:
        while file.tell() < 100_000_000:
            for _ in range(1_000):
                row = {"id": f"q{number}", "question": f"What is paid in plan {number}?", "answer": f"visits {number}",
                       "contexts": [f"The plan {number} pays visits {number}. {words}"]}  # fmt: skip
                file.write(json.dumps(row) + "\n")
                number += 1
    return path


@pytest.mark.slow
def test_a_file_of_100_mb_is_drawn_from_in_little_memory(large, tmp_path):
    script = (
        "import resource, sys; from pdfqa_core.cli import main; status = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr); sys.exit(status)"
    )
    call = ("evaluate", "run", "answers", "--data", large, "--limit", "5", "--evidence", "given", *LITERAL)
    done = subprocess.run(
        [sys.executable, "-c", script, *call], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2], env={**os.environ, "PDFQA_WORKSPACE": str(tmp_path / "workspace")}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (system,) = json.loads(done.stdout)["systems"]
    assert [item["answer"].startswith("The plan") for item in system["items"]] == [True] * 5
    assert int(done.stderr.split()[-1]) < 2_000


def test_a_file_above_the_limit_is_refused_with_its_size(run, empty, tmp_path):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(OWNERS.text + FILE_MB)
    wrong = run("evaluate", "run", "answers", "--data", path, *LITERAL)
    assert (wrong.status, wrong.data["error"]["what"]) == (2, "huge.jsonl has 1001 MB; the limit is 1000 MB.")
