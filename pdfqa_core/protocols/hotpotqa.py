"""HotpotQA: predictions in the format of its official evaluation, scored as that does.

Predictions: {"answer": {id: text}, "sp": {id: [[title, sentence number], …]}}. Gold: the data set's own rows with
`_id`, `answer` and `supporting_facts`. Source: Yang et al. 2018, hotpot_evaluate_v1.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import ScoredItem, ScoredSystem
from pdfqa_core.metrics.short_answers import Scores, answer_scores, joint_scores, supporting_fact_scores
from pdfqa_core.protocols.json_rows import check_ids, load_object, load_rows

PARTS = ("em", "f1", "precision", "recall")
MEASURES = tuple(f"{of}_{part}" for of in ("answer", "sp", "joint") for part in PARTS)
Fact = tuple[str, int]


class Missing(StrEnum):
    """What a question without a prediction means: an error, 0 as in the official evaluation, or unscored."""

    ERROR = "error"
    ZERO = "zero"
    UNSCORED = "unscored"


@dataclass(frozen=True, slots=True)
class HotpotQuestion:
    """A row of the data set."""

    id: str
    question: str
    answer: str
    facts: frozenset[Fact]


@dataclass(frozen=True, slots=True)
class Predictions:
    """A system's answers and supporting facts by the question's id; `facts` is None where the file has no "sp"."""

    name: str
    answers: Mapping[str, str]
    facts: Mapping[str, frozenset[Fact]] | None


def read_questions(path: Path) -> tuple[HotpotQuestion, ...]:
    """Return the rows of a gold file. Raises UsageError that names file and row."""
    found = []
    hint = "Give the rows of HotpotQA."
    rows = load_rows(path, "questions", hint)
    for row in rows:
        given = row.values
        for key in ("_id", "answer", "supporting_facts"):
            if key not in given:
                raise UsageError(f"{row.where}: there is no {key}.", hint)
        if not isinstance(given["answer"], str):
            raise UsageError(f"{row.where}: the answer is no text.", hint)
        facts = _facts(given["supporting_facts"], row.where)
        found.append(HotpotQuestion(str(given["_id"]), str(given.get("question") or ""), given["answer"], facts))
    check_ids(((row.number, one.id) for row, one in zip(rows, found, strict=True)), path.name)
    return tuple(found)


def read_predictions(path: Path) -> Predictions:
    """Return the predictions of a file. Raises UsageError that names file and id."""
    data = load_object(path)
    hint = 'Write {"answer": {id: text}, "sp": {id: [[title, number], …]}}.'
    answers = data.get("answer")
    if not isinstance(answers, Mapping) or not answers:
        raise UsageError(f"{path.name} has no answers.", hint)
    for one, answer in answers.items():
        if not isinstance(answer, str):
            raise UsageError(f"{path.name}, {one}: the answer is {type(answer).__name__}, no text.", hint)
    given = data.get("sp")
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"{path.name}: “sp” is no object.", hint)
    facts = None if given is None else {key: _facts(value, f"{path.name}, {key}") for key, value in given.items()}
    return Predictions(path.stem, answers, facts)


def _facts(value: Any, where: str) -> frozenset[Fact]:
    hint = "Supporting facts are a list of [title, sentence number]."
    if not isinstance(value, list):
        raise UsageError(f"{where}: the supporting facts are no list.", hint)
    for fact in value:
        pair = isinstance(fact, list) and len(fact) == 2 and isinstance(fact[0], str)
        if not pair or not isinstance(fact[1], int) or isinstance(fact[1], bool):
            raise UsageError(f"{where}: {fact!r} is no supporting fact.", hint)
    return frozenset((title, number) for title, number in value)


def score_hotpotqa(
    gold: Sequence[HotpotQuestion], predictions: Predictions, *, missing: Missing = Missing.ERROR
) -> ScoredSystem:
    """Return the twelve official measures of every question.

    Without supporting facts in the file those measures are unscored. Raises UsageError for a prediction whose id is no
    question's, and for a question without a prediction, unless `missing` says otherwise.
    """
    known = {question.id for question in gold}
    for kind, given in (("answer", predictions.answers), ("sp", predictions.facts)):
        for one in given or ():
            if one not in known:
                raise UsageError(
                    f"{predictions.name}: {kind} has the id {one!r}, which is no question's.", "Remove it."
                )
        lacking = [question.id for question in gold if given is not None and question.id not in given]
        if lacking and missing is Missing.ERROR:
            more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
            raise UsageError(
                f"{predictions.name}: {kind} has no prediction for {lacking[0]!r}{more}.",
                "Add them, or use --missing zero (as the official evaluation does) or --missing unscored.",
            )
    return ScoredSystem(predictions.name, tuple(_item(question, predictions, missing) for question in gold))


def _item(question: HotpotQuestion, predictions: Predictions, missing: Missing) -> ScoredItem:
    absent = Scores(0.0, 0.0, 0.0, 0.0) if missing is Missing.ZERO else None
    answer = facts = absent
    predicted: frozenset[Fact] | None = None
    if question.id in predictions.answers:
        answer = answer_scores(predictions.answers[question.id], question.answer)
    if predictions.facts is None:
        facts = None
    elif question.id in predictions.facts:
        predicted = predictions.facts[question.id]
        facts = supporting_fact_scores(predicted, question.facts)
    joint = None if answer is None or facts is None else joint_scores(answer, facts)
    values: dict[str, float | None] = {}
    for of, scores in (("answer", answer), ("sp", facts), ("joint", joint)):
        values |= {f"{of}_{part}": None if scores is None else getattr(scores, part) for part in PARTS}
    texts = {
        "question": question.question,
        "prediction": predictions.answers.get(question.id, ""),
        "gold_answer": question.answer,
        "predicted_facts": _listed(predicted or ()),
        "gold_facts": _listed(question.facts),
    }
    return ScoredItem(question.id, values, {name: text for name, text in texts.items() if text})


def _listed(facts: frozenset[Fact] | tuple[()]) -> str:
    return "; ".join(f"{title} {number}" for title, number in sorted(facts))
