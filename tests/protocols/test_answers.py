"""Answers scored with models: BERTScore, the judge and its agreement with people, refusals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.bertscore import TokenVectors
from pdfqa_core.protocols import Tools
from pdfqa_core.protocols.answers import score_answers, score_meaning, score_refusals
from pdfqa_core.protocols.base import Pair
from pdfqa_core.protocols.judging import judged, score_by_judge
from tests.conftest import FakeLLM


class LetterTokens:
    """Every letter is a token; its vector is a unit vector of its own."""

    name = "letters"

    def token_ids(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(text) for text in texts]

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        return [
            TokenVectors(tuple(text), np.eye(128)[[ord(letter) for letter in text]], (False,) * len(text))
            for text in texts
        ]


class JudgingLLM(FakeLLM):
    """Says Yes to what holds "right"."""

    name = "judge"

    def choose(self, messages, choices, *, stop=None):
        yes = 0.9 if "Predicted Answer: right" in messages[0].content else 0.2
        return {"Yes": yes, "No": 1 - yes}


def pair(name: str, prediction: str, gold: str = "x", **more) -> Pair:
    return Pair(name, prediction, (gold,), question="Why?", **more)


def test_bertscore_is_given_by_item_with_the_encoder_named():
    values, setting = score_meaning([pair("1", "abc", "abd"), pair("2", "a", "a")], LetterTokens())
    assert values[0]["bertscore_f1"] == pytest.approx(2 / 3)
    assert values[1]["bertscore_f1"] == pytest.approx(1.0)
    assert "letters" in setting
    found = score_answers([pair("1", "abc", "abd"), pair("2", "a", "a")], ["answer_em"], more=[values])
    assert set(found[0]) == {"answer_em", "bertscore_precision", "bertscore_recall", "bertscore_f1"}


def test_the_judge_is_compared_with_people_where_they_said_something():
    pairs = [
        pair("1", "right", human=True), pair("2", "wrong", human=False), pair("3", "right", human=False),
        pair("4", "wrong"), pair("5", "right", human=True),
    ]  # fmt: skip
    tools = Tools()
    values = judged("s", pairs, JudgingLLM(), tools)
    assert [value["llm_accuracy"] for value in values] == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert score_by_judge(pairs, JudgingLLM()) == [{"llm_accuracy": value["llm_accuracy"]} for value in values]
    assert tools.notes[0].startswith("s: the judge agrees with people on 75.0% of 4 items, Cohen's kappa 0.5")
    judged("s", pairs[3:4], JudgingLLM(), tools)
    assert tools.notes[1].startswith("s: no row says what a person thought")
    for judge in (score_by_judge, lambda given, llm: judged("s", given, llm, tools)):
        with pytest.raises(UsageError, match="Item '9' has no question"):
            judge([Pair("9", "a", ("b",))], JudgingLLM())


def test_refusals_are_scored_where_recall_and_precision_are_defined():
    pairs = [
        pair("1", "I do not know.", answerable=False), pair("2", "Paris.", answerable=False),
        pair("3", "The passages do not mention it.", answerable=True), pair("4", "Paris.", answerable=True),
    ]  # fmt: skip
    values = score_refusals(pairs)
    assert [value["refusal_recall"] for value in values] == [1.0, 0.0, None, None]
    assert [value["refusal_precision"] for value in values] == [1.0, None, 0.0, None]
    assert score_refusals([pair("1", "", answerable=False)])[0]["refusal_recall"] == 1.0
