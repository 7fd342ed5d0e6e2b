"""Automatic measures of a study's answers beside what people say of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.agreement import measures_frame, measures_latex
from pdfqa_core.metrics.short_answers import token_f1
from pdfqa_core.protocols.annotation import by_annotator
from pdfqa_core.protocols.answers import AnswerRow
from pdfqa_core.protocols.study_measures import (
    OWN,
    gold_pairs,
    own_scores,
    people_say,
    read_scores,
    study_measures,
    text_scores,
)
from pdfqa_core.study_types import Adjudication, Rating
from pdfqa_core.types import Answer, CheckedSentence, Citation, Span, Support, Turn
from tests.storage.conftest import NOW, turn


def said(name: str, **values: str) -> list[Rating]:
    return [Rating("s", turn_id, name, "answer", value, "", 1.0, NOW) for turn_id, value in values.items()]


def answered(turn_id: str, text: str, question: str) -> Turn:
    asked = turn(turn_id, question=question)
    return replace(asked, answer=replace(asked.answer, text=text))


TURNS = [answered(f"t{n}", "ammonia" if n < 6 else "propane", f"What is in pump {n}?") for n in range(10)]
GOLD = [AnswerRow(n, "", ("Ammonia.",), question=f"what is in  PUMP {n}?") for n in range(10)]


def test_what_the_program_says_of_its_own_answer() -> None:
    assert own_scores(Answer("x")) == {"confidence": None, "supported": None, "verified": None}
    sentences = tuple(CheckedSentence(0, 1, support) for support in (Support.SUPPORTED, Support.PARTLY))
    citations = tuple(Citation(1, "p", Span("d", 1, 0, 1), "x", verified) for verified in (True, False, False, True))
    answer = Answer("x", citations, confidence=0.4, sentences=sentences)
    assert own_scores(answer) == {"confidence": 0.4, "supported": 0.75, "verified": 0.5}


def test_people_agree_or_are_adjudicated_or_left_out() -> None:
    given = by_annotator([*said("Ada", t0="1", t1="1", t2="0", t3="1"), *said("Ben", t0="1", t1="0", t2="0")])
    assert people_say(TURNS, given, "answer") == {"t0": 1.0, "t2": 0.0}
    agreed = [Adjudication("s", "t1", "answer", "0", "", NOW)]
    assert people_say(TURNS, given, "answer", agreed) == {"t0": 1.0, "t1": 0.0, "t2": 0.0}
    assert people_say(TURNS, {"Ada": given["Ada"]}, "answer") == {"t0": 1.0, "t1": 1.0, "t2": 0.0, "t3": 1.0}


def test_gold_answers_are_found_by_question_or_id() -> None:
    pairs = gold_pairs(TURNS, [*GOLD[:2], AnswerRow(3, "t7", ("propane", "R290"))])
    assert [(pair.id, pair.references) for pair in pairs] == [
        ("t0", ("Ammonia.",)), ("t1", ("Ammonia.",)), ("t7", ("propane", "R290")),
    ]  # fmt: skip
    scores = text_scores(pairs)
    assert {"answer_f1", "answer_em", "bleu_1", "rouge_l"} <= set(scores)
    assert not [name for name in scores if name.startswith("citation")]
    assert scores["answer_f1"]["t0"] == token_f1("ammonia", ["Ammonia."])
    with pytest.raises(UsageError, match="No gold answer belongs"):
        gold_pairs(TURNS, [AnswerRow(1, "", ("x",), question="Who?"), AnswerRow(2, "", ("y",))])
    twice = [GOLD[0], AnswerRow(12, "", ("Water.",), question="What is in pump 0?")]
    with pytest.raises(UsageError, match="Row 12 of the gold answers asks what row 0 asks"):
        gold_pairs(TURNS, twice)


def test_measures_stand_in_the_order_of_their_worth() -> None:
    labels = {f"t{n}": float(n < 6) for n in range(10)}
    noise = {f"t{n}": (n * 7 % 10) / 10 for n in range(10)}
    found = study_measures(labels, {"noise": noise, **text_scores(gold_pairs(TURNS, GOLD))}, {})
    assert found[0].auroc.value == 1
    assert found[0].kappa.value == 1
    assert [one.measure for one in found].index("noise") > 0
    assert r"Answer F1 & 10 & 1.00" in measures_latex("Pilot", found, OWN).decode()
    rows = measures_frame(found)
    assert rows[rows["statistic"] == "auroc"]["value"].tolist() == [one.auroc.value for one in found]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,judge,good", "Row 2: 'good' is no score of 'a'"),
        ("a,judge,nan", "Row 2: 'nan' is no score"),
        (",judge,1", "Row 2: '1' is no score of ''"),
        ("a,judge,1\na,judge,0", "Row 3: 'a' has a score of 'judge' already"),
    ],
)
def test_a_wrong_score_is_named(rows: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_scores(f"item,measure,value\n{rows}\n".encode())
