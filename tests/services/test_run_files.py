"""The data of a run as it is kept: under the hash of its bytes, a BEIR folder as a ZIP."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.formats import read_asqa_answers
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.services.run_asking import RunFiles
from pdfqa_core.services.run_export import answer_files
from tests.conftest import FakeLLM
from tests.protocols.test_beir import folder_of, zip_of
from tests.services.helpers import LITERAL
from tests.services.test_runs import by_id, done, request


def test_a_beir_folder_is_kept_as_one_file_that_is_read_when_the_folder_is_gone(tmp_path):
    folder = folder_of(tmp_path / "tiny")
    kept, digest, name = RunFiles(tmp_path / "kept").kept(folder)
    assert (kept.suffix, name, len(digest)) == (".zip", "tiny", 64)
    assert RunFiles(tmp_path / "kept").kept(folder) == (kept, digest, name)
    with pytest.raises(UsageError, match="no BEIR data set"):
        RunFiles(tmp_path / "kept").kept(tmp_path / "kept")
    with pytest.raises(UsageError, match="is not there"):
        RunFiles(tmp_path / "kept").kept(tmp_path / "nothing.json")


def test_a_beir_data_set_is_run_as_a_folder_and_as_a_zip(services, tmp_path):
    for data in (folder_of(tmp_path / "tiny"), zip_of(tmp_path / "other.zip", "other/")):
        _, found = done(services, request("answers", data))
        assert by_id(found)["q1"].metrics["HR@1"] == 1.0
    assert [run.dataset for run in services.evaluation.list_runs(LOCAL_OWNER)] == ["other.zip", "tiny"]


def test_asqa_as_in_the_source_is_written_closed_book_after_examples_and_attached_to_the_rows(open_services, tmp_path):
    row = {
        "ambiguous_question": "Who sang it?", "sample_id": 7, "annotations": [{"long_answer": "Ann sang it, and Bo."}],
        "qa_pairs": [{"question": "Who sang it first?", "short_answers": ["Ann"], "context": "kept as it is"}],
    }  # fmt: skip
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(row) + "\n")
    written = "This question has 2 interpretations: (1) Bo? (2) Al? The answers to all interpretations are: (1) Ann did"
    llm = FakeLLM()
    llm.enqueue([f"{written}\n\nGiven an ambiguous question, Bo"])
    services = open_services(LITERAL, llm)
    evaluation, request = services.evaluation, RunRequest("asqa", data, {"closed": LITERAL}, profile="seed")
    run = evaluation.begin(LOCAL_OWNER, request)
    *_, found = evaluation.go(LOCAL_OWNER, run.id)
    (asked,) = llm.history
    assert asked[0].content.count("Question: ") == 9  # eight examples before it, nothing that was searched
    assert asked[0].content.endswith("Question: Who sang it?\nAnswer:")
    (item,) = found.systems[0].items
    assert (item.metrics["str_em"], item.metrics["rouge_l"]) == (1.0, pytest.approx(2 / 7))
    files = answer_files(run, evaluation.cases(LOCAL_OWNER, run.plan), evaluation.runs.predictions(LOCAL_OWNER, run.id))
    (name,) = (one for one in files if one.endswith(".jsonl"))
    made = json.loads(files[name])
    assert name == f"{made['model']}.jsonl"
    assert made.items() >= {**row, "answers": "Ann did"}.items()
    assert made["responses"].startswith("This question has 2")
    again = tmp_path / name
    again.write_bytes(files[name])
    assert read_asqa_answers(again) == {"7": "Ann did"}
