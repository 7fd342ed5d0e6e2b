"""Rating answers by hand: what is judged, in which order, how far it is, and where annotators differ.

An item is one turn of a conversation. An annotator judges it by a list of criteria; CRITERIA are those of MaHuEval
(manual human evaluation of conversational question answering): the intent of the question, the answer, and each passage
that was shown. Whoever wants to know something else adds a criterion: form, keys, agreement and exports follow.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from statistics import median

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement, agreement, ordered, whole_scale
from pdfqa_core.metrics.statistics import clusters_of
from pdfqa_core.study_types import AppliesTo, Criterion, Rating, Study
from pdfqa_core.types import Turn

CRITERIA = (
    Criterion(
        "intent",
        scale=("extractive", "abstractive", "boolean"),
        labels=("extractive", "abstractive", "boolean"),
        keys=("1", "2", "3"),
        applies_to=AppliesTo.TURN,
        title="Intent of the question",
        help="extractive: the answer stands in the text · abstractive: it has to be put together · boolean: yes or no",
    ),
    Criterion(
        "answer",
        scale=("1", "0"),
        labels=("correct", "incorrect"),
        keys=("Y", "N"),
        applies_to=AppliesTo.ANSWER,
        title="Answer",
    ),
    Criterion(
        "passage",
        scale=("1", "0"),
        labels=("relevant", "not relevant"),
        keys=("QWERTUIOPADFGHJKLZVM", ""),
        applies_to=AppliesTo.PASSAGE,
        title="Passages",
        help="relevant for a correct answer?",
        rest_key="X",
    ),
)

Given = Mapping[tuple[str, str], Rating]  # by item and name of the criterion


@dataclass(frozen=True, slots=True)
class Judged:
    """One thing to judge: the item it is filed under, the criterion, and the rank of a passage (0: it is none)."""

    item_id: str
    criterion: Criterion
    rank: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What its ratings are known by."""
        return self.item_id, self.criterion.name


@dataclass(frozen=True, slots=True)
class AnnotationProgress:
    """How far an annotator is; `minutes_left` is None until an item is finished.

    It is the median of the seconds of finished items times the open ones, rounded up.
    """

    done: int
    total: int
    minutes_left: int | None = None


def judged(turn: Turn, criteria: Sequence[Criterion]) -> tuple[Judged, ...]:
    """Return everything that is judged about a turn, by criterion; passages in order of rank."""
    found: list[Judged] = []
    for criterion in criteria:
        if criterion.applies_to is AppliesTo.PASSAGE:
            found += [Judged(f"{turn.id}#{hit.rank}", criterion, hit.rank) for hit in turn.answer.hits]
        else:
            found.append(Judged(turn.id, criterion))
    return tuple(found)


def needed(turn: Turn, criteria: Sequence[Criterion]) -> tuple[Judged, ...]:
    """Return what must be judged about a turn before it is finished: all but what is answered in words."""
    return tuple(part for part in judged(turn, criteria) if not part.criterion.is_text)


def commented(criteria: Sequence[Criterion]) -> Criterion:
    """Return the criterion whose ratings keep the comments: the first about the answer, else the first of all."""
    asked = [one for one in criteria if not one.is_text] or [*criteria]
    return next((one for one in asked if one.applies_to is AppliesTo.ANSWER), asked[0])


def order(study: Study, annotator: str, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the study's turn ids in this annotator's own order, the same at every call and on every machine.

    Those in `first`, the training items, come before the others and in the same order for everybody.
    """
    turn_ids = [one for one in study.turn_ids if one not in first]
    random.Random(f"{study.seed}|{annotator.strip().casefold()}").shuffle(turn_ids)  # noqa: S311 - not a secret
    return (*(one for one in study.turn_ids if one in first), *turn_ids)


def next_open(order: Sequence[str], done: Collection[str], after: str = "") -> str:
    """Return the next turn in `order` that is not done; empty where all are.

    Looks behind the turn `after` first, then from the beginning, so that turns that were put off come back at the end.
    """
    start = order.index(after) + 1 if after in order else 0
    return next((turn_id for turn_id in (*order[start:], *order[:start]) if turn_id not in done), "")


def progress(
    turns: Sequence[Turn], given: Given, criteria: Sequence[Criterion], skipped: Collection[str] = ()
) -> AnnotationProgress:
    """Return how many turns an annotator who has given these ratings has finished, and how long the others take.

    `skipped` are turns that the annotator cannot judge; they count as finished.
    """
    rated = _done(turns, given, criteria)
    seconds: dict[str, float] = {}
    for rating in given.values():
        if rating.turn_id in rated:
            seconds[rating.turn_id] = max(seconds.get(rating.turn_id, 0.0), rating.seconds)
    return progress_of(seconds, sum(turn.id in skipped and turn.id not in rated for turn in turns), len(turns))


def progress_of(seconds: Mapping[str, float], skipped: int, total: int) -> AnnotationProgress:
    """Return how far somebody is: `seconds` are those of the rated turns, `skipped` counts what cannot be judged."""
    done = len(seconds) + skipped
    if not seconds:
        return AnnotationProgress(done, total)
    return AnnotationProgress(done, total, ceil(median(seconds.values()) * (total - done) / 60))


def parts_needed(passages: int, criteria: Sequence[Criterion]) -> int:
    """Return how many values finish a turn that was shown with so many passages; see `needed`."""
    asked = [one for one in criteria if not one.is_text]
    return sum(passages if one.applies_to is AppliesTo.PASSAGE else 1 for one in asked)


def form_ratings(
    study_id: str,
    turn: Turn,
    annotator: str,
    values: Mapping[tuple[str, str], str],
    criteria: Sequence[Criterion],
    *,
    rated_at: datetime,
    comment: str = "",
    seconds: float = 0.0,
    draft: bool = False,
) -> tuple[Rating, ...]:
    """Return the ratings that a filled form makes: `values` by item and criterion. What is not in it is not rated.

    The comment is kept with the rating of the criterion that is `commented`. Raises UsageError for an item that is not
    part of the turn and for a value that is not on the scale.
    """
    scales = {part.key: part.criterion.scale for part in judged(turn, criteria)}
    for (item_id, name), value in values.items():
        if (item_id, name) not in scales:
            raise UsageError(f"The item {item_id!r} is not part of this turn.", "Open the turn again.")
        if scales[item_id, name] and value not in scales[item_id, name]:
            choices = ", ".join(scales[item_id, name])
            raise UsageError(f"{value!r} is no value of {name!r}.", f"Choose one of: {choices}.")
    with_comment = commented(criteria).name
    return tuple(
        Rating(
            study_id=study_id,
            item_id=item_id,
            annotator=annotator,
            criterion=name,
            value=value,
            comment=comment if name == with_comment else "",
            seconds=seconds,
            rated_at=rated_at,
            draft=draft,
        )
        for (item_id, name), value in values.items()
    )


def by_annotator(ratings: Iterable[Rating]) -> dict[str, dict[tuple[str, str], Rating]]:
    """Return the last rating per annotator, item and criterion."""
    found: dict[str, dict[tuple[str, str], Rating]] = {}
    for rating in ratings:
        found.setdefault(rating.annotator, {})[rating.item_id, rating.criterion] = rating
    return found


def agreement_table(
    one: Given,
    other: Given,
    criteria: Sequence[Criterion],
    *,
    annotators: tuple[str, str],
    conversations: Mapping[str, str],
    seed: int = 0,
) -> tuple[Agreement, ...]:
    """Return the agreement of two annotators for each criterion, over what both have judged.

    `conversations` gives the conversation of each turn: intervals resample turns, or conversations where they are many.
    """
    table = []
    for criterion in (one for one in criteria if not one.is_text):
        shared = [key for key in one if key in other and key[1] == criterion.name]
        first, second = ([side[key].value for key in shared] for side in (one, other))
        scale = criterion.scale
        table.append(
            agreement(
                first,
                second,
                labels=ordered(scale) if whole_scale(scale) else scale,
                criterion=criterion.name,
                annotators=annotators,
                titles=dict(zip(scale, criterion.labels, strict=True)),
                clusters=clusters_of([item for item, _ in shared], conversations),
                seed=seed,
            )
        )
    return tuple(table)


def _done(turns: Sequence[Turn], given: Given, criteria: Sequence[Criterion]) -> frozenset[str]:
    return frozenset(turn.id for turn in turns if all(part.key in given for part in needed(turn, criteria)))
