"""HotpotQA's own rules: yes, no and noanswer must match as a whole; answer and evidence count together.

Source: Yang et al. 2018, hotpot_evaluate_v1.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.exact_match import exact_match
from pdfqa_core.metrics.normalisation import normalise_answer
from pdfqa_core.metrics.token_f1 import Overlap, harmonic, token_overlap

_WHOLE = frozenset({"yes", "no", "noanswer"})
SOURCE = "Yang et al. 2018 (HotpotQA)"


class Scores(NamedTuple):
    """Exact match, precision, recall and F1, each 0..1."""

    em: float
    precision: float
    recall: float
    f1: float


def answer_scores(prediction: str, gold: str) -> Scores:
    """Return the scores of an answer; P, R and F1 are 0 where one side is yes, no or noanswer and the other is not."""
    ours, theirs = normalise_answer(prediction), normalise_answer(gold)
    em = exact_match(prediction, [gold]) or 0.0
    if ours != theirs and not _WHOLE.isdisjoint((ours, theirs)):
        return Scores(em, 0.0, 0.0, 0.0)
    overlap = token_overlap(prediction, gold) if ours and theirs else Overlap(0.0, 0.0, 0.0)
    return Scores(em, *overlap)


def supporting_fact_scores(predicted: Iterable[tuple[str, int]], gold: Iterable[tuple[str, int]]) -> Scores:
    """Return the scores of supporting facts, (title, sentence number); both empty: EM 1, the others 0."""
    ours, theirs = set(predicted), set(gold)
    hits = len(ours & theirs)
    precision = hits / len(ours) if ours else 0.0
    recall = hits / len(theirs) if theirs else 0.0
    return Scores(float(ours == theirs), precision, recall, harmonic(precision, recall))


def joint_scores(answer: Scores, facts: Scores) -> Scores:
    """Return the scores of answer and supporting facts together."""
    precision, recall = answer.precision * facts.precision, answer.recall * facts.recall
    return Scores(answer.em * facts.em, precision, recall, harmonic(precision, recall))


for _name, _pretty, _formula, _compute in (
    ("official_answer_em", "HotpotQA answer EM", "as answer EM", answer_scores),
    ("official_answer_f1", "HotpotQA answer F1",
     "as answer F1; 0 where one side is yes, no or noanswer and the other is not", answer_scores),
    ("official_answer_precision", "HotpotQA answer precision", "shared words / words of the prediction, 0 as in its F1",
     answer_scores),
    ("official_answer_recall", "HotpotQA answer recall", "shared words / words of the gold answer, 0 as in its F1",
     answer_scores),
    ("answer_precision", "Answer precision", "shared words / words of the prediction", answer_scores),
    ("answer_recall", "Answer recall", "shared words / words of the gold answer", answer_scores),
    ("sp_em", "Supporting facts EM", "1 if the predicted supporting facts are exactly the gold ones, else 0",
     supporting_fact_scores),
    ("sp_precision", "Supporting facts precision", "right supporting facts / predicted ones", supporting_fact_scores),
    ("sp_recall", "Supporting facts recall", "right supporting facts / gold ones", supporting_fact_scores),
    ("sp_f1", "Supporting facts F1", "2PR / (P + R) of supporting facts, per item", supporting_fact_scores),
    ("joint_em", "Joint EM", "answer EM × supporting facts EM", joint_scores),
    ("joint_precision", "Joint precision", "answer precision × supporting facts precision", joint_scores),
    ("joint_recall", "Joint recall", "answer recall × supporting facts recall", joint_scores),
    ("joint_f1", "Joint F1", "2PR / (P + R) of joint precision and recall", joint_scores),
):  # fmt: skip
    measure(_name, _pretty, _formula, SOURCE, group=Group.HOTPOTQA)(_compute)
