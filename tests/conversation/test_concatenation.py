import numpy as np
import pytest

from pdfqa_core.conversation import Concatenation
from pdfqa_core.types import Query, Rewritten

DEDUCTIBLE = ("What is the deductible of the Standard plan?", "It is $2,000.")


class Vectors:
    """An encoder of questions: the given vectors, of length 1; what it was asked for is kept."""

    def __init__(self, **vectors):
        self.vectors, self.asked = vectors, []

    def __call__(self, texts):
        self.asked.append(list(texts))
        return np.asarray([next(v for k, v in self.vectors.items() if k in text) for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    "question",
    [
        "How much is it per year?", "And for families?", "What about 2021?", "how much IS it ?? ",
        "How many days of parental leave do employees get?", "Wie hoch ist sie?", "それはいくらですか？",
    ],
)  # fmt: skip
def test_every_question_stays_as_it_was_typed_and_is_searched_with_the_one_before(question):
    rewritten = Concatenation().rewrite(question, [DEDUCTIBLE])
    assert (rewritten.question, rewritten.note) == (question, "")
    for texts in (dict(rewritten.lexical), dict(rewritten.dense)):
        assert texts[question] == 1
        assert 0 < texts[DEDUCTIBLE[0]] < 1


def test_without_history_nothing_is_added_and_nothing_encoded():
    encode = Vectors()
    assert Concatenation(encode=encode).rewrite("How much is it?", []) == Rewritten("How much is it?")
    assert Concatenation(turns=0, encode=encode).rewrite("How much is it?", [DEDUCTIBLE]).query == Query(
        "How much is it?"
    )
    assert encode.asked == []


def test_questions_weigh_less_the_further_back_and_none_beyond_turns():
    history = [("Who pays?", ""), DEDUCTIBLE, ("And for families?", "$4,000.")]
    rewritten = Concatenation(turns=2).rewrite("Why?", history)
    for texts in (rewritten.lexical, rewritten.dense):
        weights = dict(texts)
        assert weights["And for families?"] > weights[DEDUCTIBLE[0]] > 0
        assert "Who pays?" not in weights


def test_of_the_last_answer_the_nearest_sentence_counts():
    encode = Vectors(Who=[1, 0], Employees=[0, 1], Owls=[0.8, 0.6])
    history = [("What does it cost?", "Employees pay it. Owls hunt at night.")]
    rewritten = Concatenation(encode=encode).rewrite("Who pays it then?", history)
    for texts in (dict(rewritten.lexical), dict(rewritten.dense)):
        assert 0 < texts["Owls hunt at night."] < 1
        assert "Employees pay it." not in texts


def test_an_answer_that_was_a_refusal_counts_for_nothing():
    rewritten = Concatenation(encode=Vectors()).rewrite("Why?", [(DEDUCTIBLE[0], "")])
    for texts in (rewritten.lexical, rewritten.dense):
        assert [text for text, _ in texts] == ["Why?", DEDUCTIBLE[0]]
