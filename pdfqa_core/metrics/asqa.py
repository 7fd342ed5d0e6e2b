"""The measures of ASQA: STR-EM, Disambig-F1 and DR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import sqrt

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.short_answers import normalise_answer, overlap, token_f1
from pdfqa_core.metrics.statistics import mean_of_scored

# ----------------------------------------------------------------------------------------------------
# STR-EM: the share of the short answers of an ambiguous question that the long answer contains.


@measure(
    "str_em",
    "STR-EM",
    "mean over disambiguated questions: 1 if a normalised short answer stands in the normalised prediction",
    "Stelmakh et al. 2022 (ASQA)",
    group=Group.ASQA,
)
def str_em(prediction: str, short_answers: Sequence[Sequence[str]]) -> float | None:
    """Return the share (0..1) of disambiguated questions one of whose short answers stands in the prediction.

    `short_answers` holds the accepted answers of each disambiguated question. One that normalises to nothing never
    stands anywhere. None without questions.
    """
    if not short_answers:
        return None
    text = normalise_answer(prediction)
    hits = sum(
        any(answer and answer in text for answer in map(normalise_answer, accepted)) for accepted in short_answers
    )
    return hits / len(short_answers)


# ----------------------------------------------------------------------------------------------------
# Disambig-F1: whether a long answer answers every reading of an ambiguous question, in two modes.
#
# `qa` (official): a question answering model reads the prediction and answers every disambiguated question; token F1
# against the short answers. `entities`: the entities of the prediction against those of the long answers, as
# multisets. What reads and what finds entities is given. Sources: Stelmakh et al. 2022 (ASQA); rageval (entities).

ReadAnswer = Callable[[str, str], str]
FindEntities = Callable[[str], Iterable[str]]


@measure(
    "disambig_f1",
    "Disambig-F1",
    "mean over disambiguated questions of the token F1 of what is read from the prediction",
    "Stelmakh et al. 2022 (ASQA)",
    group=Group.ASQA,
)
def disambig_f1_qa(prediction: str, pairs: Sequence[tuple[str, Sequence[str]]], read: ReadAnswer) -> float | None:
    """Return the mean token F1 (0..1) over `pairs` of (disambiguated question, short answers); None without pairs.

    `read(question, prediction)` gives the answer in the prediction, empty if it has none.
    """
    values = [token_f1(read(question, prediction), answers) for question, answers in pairs]
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else None


@measure(
    "disambig_f1_entities",
    "Disambig-F1 (entities)",
    "F1 of the entities of the prediction and of the long answer that fits best, as multisets",
    "rageval",
    group=Group.ASQA,
)
def disambig_f1_entities(prediction: str, long_answers: Sequence[str], find: FindEntities) -> float | None:
    """Return the F1 (0..1) of the prediction's entities against those of the long answer that fits best.

    Entities are compared normalised, each as often as it occurs; both without any: 1. None without long answers.
    """
    ours = _counted(find(prediction))
    return max((_f1(ours, _counted(find(answer))) for answer in long_answers), default=None)


def once(find: FindEntities) -> FindEntities:
    """Return a finder of entities that names each of them once, normalised ones compared."""

    def found(text: str) -> list[str]:
        return list({normalise_answer(name): name for name in find(text)}.values())

    return found


def _counted(entities: Iterable[str]) -> Counter[str]:
    return Counter(name for name in map(normalise_answer, entities) if name)


def _f1(ours: Counter[str], theirs: Counter[str]) -> float:
    if not ours or not theirs:
        return float(ours == theirs)
    return overlap((ours & theirs).total(), ours.total(), theirs.total()).f1


# ----------------------------------------------------------------------------------------------------
# DR: what ASQA ranks systems by, from the means of ROUGE-L and Disambig-F1 over the whole set.


@measure(
    "dr",
    "DR",
    "sqrt(mean ROUGE-L × mean Disambig-F1), over the whole set and not per item",
    "Stelmakh et al. 2022 (ASQA)",
    group=Group.ASQA,
)
def dr(rouge_l: float, disambig_f1: float) -> float:
    """Return the geometric mean of the two means, in their unit (0..1 or percent). Raises UsageError below 0."""
    if rouge_l < 0 or disambig_f1 < 0:
        raise UsageError(f"DR of {rouge_l} and {disambig_f1} is not defined.", "Both means are 0 or more.")
    return sqrt(rouge_l * disambig_f1)


measure(
    "dr_rouge_l",
    "DR (ROUGE-L)",
    "as DR, with ROUGE-L in the place of ROUGE-Lsum",
    "rageval",
    group=Group.ASQA,
)(dr.compute)


def linearised(rouge_l: Sequence[float | None], disambig_f1: Sequence[float | None]) -> list[float | None]:
    """Return each item's part in DR, over the items that both measures scored: their mean is DR, its spread DR's.

    DR/2 · (r_i / mean r + d_i / mean d), the first-order expansion of DR around its means, so that intervals and tests
    for means hold for DR. Source: the delta method, Efron and Tibshirani 1993, ch. 21.
    """
    both = [None if r is None or d is None else (r, d) for r, d in zip(rouge_l, disambig_f1, strict=True)]
    means = [mean_of_scored([None if pair is None else pair[place] for pair in both]) for place in (0, 1)]
    if means[0] is None or means[1] is None:
        return [None] * len(both)
    whole = dr(means[0], means[1])
    if not whole:
        return [None if pair is None else 0.0 for pair in both]
    return [None if pair is None else whole / 2 * (pair[0] / means[0] + pair[1] / means[1]) for pair in both]
