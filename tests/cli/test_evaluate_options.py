"""Options of `pdfqa evaluate` that choose models, seeds and how something is counted, with tiny models."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from pdfqa_core.services.runs import RunService
from tests.cli.test_evaluate_answers import GOLD, PREDICTIONS
from tests.conftest import FakeLLM
from tests.retrieval.tiny_models import bert_with, sentence_transformer
from tests.services.test_runs import QUESTIONS

LITERAL = (
    "--retriever", "bm25", "--reader", "extractive", "--confidence-threshold", "0", "--no-bertscore", "--json",
)  # fmt: skip
ROW = {
    "ambiguous_question": "Who paid the plan?", "sample_id": 1,
    "qa_pairs": [{"question": "Who?", "short_answers": ["Ann Lee"]}],
    "annotations": [{"long_answer": "It was Ann Lee."}],
    "answers": ["the plan is paid by Ann Lee, by Ann Lee, by Bo Chan"],
}  # fmt: skip


@pytest.fixture(scope="module")
def ner(tmp_path_factory):
    """A model that takes every token for the beginning of a person's name."""
    import torch
    from transformers import AutoModelForTokenClassification

    labels = {0: "B-PER", 1: "O"}
    folder = bert_with(
        "BertForTokenClassification", tmp_path_factory.mktemp("ner"), id2label=labels,
        label2id={name: number for number, name in labels.items()},
    )  # fmt: skip
    model = AutoModelForTokenClassification.from_pretrained(folder)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([1.0, 0.0]))
    model.save_pretrained(folder)
    return folder


def asqa(run, data, *options):
    found = run("evaluate", "asqa", "--data", data, *options, "--json")
    assert found.status == 0, found.err
    return found.data["systems"][0]["metrics"], found.data["settings"]


def test_entities_are_found_by_the_model_that_is_named(run, write, ner):
    data = write("rows.json", [ROW])
    by_rule, said = asqa(run, data)
    assert said["entities"].startswith("found by rule")
    by_model, said = asqa(run, data, "--ner", ner)
    assert said["entities"] == f"found by {ner}"
    # Names by rule: Ann Lee twice and Bo Chan. The model takes each word for a name, so precision is another.
    assert by_rule["disambig_f1"]["mean"] != by_model["disambig_f1"]["mean"]
    failed = run("evaluate", "asqa", "--data", data, "--ner", data.parent / "none", "--json")
    assert failed.status != 0
    assert "none" in failed.data["error"]["what"]


def test_entities_count_once_where_that_is_asked_for(run, write):
    data = write("rows.json", [ROW])
    every, said = asqa(run, data)
    assert "each once" not in said["entities"]
    once, said = asqa(run, data, "--entity-sets")
    assert said["entities"].endswith("; each once")
    # Gold: Ann Lee. Answer: Ann Lee, Ann Lee, Bo Chan: F1 1/2 with each, 2/3 once.
    assert every["disambig_f1"]["mean"] == pytest.approx(0.5)
    assert once["disambig_f1"]["mean"] == pytest.approx(2 / 3)


def test_answers_are_read_by_the_model_that_is_named(run, write, tmp_path_factory):
    folder = bert_with("BertForQuestionAnswering", tmp_path_factory.mktemp("qa"), seed=3)
    data = write("rows.json", [ROW])
    read, said = asqa(run, data, "--disambig", "qa", "--qa-model", folder)
    assert said["read by"] == folder.name
    assert said["Disambig-F1"] == "mode qa"
    both, said = asqa(run, data, "--disambig", "both", "--qa-model", folder)
    assert both["disambig_f1"] == read["disambig_f1"]
    assert both["disambig_f1_entities"]["mean"] == pytest.approx(0.5)


def test_a_part_of_the_official_file_is_chosen(run, write):
    row = {name: value for name, value in ROW.items() if name not in ("sample_id", "answers")}
    official = {"dev": {"7": row}, "train": {"8": row}}
    gold = write("ASQA.json", official)
    answers = write("answers.json", {"8": "Ann Lee."})
    found = run("evaluate", "asqa", "--data", answers, "--gold", gold, "--split", "train", "--json")
    assert found.status == 0, found.data
    assert [item["id"] for item in found.data["systems"][0]["items"]] == ["8"]
    assert run("evaluate", "asqa", "--data", answers, "--gold", gold, "--json").status == 2


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


def test_bertscore_is_of_the_encoder_weights_and_baseline_that_are_named(run, write, tmp_path):
    encoder = sentence_transformer(tmp_path)
    texts = ["the plan is covered", "a vaccine is paid", "the office visit"]
    gold = write("gold.json", [{"answer": text} for text in texts])
    data = write("data.json", [{"answer": text} for text in ("the plan is paid", "a vaccine", "the office visit")])
    call = ("evaluate", "answers", "--data", data, "--gold", gold, "--measures", "answer_f1", "--bertscore",
            "--bertscore-encoder", encoder, "--json")  # fmt: skip

    def f1(*options):
        found = run(*call, *options)
        assert found.status == 0, found.err
        return [item["metrics"]["bertscore_f1"] for item in found.data["systems"][0]["items"]], found.data["settings"]

    plain, said = f1()
    assert plain[2] == pytest.approx(1)
    assert plain[0] < 1
    assert encoder.name in json.dumps(said)
    weighted, _ = f1("--bertscore-idf")
    assert weighted[0] != pytest.approx(plain[0])
    rescaled, _ = f1("--bertscore-baseline", "0.2", "0.2", "0.2")
    assert rescaled[0] == pytest.approx((plain[0] - 0.2) / 0.8)


def test_unanswerable_questions_stand_beside_the_others(run, workspace, write):
    data = write("questions.json", QUESTIONS)
    more = write("unanswerable.json", [{"question": "How many seabirds were counted?"}])
    done = run("evaluate", "run", "refusal", "--data", data, "--unanswerable", more, *LITERAL)
    assert done.status == 0, done.err
    (system,) = done.data["systems"]
    assert len(system["items"]) == len(QUESTIONS) + 1
    recall = system["metrics"]["refusal_recall"]
    assert (recall["mean"], recall["n"], recall["unscored"]) == (0.0, 1, len(QUESTIONS))


def test_a_system_that_draws_nothing_is_asked_once(run, workspace, write):
    data = write("questions.json", QUESTIONS)
    done = run("evaluate", "run", "answers", "--data", data, "--repeats", "2", *LITERAL)
    assert done.status == 0, done.err
    assert [len(system["items"]) for system in done.data["systems"]] == [len(QUESTIONS)]
    again = run("evaluate", "run", "answers", "--data", data, "--retry-failures", *LITERAL)
    assert (again.status, again.data["systems"]) == (0, done.data["systems"])


def test_the_history_is_the_one_that_was_asked_for(run, workspace, write):
    data = write("questions.json", QUESTIONS)
    call = ("evaluate", "run", "conversations", "--data", data)
    done = run(*call, "--history", "gold,predicted", *LITERAL)
    assert done.status == 0, done.err
    names = [system["name"] for system in done.data["systems"]]
    assert len(names) == 2
    assert ["gold" in name for name in names] == [True, False], names
    wrong = run(*call, "--history", "guessed", *LITERAL)
    assert (wrong.status, "guessed" in wrong.data["error"]["what"]) == (2, True)


def test_asqa_as_in_the_sources(run, write):
    data = write("rows.json", [ROW])
    usual, said = asqa(run, data)
    assert (said["profile"], list(usual)[1]) == ("default", "rouge_l_sum")
    seed, said = asqa(run, data, "--profile", "seed")
    assert said["entities"].endswith("; each once")
    assert (said["profile"], list(seed)[1]) == ("as in the sources", "rouge_l")
    assert seed["disambig_f1"]["mean"] == pytest.approx(2 / 3)
    assert seed["dr_rouge_l"]["mean"] == pytest.approx((seed["rouge_l"]["mean"] * 2 / 3) ** 0.5)
    notes = [run("evaluate", "asqa", "--data", data, *options, "--json").data["notes"]
             for options in ((), ("--profile", "seed"))]  # fmt: skip
    assert [any("(--profile seed)" in note for note in one) for one in notes] == [True, False]
    assert any("--ner" in note for note in notes[1])


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
        (statement, *_) = schema["properties"]["statements"]["items"]["properties"]["statement"]["enum"]
        yield "?" if "Bananas" in statement else json.dumps({"statements": [{"statement": statement, "tag": "ENT"}]})


@pytest.fixture
def entailed(run, write, monkeypatch):
    """Run `evaluate entailment` on one answer; returns its measures, the settings and how often the model was asked."""
    row = {"id": "1", "question": "Who pays?", "context": "The plan pays.", "ground_truth": "The plan pays.",
           "answer": "The plan pays for all visits\n\nBananas are yellow and sweet."}  # fmt: skip
    data = write("rows.json", [row])

    def go(*options):
        llm = Tagging()
        monkeypatch.setattr("pdfqa_core.cli.evaluate.entailment.language_model", lambda given: nullcontext(llm))
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
    assert (said["sentences"], asked, said["profile"]) == ("NLTK's", 3, "as in the sources")


def test_a_blank_line_ends_no_sentence_of_nltk(entailed):
    _, _, asked = entailed()
    _, said, plain = entailed("--plain-sentences")
    # The answer is a hypothesis twice, of two sentences or of one; the gold answer once.
    assert (asked, plain) == (5, 3)
    assert said["sentences"] == "NLTK's"


LABELLED = [
    {"id": str(n), "question": "What is paid?", "truth": "the visits", "human": bool(n % 2),
     "answer": "paid are visits" if n % 2 else "a dog"} for n in range(12)
]  # fmt: skip


@pytest.fixture
def judge():
    """A language model that tells right answers from wrong ones; what it was asked is in `asked`."""
    llm = FakeLLM()
    llm.stream = pytest.fail
    llm.asked = []

    def choose(messages, choices, *, stop=None):
        llm.asked.append(messages[-1].content)
        yes = 0.9 if "paid are visits" in llm.asked[-1] else 0.6 if "seed" in llm.name else 0.1
        return {choice: yes if choice == "Yes" else 1 - yes for choice in choices}

    llm.choose = choose
    return llm


def test_the_judge_of_files_is_calibrated_on_labelled_rows_too(run, write, judge, monkeypatch):
    judge.name = "seed: says Yes to everything"
    monkeypatch.setattr("pdfqa_core.cli.evaluate.answers.language_model", lambda given: nullcontext(judge))
    data = write("answers.json", [{key: row[key] for key in ("id", "answer", "human")} for row in LABELLED])
    gold = write("gold.json", [{"id": row["id"], "question": row["question"], "answer": row["truth"]}
                               for row in LABELLED])  # fmt: skip
    call = ("evaluate", "answers", "--data", data, "--gold", gold, "--judge", "--json")
    plain = run(*call)
    assert plain.data["systems"][0]["metrics"]["llm_accuracy"]["mean"] == 1.0
    assert any("kappa 0.000" in note and "Balanced accuracy 0.500" in note for note in plain.data["notes"])
    strict = run(*call, "--judge-prompt", "strict", "--calibrate")
    assert strict.status == 0, strict.data
    assert "There is no text." in " ".join(judge.asked)
    assert "prompt “strict”" in strict.data["settings"]["judge"]
    assert "from 12 labelled rows" in strict.data["settings"]["judge’s threshold"]
    assert strict.data["systems"][0]["metrics"]["llm_accuracy"]["mean"] == 0.5
    assert any("kappa 1.000" in note and "Balanced accuracy 1.000" in note for note in strict.data["notes"])
    judge.asked.clear()
    few = write("few.json", [{"id": row["id"], "answer": row["answer"]} for row in LABELLED])
    wrong = run("evaluate", "answers", "--data", few, "--gold", gold, "--judge", "--calibrate", "--json")
    assert (wrong.status, wrong.data["error"]["what"].partition(":")[0]) == (2, "few")
    assert judge.asked == []


def test_the_judge_is_asked_as_named_and_calibrated_on_labelled_rows(run, write, workspace, judge, monkeypatch):
    rows, asked = LABELLED, judge.asked
    monkeypatch.setattr(RunService, "_language_model", lambda self: judge)
    data = write("judged.json", rows)
    call = ("evaluate", "run", "judge", "--data", data, "--no-bertscore", "--json")
    plain = run(*call)
    assert plain.status == 0, plain.err
    assert "prompt “seed”" in plain.data["settings"]["judge"]
    strict = run(*call, "--judge-prompt", "strict", "--calibrate")
    assert strict.status == 0, strict.err
    assert "prompt “strict”" in strict.data["settings"]["judge"]
    assert "There is no text." in " ".join(asked)
    assert strict.data["systems"][0]["metrics"]["llm_accuracy"]["mean"] == 0.5
    few = run("evaluate", "run", "judge", "--data", write("few.json", rows[:3]), "--calibrate", "--json")
    assert few.status != 0
    assert "cannot be calibrated" in few.data["error"]["what"]
