"""Disambig-F1: whether a long answer answers every reading of an ambiguous question, in two modes.

`qa` (official): a question answering model reads the prediction and answers every disambiguated question; token F1
against the short answers. `entities`: the entities of the prediction against those of the long answers, as multisets.
What reads and what finds entities is given. Sources: Stelmakh et al. 2022 (ASQA); rageval (entities).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.normalisation import normalise_answer
from pdfqa_core.metrics.token_f1 import harmonic, token_f1

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
    shared = (ours & theirs).total()
    return harmonic(shared / ours.total(), shared / theirs.total())
