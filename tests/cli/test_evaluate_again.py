"""What `evaluate run --out` writes is scored again by `evaluate answers`, for every protocol with the same numbers."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager

import pytest

from pdfqa_core.services.evaluation import EvaluationService
from tests.conftest import FakeLLM
from tests.protocols.test_data_sets import ASQA, HOTPOT
from tests.services.test_runs import QUESTIONS

LITERAL = ("--retriever", "bm25", "--reader", "extractive", "--confidence-threshold", "0")
REFUSED = {"id": "r", "question": "How many seabirds were counted?", "answerable": False}
RECORDED = [
    {"id": str(n), "question": "What is paid?", "truth": "The visits.", "human": bool(n % 2),
     "answer": "The plan pays the visits." if n % 2 else "A dog pays.", "contexts": ["The plan pays the visits."]}
    for n in range(6)
]  # fmt: skip
HOTPOTS = [
    {**HOTPOT[0], "_id": str(n), "question": "Who sang the anthem in Oslo?", "answer": "Ann",
     "context": [["Ann", ["Ann sang the anthem in Oslo. ", "She was ten."]], ["Bo", ["Bo went home."]]],
     "supporting_facts": [["Ann", 0], ["Bo", n]]}
    for n in range(2)
]  # fmt: skip


class Scoring(FakeLLM):
    """Tags every statement, says Yes to what holds "visits" twice, and fails on nothing."""

    def write(self, schema, stop):
        if schema is None or "statements" not in schema["properties"]:
            yield "{}"
            return
        names = schema["properties"]["statements"]["items"]["properties"]["statement"].get("enum", ["no part of it"])
        tags = [{"statement": one, "tag": "NEUT" if "dog" in one else "ENT"} for one in names]
        yield json.dumps({"statements": tags})

    def choose(self, messages, choices, *, stop=None):
        yes = 0.8 if messages[-1].content.count("visits") > 1 else 0.3
        return {choice: yes if choice == "Yes" else 1 - yes for choice in choices}


@pytest.fixture
def model(monkeypatch):
    """A language model for scoring, in runs and for files."""
    llm = Scoring()

    @contextmanager
    def opened(arguments):
        yield llm

    monkeypatch.setattr(EvaluationService, "_language_model", lambda self: llm)
    monkeypatch.setattr("pdfqa_core.cli.evaluate.files.language_model", opened)
    return llm


@pytest.fixture
def both(run, workspace, write, tmp_path):
    """Run a protocol and score its files again; returns what both say of the systems, by their places."""

    def go(protocol, rows, *options, asked=LITERAL, scoring=("--no-bertscore",)):
        data = write("data.json", rows)
        out = tmp_path / "out"
        first = run("evaluate", "run", protocol, "--data", data, "--out", out, *asked, *options, *scoring, "--json")
        assert first.status == 0, first.data
        files = [path for path in sorted(out.glob("*.json")) if path.name != "gold.json"]
        given = [part for path in files for part in ("--data", path)]
        second = run("evaluate", "answers", *given, "--gold", out / "gold.json", *scoring, "--json")
        assert second.status == 0, second.data
        return first.data, second.data

    return go


def measured(found):
    """Return what was measured of each system by the name of its file: means with their intervals, items, groups."""
    return {
        re.sub(r"[^\w.-]+", "_", system["name"]): {
            "metrics": system["metrics"], "groups": system.get("groups"),
            "items": [{key: item.get(key) for key in ("id", "metrics", "texts", "seconds", "answer", "refused")}
                      for item in system["items"]],
        }
        for system in found["systems"]
    }  # fmt: skip


CALLS = {
    "answers": ([*QUESTIONS, REFUSED], ()),
    "conversations": (QUESTIONS, ("--history", "gold,predicted")),
    "asqa": (ASQA, ("--evidence", "search")),
    "hotpotqa": (HOTPOTS, ("--evidence", "given,search")),
    "refusal": ([*QUESTIONS, REFUSED], ()),
    "entailment": (RECORDED, ()),
    "judge": (RECORDED, ()),
}
MEASURES = {
    "answers": {"answer_f1", "rouge_l", "citation_f1", "insufficient_context_detection", "HR@1", "HR@5"},
    "conversations": {"answer_f1", "citation_f1", "HR@1"},
    "asqa": {"str_em", "rouge_l", "rouge_l_sum", "disambig_f1", "dr", "dr_rouge_l"},
    "hotpotqa": {"answer_f1", "citation_f1", "official_answer_f1", "sp_f1", "joint_f1"},
    "refusal": {"refusal_recall", "answered", "answer_f1"},
    "entailment": {"entailment_context_answer", "entailment_gold_answer", "entailment_answer_gold", "answer_refusal"},
    "judge": {"llm_accuracy", "judge_probability"},
}


SEED = ("--profile", "seed")


@pytest.mark.parametrize(("protocol", "profile"), [*((one, ()) for one in CALLS), ("answers", SEED), ("asqa", SEED)])
def test_every_protocol_is_scored_again_with_the_same_numbers(both, model, protocol, profile):
    rows, options = CALLS[protocol]
    first, second = both(protocol, rows, *options, *profile)
    assert MEASURES[protocol] <= set(first["systems"][0]["metrics"])
    assert measured(second) == measured(first)
    assert second["protocol"] == first["protocol"]
    assert second["settings"]["profile"] == first["settings"]["profile"]


def test_the_options_of_the_source_of_asqa_name_the_same_as_ours(run, write):
    data = write("data.json", [*ASQA, {**ASQA[0], "sample_id": "another"}])
    call = ("evaluate", "run", "asqa", "--data", data, "--evidence", "none", "--estimate", "--json")
    assert run(*call, "--max-num-examples", "1", "--max-new-tokens", "9").data["estimate"]["questions"] == 1
    wrong = run(*call, "--max-new-tokens", "0")
    assert (wrong.status, "llm.max_tokens" in wrong.data["error"]["what"]) == (2, True)


def test_supporting_facts_stand_in_the_files_and_count(both, run, tmp_path):
    first, _ = both("hotpotqa", HOTPOTS)
    assert first["systems"][0]["metrics"]["sp_f1"]["mean"] > 0
    (path,) = (one for one in (tmp_path / "out").glob("*.json") if one.name != "gold.json")
    rows = json.loads(path.read_text())
    assert ["Ann", 0] in rows[0]["supporting_facts"]
    rows[0]["supporting_facts"] = [["Ann", 0], ["Bo", 0]]
    path.write_text(json.dumps(rows))
    call = ("evaluate", "answers", "--data", path, "--gold", tmp_path / "out" / "gold.json", "--json")
    assert run(*call).data["systems"][0]["items"][0]["metrics"]["sp_f1"] == 1.0
    rows[0]["supporting_facts"] = [["Ann", "first"]]
    path.write_text(json.dumps(rows))
    wrong = run(*call)
    assert (wrong.status, "row 1: supporting_facts.0.1" in wrong.data["error"]["what"]) == (2, True)


def test_bertscore_is_computed_again(both):
    first, second = both("conversations", QUESTIONS, scoring=())
    assert first["systems"][0]["metrics"]["bertscore_f1"]["n"] == 3
    assert set(first["systems"][0]["groups"]["turn"]) == {"1", "2"}
    assert measured(second) == measured(first)
    assert second["settings"]["BERTScore"] == first["settings"]["BERTScore"]
