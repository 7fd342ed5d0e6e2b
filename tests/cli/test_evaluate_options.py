"""Options of `pdfqa evaluate` that choose models, seeds and how something is counted, with tiny models."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from tests.cli.test_evaluate_answers import GOLD, PREDICTIONS
from tests.conftest import FakeLLM
from tests.retrieval.tiny_models import sentence_transformer

ROW = {
    "ambiguous_question": "Who paid the plan?", "sample_id": 1,
    "qa_pairs": [{"question": "Who?", "short_answers": ["Ann Lee"]}],
    "annotations": [{"long_answer": "It was Ann Lee."}],
    "answers": ["the plan is paid by Ann Lee, by Ann Lee, by Bo Chan"],
}  # fmt: skip


def asqa(run, data, *options):
    found = run("evaluate", "asqa", "--data", data, *options, "--json")
    assert found.status == 0, found.err
    return found.data["systems"][0]["metrics"], found.data["settings"]


def test_entities_count_once_where_that_is_asked_for(run, write):
    data = write("rows.json", [ROW])
    every, said = asqa(run, data)
    assert "each once" not in said["entities"]
    once, said = asqa(run, data, "--entity-sets")
    assert said["entities"].endswith("; each once")
    notes = [run("evaluate", "asqa", "--data", data, *more).out for more in ((), ("--entity-sets",))]
    assert ["entities count as often as they occur" in one for one in notes] == [True, False]
    # Gold: Ann Lee. Answer: Ann Lee, Ann Lee, Bo Chan: F1 1/2 with each, 2/3 once.
    assert every["disambig_f1"]["mean"] == pytest.approx(0.5)
    assert once["disambig_f1"]["mean"] == pytest.approx(2 / 3)


def test_stems_and_seeds_are_those_that_were_asked_for(run, write, tmp_path):
    gold = write("gold.json", [{"answer": "the visits are covered"}, *GOLD])
    data = write("data.json", [{"answer": "the visit is covered"}, *PREDICTIONS])
    call = ("evaluate", "answers", "--data", data, "--gold", gold, "--json")
    plain, stemmed = run(*call).data, run(*call, "--stemming").data
    first = [one["systems"][0]["items"][0]["metrics"]["rouge_l"] for one in (plain, stemmed)]
    assert first == pytest.approx([0.5, 0.75])
    assert (plain["settings"]["ROUGE-L"], stemmed["settings"]["ROUGE-L"]) == (
        "β = 1, no stemming",
        "β = 1, Porter stems",
    )
    values = [
        run(*call, "--bootstrap-seed", seed).data["systems"][0]["metrics"]["answer_f1"] for seed in ("0", "0", "9")
    ]
    assert values[0] == values[1] != values[2]
    assert values[0]["mean"] == values[2]["mean"]
    table = tmp_path / "table.tex"
    assert run(*call[:-1], "--latex", table).status == 0
    assert r"\toprule" in table.read_text()


def test_answers_as_in_the_sources(run, write, tmp_path):
    encoder = sentence_transformer(tmp_path)
    gold = write("gold.json", [{"answer": "the plan is covered"}, {"answer": "a vaccine is paid"}])
    data = write("data.json", [{"answer": "the plan is paid"}, {"answer": "a vaccine"}])
    call = ("evaluate", "answers", "--data", data, "--gold", gold, "--bertscore", "--bertscore-encoder", encoder)
    usual = run(*call, "--json").data
    seed = run(*call, "--profile", "seed", "--json").data
    assert (usual["settings"]["profile"], seed["settings"]["profile"]) == ("default", "as in the sources")
    assert seed["settings"]["BERTScore"].endswith("idf, inner products")
    one, other = (found["systems"][0]["metrics"] for found in (usual, seed))
    assert (one["citation_f1"]["mean"], one["insufficient_context_detection"]["n"]) == (None, 0)
    assert (other["citation_f1"]["mean"], other["insufficient_context_detection"]["mean"]) == (1.0, 0.0)
    assert one["bertscore_f1"]["mean"] != other["bertscore_f1"]["mean"]
    told = [note.partition(":")[0] for note in usual["notes"]]
    assert told == ["BERTScore", "Citations", "Insufficient context"]
    assert seed["notes"] == []


class Tagging(FakeLLM):
    """Finds that every segment is entailed; of one about bananas it says nothing that can be used."""

    def write(self, schema, stop):
        (statement, *_) = schema["properties"]["statements"]["items"]["properties"]["statement"].get("enum", ["no"])
        yield "?" if "Bananas" in statement else json.dumps({"statements": [{"statement": statement, "tag": "ENT"}]})


@pytest.fixture
def entailed(run, write, monkeypatch):
    """Run `evaluate entailment` on one answer; returns its measures, the settings and how often the model was asked."""
    row = {"id": "1", "question": "Who pays?", "context": "The plan pays.", "ground_truth": "The plan pays.",
           "answer": "The plan pays for all visits\n\nBananas are yellow and sweet."}  # fmt: skip
    data = write("rows.json", [row])

    def go(*options):
        llm = Tagging()
        monkeypatch.setattr("pdfqa_core.cli.evaluate.files.language_model", lambda given: nullcontext(llm))
        found = run("evaluate", "entailment", "--data", data, "--no-pronouns-and-refusals", *options, "--json")
        assert found.status == 0, found.err
        return found.data["systems"][0]["metrics"], found.data["settings"], len(llm.history)

    return go


def test_a_segment_without_a_usable_reply_is_left_out_or_counts_as_zero(entailed):
    left, said, _ = entailed()
    assert (left["entailment_context_answer"]["mean"], said["segments without a usable reply"]) == (1, "left out")
    assert "refusal" not in " ".join(left)
    assert said["pronouns and refusals"] == "unchanged, not told"
    zero, said, _ = entailed("--unusable-as-zero")
    assert (zero["entailment_context_answer"]["mean"], said["segments without a usable reply"]) == (0.5, "count as 0")


def test_entailment_as_in_the_sources(entailed):
    seed, said, asked = entailed("--profile", "seed")
    assert (seed["entailment_context_answer"]["mean"], said["segments without a usable reply"]) == (0, "count as 0")
    assert (said["sentences"], asked, said["profile"]) == ("NLTK's", 6, "as in the sources")
