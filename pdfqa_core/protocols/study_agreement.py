"""The agreement of a study's annotators: of all of them, of each pair, and over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pdfqa_core.metrics.agreement import Agreement, ordered, whole_scale
from pdfqa_core.metrics.agreement_over_time import agreement_over_time, mean_places
from pdfqa_core.metrics.many_annotators import AgreementOfMany, summary_of_pairs
from pdfqa_core.metrics.resampling import clusters_of
from pdfqa_core.protocols.annotation import Given, agreement_table
from pdfqa_core.study_types import MISSED, AppliesTo, Criterion, Rating


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement under one criterion: of all annotators with each pair, and of the first pair from start to end."""

    all: AgreementOfMany
    over_time: tuple[Agreement, ...] = ()


def study_agreement(
    given: Mapping[str, Given], criteria: Sequence[Criterion], conversations: Mapping[str, str], *, seed: int = 0
) -> tuple[CriterionAgreement, ...]:
    """Return the agreement for each criterion that somebody rated; `given` are the ratings by annotator.

    `conversations` gives the conversation of each turn: intervals resample turns, or conversations where they are many
    (see `clusters_of`). Nothing is returned for fewer than two annotators.
    """
    if len(given) < 2:
        return ()
    tables = {
        pair: {
            row.criterion: row
            for row in agreement_table(
                given[pair[0]], given[pair[1]], criteria, annotators=pair, conversations=conversations, seed=seed
            )
        }
        for pair in combinations(given, 2)
    }
    found = []
    for criterion in (one for one in criteria if not one.is_text):
        values = {
            name: {key[0]: rating.value for key, rating in ratings.items() if key[1] == criterion.name}
            for name, ratings in given.items()
        }
        if not any(values.values()):
            continue
        pairs = [rows[criterion.name] for rows in tables.values()]
        scale = ordered(criterion.scale) if whole_scale(criterion.scale) else criterion.scale
        summary = summary_of_pairs(criterion.name, values, pairs, scale, conversations, seed=seed)
        found.append(CriterionAgreement(summary, _over_time(given, criterion, scale, conversations, seed)))
    return tuple(found)


def with_others(criteria: Sequence[Criterion], ratings: Iterable[Rating]) -> tuple[Criterion, ...]:
    """Return the criteria, and after them those that only ratings from elsewhere have, with the values that occur.

    Missed passages are not among them: each annotator marks others.
    """
    known = {MISSED, *(one.name for one in criteria)}
    values: dict[str, set[str]] = {}
    of_passages: dict[str, bool] = {}
    for rating in ratings:
        if rating.criterion not in known:
            values.setdefault(rating.criterion, set()).add(rating.value)
            of_passages[rating.criterion] = "#" in rating.item_id
    others = []
    for name, found in values.items():
        scale = ordered(sorted(found))
        kind = AppliesTo.PASSAGE if of_passages[name] else AppliesTo.ANSWER
        others.append(Criterion(name, scale, scale, ("",) * len(scale), kind, name.capitalize()))
    return (*criteria, *others)


def _over_time(
    given: Mapping[str, Given], criterion: Criterion, scale: Sequence[str], conversations: Mapping[str, str], seed: int
) -> tuple[Agreement, ...]:
    names = tuple(given)[:2]
    one, other = (given[name] for name in names)
    shared = [key for key in one if key in other and key[1] == criterion.name]
    moments = [[side[key].rated_at.timestamp() for key in shared] for side in (one, other)]
    return agreement_over_time(
        [one[key].value for key in shared], [other[key].value for key in shared], mean_places(*moments), labels=scale,
        criterion=criterion.name, annotators=(names[0], names[1]), seed=seed,
        clusters=clusters_of([item for item, _ in shared], conversations),
    )  # fmt: skip
