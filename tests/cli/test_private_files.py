"""What commands write into the workspace and the folder of models is the user's alone; elsewhere their umask holds."""

from __future__ import annotations

import os
import stat

import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Outcome, Store
from tests.retrieval.tiny_models import multi_vector_encoder
from tests.serving_fakes import PDF, QUESTIONS

RECIPE = ("--size", 60, "--step", 30, "--retriever", "bm25")
EXTRACTIVE = ("--reader", "extractive", "--refusal", "none")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights as of POSIX")


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022  # commands leave it as it was


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def seen_by_others(folder):
    return {path.relative_to(folder).as_posix(): oct(mode(path)) for path in (folder, *folder.rglob("*"))
            if mode(path) & 0o077 or mode(path) & 0o777 != (0o700 if path.is_dir() else 0o600)}  # fmt: skip


@pytest.mark.usefixtures("usual_umask")
def test_after_a_tour_of_commands_nobody_else_can_read_anything(empty, run, write, tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    workspace, models, out = empty, tmp_path / "models", tmp_path / "out"
    base = multi_vector_encoder(tmp_path)
    gold = write("gold.json", [{"id": "a", "question": QUESTIONS["q03"]["question"], "answer": "Every 15 minutes.",
                                "document": PDF.name, "page": 2}])  # fmt: skip
    run_data = ("--data", gold, *RECIPE, *EXTRACTIVE, "--no-bertscore")

    def succeeds(*arguments):
        done = run(*arguments)
        assert done.status == 0, (arguments, done.err)
        return done

    succeeds("ingest", PDF)
    succeeds("search", "How often are meters read?", *RECIPE)
    succeeds("ask", "How often are meters read?", *RECIPE, *EXTRACTIVE)
    succeeds("evaluate", "retrieval", "--data", gold, *RECIPE, "--trec", workspace / "exports" / "trec")
    succeeds("evaluate", "run", "answers", *run_data, "--out", out / "answers")
    succeeds("export", "conversations")
    succeeds("export", "conversations", "--output", out / "below" / "conversations.jsonl")
    succeeds("extract", PDF, "--to", "txt", "--output", workspace / "exports" / "text.txt")
    succeeds("study", "begin", "MaHuEval", "--evaluators", "Ada, Ben", "--conversations", "1",
             "--questions", write("questions.txt", "One?"))  # fmt: skip
    succeeds("synthesize", "--kind", "rules", "--passages", 0, "--questions", 2, *RECIPE)
    with Store.open(workspace) as store:
        for one in store.synthetic_questions.list(LOCAL_OWNER, [Outcome.NEW]):
            store.synthetic_questions.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    succeeds("train", "--kind", "late-interaction", "--base", base, "--device", "cpu", "--steps", 2, *RECIPE)
    succeeds("search", "meters", "--size", 60, "--step", 30, "--retriever", "late_interaction", "--late-model",
             "my-late-interaction")  # fmt: skip
    succeeds("tokens", "add", "a-program")
    assert seen_by_others(workspace) == {}
    assert {path.name for path in workspace.iterdir()} >= {"exports", "indexes", "pdfs", "run_data", "pdfqa.sqlite"}
    assert seen_by_others(models) == {}
    assert any(path.suffix == ".safetensors" for path in models.rglob("*"))
    assert mode(out / "below" / "conversations.jsonl") == 0o644
    assert {mode(out), mode(out / "below")} == {0o755}
