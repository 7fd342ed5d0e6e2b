"""Short answers against references: exact match, token F1 and recall, HotpotQA's rules, accuracy."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from pdfqa_core.errors import UsageError
from pdfqa_core.languages import apart, composed
from pdfqa_core.metrics.base import Group, measure

# ----------------------------------------------------------------------------------------------------
# Answers as EM and F1 compare them: lower case, no punctuation, no articles, single spaces.
#
# In this order, as SQuAD's evaluation script does it: characters of `string.punctuation` are deleted, not replaced,
# so that "point-guard" becomes "pointguard"; typographic quotes, dashes and accents stay. Accents are composed before
# (NFC), as they are in SQuAD's own texts. Source: Rajpurkar et al. 2016.

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETED = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=65_536)
def normalise_answer(text: str) -> str:
    """Return the answer in the form that EM and F1 compare."""
    return " ".join(_ARTICLES.sub(" ", composed(text).lower().translate(_DELETED)).split())


def answer_tokens(text: str) -> list[str]:
    """Return the words of the normalised answer; a script without spaces by characters, as CMRC 2018 counts them."""
    return apart(normalise_answer(text)).split()


# ----------------------------------------------------------------------------------------------------
# Token F1: how many words prediction and reference share, each counted as often as it occurs.


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean, each 0..1."""

    precision: float
    recall: float
    f1: float


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean of the two, 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def overlap(shared: int, ours: int, theirs: int, beta: float = 1.0) -> Overlap:
    """Return precision, recall and F_β of what two sides of these sizes share; 0 where a side is empty."""
    precision = shared / ours if ours else 0.0
    recall = shared / theirs if theirs else 0.0
    bottom = recall + beta**2 * precision
    return Overlap(precision, recall, (1 + beta**2) * recall * precision / bottom if bottom else 0.0)


def shared_count(words: Sequence[str], available: Counter[str]) -> int:
    """Return how many of the words are available, each as often as it is; `available` is used up."""
    shared = 0
    for word in words:  # three times as fast as intersecting two Counters
        if available.get(word, 0) > 0:
            available[word] -= 1
            shared += 1
    return shared


def token_overlap(prediction: str, reference: str) -> Overlap:
    """Return precision, recall and F1 of the normalised words; both empty: all 1, one empty: all 0."""
    ours, theirs = answer_tokens(prediction), answer_tokens(reference)
    if not ours or not theirs:
        same = float(ours == theirs)
        return Overlap(same, same, same)
    return overlap(shared_count(ours, Counter(theirs)), len(ours), len(theirs))


@measure(
    "answer_f1",
    "Answer F1",
    "2PR / (P + R); P and R: shared words over those of the prediction and of the reference; best reference",
    "Rajpurkar et al. 2016 (SQuAD)",
)
def token_f1(prediction: str, references: Sequence[str]) -> float | None:
    """Return the F1 (0..1) of the reference that fits best; None without references."""
    return max((token_overlap(prediction, reference).f1 for reference in references), default=None)


# ----------------------------------------------------------------------------------------------------
# Exact match: whether prediction and reference are the same after normalisation.


@measure(
    "answer_em",
    "Answer EM",
    "1 if the normalised prediction equals a normalised reference, else 0",
    "Rajpurkar et al. 2016 (SQuAD)",
    proportion=True,
)
def exact_match(prediction: str, references: Sequence[str]) -> float | None:
    """Return 1.0 if the prediction equals one of the references after normalisation, else 0.0.

    Two empty texts are equal. None without references.
    """
    if not references:
        return None
    wanted = normalise_answer(prediction)
    return float(any(normalise_answer(reference) == wanted for reference in references))


# ----------------------------------------------------------------------------------------------------
# HotpotQA's own rules: yes, no and noanswer must match as a whole; answer and evidence count together.
#
# Source: Yang et al. 2018, hotpot_evaluate_v1.py.

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
    return Scores(em, *(token_overlap(prediction, gold) if ours and theirs else Overlap(0.0, 0.0, 0.0)))


def supporting_fact_scores(predicted: Iterable[tuple[str, int]], gold: Iterable[tuple[str, int]]) -> Scores:
    """Return the scores of supporting facts, (title, sentence number); both empty: EM 1, the others 0."""
    ours, theirs = set(predicted), set(gold)
    return Scores(float(ours == theirs), *overlap(len(ours & theirs), len(ours), len(theirs)))


def joint_scores(answer: Scores, facts: Scores) -> Scores:
    """Return the scores of answer and supporting facts together."""
    precision, recall = answer.precision * facts.precision, answer.recall * facts.recall
    return Scores(answer.em * facts.em, precision, recall, harmonic(precision, recall))


for _name, _pretty, _formula, _compute in (
    ("official_answer_em", "HotpotQA answer EM", "as answer EM", answer_scores),
    (
        "official_answer_f1",
        "HotpotQA answer F1",
        "as answer F1; 0 where one side is yes, no or noanswer and the other is not",
        answer_scores,
    ),
    (
        "official_answer_precision",
        "HotpotQA answer precision",
        "shared words / words of the prediction, 0 as in its F1",
        answer_scores,
    ),
    (
        "official_answer_recall",
        "HotpotQA answer recall",
        "shared words / words of the gold answer, 0 as in its F1",
        answer_scores,
    ),
    ("answer_precision", "Answer precision", "shared words / words of the prediction", answer_scores),
    ("answer_recall", "Answer recall", "shared words / words of the gold answer", answer_scores),
    (
        "sp_em",
        "Supporting facts EM",
        "1 if the predicted supporting facts are exactly the gold ones, else 0",
        supporting_fact_scores,
    ),
    ("sp_precision", "Supporting facts precision", "right supporting facts / predicted ones", supporting_fact_scores),
    ("sp_recall", "Supporting facts recall", "right supporting facts / gold ones", supporting_fact_scores),
    ("sp_f1", "Supporting facts F1", "2PR / (P + R) of supporting facts, per item", supporting_fact_scores),
    ("joint_em", "Joint EM", "answer EM × supporting facts EM", joint_scores),
    ("joint_precision", "Joint precision", "answer precision × supporting facts precision", joint_scores),
    ("joint_recall", "Joint recall", "answer recall × supporting facts recall", joint_scores),
    ("joint_f1", "Joint F1", "2PR / (P + R) of joint precision and recall", joint_scores),
):
    measure(_name, _pretty, _formula, SOURCE, group=Group.HOTPOTQA, proportion=_name.endswith("_em"))(_compute)


# ----------------------------------------------------------------------------------------------------
# Token recall: how much of the gold answer an answer has, however much it says besides.


@measure(
    "token_recall",
    "Token recall",
    "shared words over those of the reference, whatever else the prediction says; best reference",
    "Adlakha et al. 2024",
)
def token_recall(prediction: str, references: Sequence[str]) -> float | None:
    """Return the largest share (0..1) of a reference's normalised words that the prediction has; None without any.

    Words count as often as they occur, as in token F1. Where gold answers are short and answers are sentences it fits
    people's judgement better than F1, which a longer answer lowers; it can be had by saying much. Source: Adlakha et
    al. 2024, Evaluating Correctness and Faithfulness of Instruction-Following Models for Question Answering, TACL 12.
    """
    return max((token_overlap(prediction, reference).recall for reference in references), default=None)


# ----------------------------------------------------------------------------------------------------
# Accuracy: the share of answers that a person judged to be correct.

_CORRECT = {"1": 1.0, "yes": 1.0, "true": 1.0, "correct": 1.0, "0": 0.0, "no": 0.0, "false": 0.0, "incorrect": 0.0}


@measure("accuracy", "Accuracy", "1 if a person judged the answer correct, else 0", group=Group.PEOPLE, proportion=True)
def accuracy(label: str) -> float | None:
    """Return 1.0 or 0.0 for a person's label (1/0, yes/no, true/false, correct/incorrect); None for an empty one.

    Raises UsageError for any other label.
    """
    clean = label.strip().lower()
    if clean and clean not in _CORRECT:
        raise UsageError(f"{label!r} says neither correct nor incorrect.", f"Use one of: {', '.join(_CORRECT)}.")
    return _CORRECT.get(clean)
