"""`pdfqa train` with a tiny model: what it tells, resume by the same command, use, evaluation, removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pdfqa_core.retrieval import onnx_graph
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Outcome, Store
from pdfqa_core.training import NOTHING_HELD_OUT
from tests.retrieval.tiny_models import multi_vector_encoder, sentence_transformer
from tests.serving_fakes import QUESTIONS

pytest.importorskip("sentence_transformers")
RECIPE = ("--size", 60, "--step", 30, "--retriever", "bm25")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return multi_vector_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def train(workspace, tmp_path, monkeypatch, base, run):
    """Give `pdfqa train` with questions that are made and accepted."""
    monkeypatch.setenv("PDFQA_MODELS", str(tmp_path / "models"))
    made = run("synthesize", "--kind", "rules", "--passages", 0, "--questions", 2, *RECIPE, "--json")
    assert made.status == 0, made.err
    with Store.open(workspace) as store:
        for one in store.synthetic_questions.list(LOCAL_OWNER, [Outcome.NEW]):
            store.synthetic_questions.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    own = ("--kind", "late-interaction", "--base", base, "--device", "cpu", "--steps", 3, "--evaluate-every", 3)
    return lambda *more: run("train", *own, "--learning-rate", "1e-3", *RECIPE, *more)


def test_a_model_is_trained_measured_used_and_removed(train, run, tmp_path):
    people = tmp_path / "people.jsonl"
    people.write_text("\n".join(json.dumps(one) for one in QUESTIONS.values()), encoding="utf-8")
    told = train("--estimate", "--json")
    assert told.status == 0, told.err
    assert told.data["estimate"]["seconds"] > 0
    assert "model" not in told.data
    found = train("--evaluate", people, "--json")
    assert found.status == 0, found.err
    model, scores = found.data["model"], found.data["scores"]["MRR"]
    assert (model["name"], model["setting"]) == ("my-late-interaction", "late_model")
    assert len(found.data["losses"]) == 6
    assert scores["after"]["mean"] - scores["before"]["mean"] == pytest.approx(scores["difference"]["mean"])
    assert found.data["evaluated"]["MRR"]["before"]["n"] > 0
    assert "## On people" in (Path(model["path"]) / "README.md").read_text("utf-8")
    use = ("--size", 60, "--step", 30, "--retriever", "late_interaction", "--late-model", model["name"])
    searched = run("search", "How often are meters read?", *use, "--json")
    assert searched.status == 0, searched.err
    assert searched.data["hits"]
    listed = run("models", "list", "--json").data["trained"]
    assert [(one["name"], one["kind"], one["active"]) for one in listed] == [(model["name"], model["kind"], False)]
    removed = run("models", "remove", model["name"])
    assert removed.status == 0, removed.err
    assert run("models", "list", "--json").data["trained"] == []


def test_what_is_trained_by_inner_product_on_all_questions_says_so_and_searches(train, run, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "")  # torch computes: graphs have tests of their own
    base, found = sentence_transformer(tmp_path), {}
    for kind in ("dpr", "bi-encoder"):
        told = train("--kind", kind, "--base", base, "--similarity", "dot", "--held-out", 0)
        assert told.status == 0, told.err
        assert told.out.count(NOTHING_HELD_OUT) == 2  # before the training, and of its result
        assert "HR@" not in told.out
        use = ("--size", 60, "--step", 30, "--retriever", "dense", "--embedding-model", f"my-{kind}")
        found[kind] = run("search", "How often are meters read?", *use, "--json").data["hits"]
        assert abs(found[kind][0]["score"]) > 1  # no cosine
    listed = run("models", "list", "--json").data["trained"]
    assert [(one["name"], one["helped"]) for one in listed] == [("my-bi-encoder", None), ("my-dpr", None)]
    assert train("--similarity", "dot").status == 2


def test_triples_leave_as_a_data_set(train, tmp_path):
    tsv, lines = tmp_path / "triples.tsv", tmp_path / "triples.jsonl"
    assert train("--triples", tsv).status == 0
    told = train("--triples", lines, "--json")
    rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert told.data["triples"] == len(rows) > 10
    assert all(row["positive"] != row["negative"] for row in rows)
    cells = [line.split("\t") for line in tsv.read_text(encoding="utf-8").splitlines()]
    assert cells == [[" ".join(row[name].split()) for name in ("query", "positive", "negative")] for row in rows]
    assert train("--triples", tmp_path / "triples.txt").status == 2


def test_without_accepted_questions_it_says_what_to_do(workspace, run):
    nothing = run("train", "--retriever", "bm25", "--json")
    assert nothing.status == 1
    assert nothing.data["error"]["what"] == "There is no accepted question to train with."
    assert "pdfqa synthesize" in nothing.data["error"]["hint"]
