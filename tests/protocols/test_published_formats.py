"""ASQA, HotpotQA and entailment: the files as they are published, the values, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.metrics.entailment import Hypothesis, Statement, Tag
from pdfqa_core.protocols import Tools, asqa, entailment, hotpotqa, run_protocols
from pdfqa_core.protocols.base import DEFAULT

QUESTION = {
    "ambiguous_question": "Who sang The Sound of Silence?",
    "qa_pairs": [
        {"question": "Who sang it in 1964?", "short_answers": ["Simon & Garfunkel", "Paul Simon"]},
        {"question": "Who sang it in 2015?", "short_answers": ["Disturbed"]},
    ],
    "annotations": [
        {"long_answer": "Simon & Garfunkel sang it in 1964. Disturbed sang it in 2015."},
        {"long_answer": "It was sung by Disturbed in 2015."},
    ],
    "sample_id": 7089015503030534144,
}
NAME = "7089015503030534144"


@pytest.fixture
def write(tmp_path):
    """Write a value as JSON, or text and bytes as they are."""

    def go(value, name="file.json"):
        path = tmp_path / name
        data = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
        path.write_bytes(data)
        return path

    return go


def scored(protocol, cases, answers, tools=None):
    """Score answers by id."""
    given = {key: Prediction(key, text) for key, text in answers.items()}
    return run_protocols.get(protocol).score("s", cases, given, tools or Tools())


def of_files(protocol, path, tools):
    """Score a file in the form of its data set, which brings its gold."""
    found = run_protocols.get(protocol).published(None, {"s": path}, {})
    own = {item: one for (_, item), one in found.predictions.items()}
    return run_protocols.get(protocol).score("s", found.file.cases, own, tools)


# ------------------------------------------------------------------ ASQA


def test_asqa_is_read_in_every_published_form(write):
    forms = (
        [QUESTION],
        json.dumps(QUESTION),
        {"dev": {NAME: {key: value for key, value in QUESTION.items() if key != "sample_id"}}, "train": {}},
        json.dumps({NAME: QUESTION}, indent=1),
    )
    for form in forms:
        (question,) = asqa.read_questions(write(form))
        assert question.id == NAME
        assert [len(short) for _, short in question.pairs] == [2, 1]
        assert len(question.references) == 2
    (carried,) = asqa.read_questions(write([{**QUESTION, "answers": ["Disturbed"]}]))
    assert carried.recorded == "Disturbed"
    for answers in ({NAME: "x"}, [{"id": NAME, "answer": "x"}], [{"sample_id": int(NAME), "output": ["x"]}]):
        assert asqa.read_asqa_answers(write(answers)) == {NAME: "x"}


def test_asqa_values_and_dr_over_the_set(write):
    second = {**QUESTION, "sample_id": "two"}
    gold = asqa.read_questions(write([QUESTION, second]))
    answers = {NAME: "Disturbed sang it in 2015.", "two": "Nobody knows."}
    asked = []

    def read(question: str, text: str) -> str:
        asked.append((question, text))
        return "Disturbed" if "Disturbed" in text else ""

    system = scored("asqa", gold, answers, Tools(read=read))
    first, other = (item.metrics for item in system.items)
    assert first["str_em"] == 0.5
    assert first["rouge_l_sum"] == pytest.approx(10 / 16)  # P 5 of 5 words, R 5 of 11 of the first
    assert first["disambig_f1"] == 0.5  # the answer read fits one of the two questions
    assert first["disambig_f1_entities"] == 1.0  # Disturbed and 2015 are in both texts, nothing else in the second
    assert other["str_em"] == other["disambig_f1"] == 0.0
    assert [question for question, _ in asked[:2]] == ["Who sang it in 1964?", "Who sang it in 2015?"]
    evaluation = Evaluation("asqa", "gold", run_protocols.get("asqa").measures([system], Tools()), (system,))
    table = compare(evaluation)
    means = {name: cell.summary.mean for name, cell in table.cells["s"].items()}
    assert means["dr"] == pytest.approx(sqrt(means["rouge_l_sum"] * means["disambig_f1"]))
    by_entities = scored("asqa", gold, answers)
    assert by_entities.items[0].metrics["disambig_f1"] == 1.0
    assert "disambig_f1_entities" not in by_entities.items[0].metrics


def test_entities_by_rule_are_names_and_numbers():
    text = "The song by Paul Simon and Art Garfunkel came out on 17 January 1966. It sold 1,000,000 in the U.S."
    found = asqa.names_and_numbers(text)
    assert "1966" in found
    assert "1,000,000" in found
    assert "Paul Simon and Art Garfunkel" in found
    assert not {"The", "It"} & set(found)
    assert asqa.names_and_numbers("") == []


def test_a_language_model_reads_a_few_words_or_none(fake_llm):
    fake_llm.enqueue(["Simon & Garfunkel\nbecause", "None."])
    read = asqa.ReadingLLM(fake_llm)
    assert read("Who?", "some text") == "Simon & Garfunkel"
    assert read("Who?", "some text") == ""
    assert "some text" in fake_llm.history[0][0].content


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ([], "holds no questions"),
        ([1], "row 1: not an object"),
        ([{**QUESTION, "qa_pairs": []}], "row 1: qa_pairs is no list"),
        ([{**QUESTION, "qa_pairs": [{"short_answers": "x"}]}], "row 1: a pair has no list of short_answers"),
        ([{**QUESTION, "annotations": [{}]}], "row 1: an annotation has no long_answer"),
        ([{**QUESTION, "sample_id": None}], "row 1: there is no sample_id"),
        ([QUESTION, QUESTION], "row 2: the id '7089015503030534144' is used in row 1"),
        ([{**QUESTION, "answers": ["a", "b"]}], "row 1: the answer is list"),
        ({"train": {NAME: QUESTION}}, "no split called 'dev'"),
        ('{"dev": {"a": 1, "a": 2}}', "'a' is there twice"),
        ("", "is empty"),
    ],
)
def test_wrong_asqa_rows_are_named(write, gold, message):
    with pytest.raises(UsageError) as caught:
        asqa.read_questions(write(gold))
    assert message in caught.value.what


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({NAME: 1}, "the answer is int"),
        ([{"id": "a"}], "row 1: there is no answer"),
        ([{"answer": "a"}], "row 1: there is no id"),
        ([{"id": "a", "answer": "b"}] * 2, "row 2: the id 'a'"),
        ([], "holds no answers"),
    ],
)
def test_wrong_asqa_answers_are_named(write, answers, message):
    with pytest.raises(UsageError) as caught:
        asqa.read_asqa_answers(write(answers))
    assert message in caught.value.what


def test_asqa_answers_and_questions_must_be_the_same_items(write):
    gold, published = write([QUESTION], "gold.json"), run_protocols.get("asqa").published
    with pytest.raises(UsageError, match="s: there is no answer with the id '7089015503030534144'"):
        published(gold, {"s": write({"c": "d"})}, {})
    with pytest.raises(UsageError, match="s: there is no question with the id 'b'"):
        published(gold, {"s": write({NAME: "a", "b": "c"})}, {})


# ------------------------------------------------------------------ HotpotQA

ROWS = [
    {"_id": "a", "question": "Are both Dutch?", "answer": "yes", "supporting_facts": [["A", 0], ["B", 1]]},
    {"_id": "b", "question": "Who?", "answer": "the Marvel Comics", "supporting_facts": [["C", 0]]},
]


@pytest.fixture
def official(write):
    """Score predictions in the official format."""

    def go(given, missing="error"):
        protocol, data = run_protocols.get("hotpotqa"), {"mine": write(given, "mine.json")}
        found = protocol.published(write(ROWS, "gold.json"), data, {"missing": missing})
        own = {item: one for (_, item), one in found.predictions.items()}
        return protocol.score("mine", found.file.cases, own, Tools(published=True))

    return go


def test_hotpotqa_scores_answers_facts_and_both(official):
    given = {"answer": {"a": "Yes, they were", "b": "Marvel"}, "sp": {"a": [["A", 0]], "b": [["C", 0], ["D", 2]]}}
    system = official(given)
    first, second = (item.metrics for item in system.items)
    assert system.name == "mine"
    assert (first["answer_em"], first["answer_f1"]) == (0.0, 0.0)  # yes must match as a whole
    assert (first["sp_precision"], first["sp_recall"], first["joint_f1"]) == (1.0, 0.5, 0.0)
    assert second["answer_f1"] == pytest.approx(2 / 3)
    assert (second["answer_precision"], second["answer_recall"]) == (1.0, 0.5)
    assert (second["sp_em"], second["sp_precision"], second["sp_recall"]) == (0.0, 0.5, 1.0)
    assert (second["joint_precision"], second["joint_recall"], second["joint_f1"]) == (0.5, 0.5, 0.5)
    assert set(first) == set(hotpotqa.MEASURES)


def test_questions_without_a_prediction_are_an_error_zero_or_unscored(official):
    given = {"answer": {"a": "yes"}, "sp": {"a": [["A", 0], ["B", 1]]}}
    with pytest.raises(UsageError, match="answer has no prediction for 'b'") as caught:
        official(given)
    assert "--missing" in caught.value.hint
    for missing, value in ((hotpotqa.Missing.ZERO, 0.0), (hotpotqa.Missing.UNSCORED, None)):
        found = official(given, missing.value).items
        assert set(found[0].metrics.values()) == {1.0}
        assert set(found[1].metrics.values()) == {value}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no JSON object"),
        ({}, "has no answers"),
        ({"answer": {"a": 1}}, "a: the answer is int"),
        ({"answer": {"a": "x"}, "sp": []}, "“sp” is no object"),
        ({"answer": {"a": "x"}, "sp": {"a": [["A"]]}}, "is no supporting fact"),
        ({"answer": {"a": "x"}, "sp": {"a": [["A", True]]}}, "is no supporting fact"),
        ({"answer": {"a": "x"}, "sp": {"a": "A"}}, "supporting facts are no list"),
        ('{"answer": {"a": "x", "a": "y"}}', "'a' is there twice"),
        ('{"answer": {"a": NaN}}', "NaN is no value"),
        (b'{"answer": {"a": "\xff"}}', "not UTF-8"),
        ("{oops", "no valid JSON"),
        ("   ", "is empty"),
    ],
)
def test_wrong_hotpotqa_predictions_are_named(write, given, message):
    with pytest.raises(UsageError) as caught:
        hotpotqa.read_predictions(write(given), (), "mine")
    assert message in caught.value.what
    assert caught.value.hint


def test_wrong_hotpotqa_rows_and_unknown_ids_are_named(write, official):
    for row, message in (
        ({}, "row 1: there is no _id"),
        ({**ROWS[0], "answer": 1}, "row 1: the answer is no text"),
        (3, "row 1: not an object"),
    ):
        with pytest.raises(UsageError, match=message):
            hotpotqa.read_questions(write([row]))
    with pytest.raises(UsageError, match="row 2: the id 'a'"):
        hotpotqa.read_questions(write([ROWS[0], ROWS[0]]))
    with pytest.raises(UsageError, match="the id 'z', which is no question's"):
        official({"answer": {"a": "", "b": "", "z": ""}})


# ------------------------------------------------------------------ entailment


class WordTagger:
    """Entailed is what has a word of the premise; replies about "odd" things are unusable."""

    name = "words"

    def tag(self, pairs: Sequence[tuple[str, str]], *, stop=None, on_done=None) -> list[Hypothesis]:
        found = []
        for premise, hypothesis in pairs:
            if "odd" in hypothesis:
                found.append(Hypothesis(hypothesis, (), "the reply is no JSON"))
                continue
            shared = set(premise.lower().split()) & set(hypothesis.lower().split())
            found.append(Hypothesis(hypothesis, (Statement(hypothesis, Tag.ENT if shared else Tag.NEUT),)))
        return found


def test_entailment_rows_are_scored_in_three_pairs(write):
    rows = [
        {"question": "What is it?", "context": "cats purr", "ground_truth": "cats", "answer": "cats"},
        {"question": "Which?", "context": [{"text": "dogs bark"}], "ground_truth": "dogs", "answer": "birds"},
        {"question": "Which?", "context": [], "ground_truth": "odd", "answer": "odd"},
    ]
    path, tools = write("\n".join(map(json.dumps, rows))), Tools(published=True, tagger=WordTagger())
    assert [row.item_id for row in entailment.read_rows(path)] == ["1", "2", "3"]
    system = of_files("entailment", path, tools)
    values = [item.metrics for item in system.items]
    assert values[0] == dict.fromkeys(entailment.MEASURES, 1.0)
    assert values[1] == dict.fromkeys(entailment.MEASURES, 0.0)
    assert values[2] == dict.fromkeys(entailment.MEASURES)
    assert tools.notes == [
        "s: 2 of 8 segments had no usable reply and are left out of the means; the first: the reply is no JSON.",
    ]
    tools = replace(tools, profile=replace(DEFAULT, unusable_as_zero=True), notes=[])
    system = of_files("entailment", path, tools)
    assert system.items[2].metrics["entailment_gold_answer"] == 0.0
    assert system.items[2].metrics["entailment_context_answer"] is None  # there is no context to ask about
    assert "counted as 0" in tools.notes[0]


def test_the_recorded_claims_of_ragchecker_give_its_own_numbers(shared_data):
    tools = Tools(published=True, tagger=WordTagger())
    system = of_files("entailment", shared_data / "claims" / "ragchecker_examples.json", tools)
    values = system.items[0].metrics
    assert values["claim_precision"] == pytest.approx(8 / 11)
    assert values["claim_recall"] == pytest.approx(11 / 22)
    assert values["claim_f1"] == pytest.approx(0.5926, abs=1e-4)
    recorded = json.loads((shared_data / "claims" / "ragchecker_examples.json").read_text())["results"]
    for item, row in zip(system.items, recorded, strict=True):
        assert item.metrics["claim_precision"] == pytest.approx(row["metrics"]["precision"])
        assert item.metrics["claim_recall"] == pytest.approx(row["metrics"]["recall"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no rows"),
        ([1], "row 1: not an object"),
        ([{"question": "a"}], "row 1: there is no context"),
        ([{"question": "a", "context": [1]}], "row 1: context is no text"),
        ([{"question": "a", "context": "b"}], "row 1: there is no ground_truth"),
        ([{"question": 1, "context": "b"}], "row 1: question is int"),
        ([{"query": "a", "context": "b", "gold": "c", "response": None}], "row 1: response is NoneType"),
        (
            [{"id": "x", "question": "a", "context": "b", "gold": "c", "answer": "d", "answer2response": ["maybe"]}],
            "row 1: answer2response is no list of Entailment",
        ),
        ([{"id": "x", "question": "a", "context": "b", "gold": "c", "answer": "d"}] * 2, "row 2: the id 'x'"),
        ({"other": []}, "row 1: there is no question"),
        ({"results": [2]}, "row 1: not an object"),
        (json.dumps({"other": []}, indent=1), "holds no list"),
    ],
)
def test_wrong_entailment_rows_are_named(write, rows, message):
    with pytest.raises(UsageError) as caught:
        entailment.read_rows(write(rows))
    assert message in caught.value.what
    assert caught.value.hint
