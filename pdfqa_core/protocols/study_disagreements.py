"""Where the annotators of a study said different things, the items they agree on least first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pdfqa_core.protocols.annotation import Given, Judged, judged
from pdfqa_core.study_types import Criterion
from pdfqa_core.types import Turn

# What can have gone wrong, for adjudication. Names as they are stored.
ERROR_CATEGORIES = {
    "": "no error",
    "retrieval": "the right passage was not found",
    "reading": "the passage was there, the answer is wrong",
    "incomplete": "the answer leaves something out",
    "unsupported": "the answer says what no passage says",
    "question": "the question is not clear",
    "gold": "the gold answer is wrong",
    "guideline": "the guideline does not say",
    "slip": "an annotator's slip",
    "other": "something else",
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A judgement on which annotators differ: what each of them said, and what they wrote with it.

    `agreement` is the share of pairs of judgements about the same turn that are equal.
    """

    turn: Turn
    judged: Judged
    annotators: tuple[str, ...]
    values: tuple[str, ...]
    comments: tuple[str, ...]
    agreement: float


def disagreements(
    turns: Sequence[Turn], given: Mapping[str, Given], criteria: Sequence[Criterion]
) -> tuple[Disagreement, ...]:
    """Return what annotators judged differently; turns with the lowest agreement first, else in their order.

    What is answered in words is left out: such answers always differ.
    """
    found: list[Disagreement] = []
    asked = [one for one in criteria if not one.is_text]
    for turn in turns:
        differing: list[tuple[Judged, dict[str, str]]] = []
        pairs = same = 0
        for part in judged(turn, asked):
            values = {name: ratings[part.key].value for name, ratings in given.items() if part.key in ratings}
            equal = [one == other for one, other in combinations(values.values(), 2)]
            pairs, same = pairs + len(equal), same + sum(equal)
            if not all(equal):
                differing.append((part, values))
        found += [
            Disagreement(
                turn, part, tuple(values), tuple(values.values()),
                tuple(given[name][part.key].comment for name in values), same / pairs,
            )
            for part, values in differing
        ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: one.agreement))
