"""Rating answers by hand: what is judged, in which order, how far it is, and where annotators differ.

An item is one turn of a conversation. An annotator judges its intent, its answer, and each passage that was shown;
the protocol is MaHuEval (manual human evaluation of conversational question answering). Two annotators work
independently: neither sees the other's ratings of an item before having finished that item.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from statistics import median

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement, agreement
from pdfqa_core.storage import Store
from pdfqa_core.types import Adjudication, Criterion, Rating, Study, Turn

INTENT = Criterion("intent", ("extractive", "abstractive", "boolean"))
ANSWER = Criterion("answer", ("0", "1"))
PASSAGE = Criterion("passage", ("0", "1"))
CRITERIA = (INTENT, ANSWER, PASSAGE)


@dataclass(frozen=True, slots=True)
class Judged:
    """One thing to judge: the item it is filed under and the criterion."""

    item_id: str
    criterion: Criterion


@dataclass(frozen=True, slots=True)
class AnnotationProgress:
    """How far an annotator is; the two times are None until an item is finished.

    `seconds_per_item` is the median over finished items, `minutes_left` that times the open ones, rounded up.
    """

    done: int
    total: int
    seconds_per_item: float | None = None
    minutes_left: int | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A thing two annotators judged differently: `values` in the order of the pair, and what was agreed since."""

    turn_id: str
    item_id: str
    criterion: str
    values: tuple[str, str]
    comments: tuple[str, str]
    adjudication: Adjudication | None = None


def passage_item(turn_id: str, rank: int) -> str:
    """Return the item id of the passage with this rank in a turn's evidence."""
    return f"{turn_id}#{rank}"


def split_item(item_id: str) -> tuple[str, int | None]:
    """Return the turn's id, and the rank if the item is a passage. Raises UsageError if it is no item id."""
    turn_id, mark, rank = item_id.partition("#")
    if not turn_id or (mark and not (rank.isascii() and rank.isdigit())):
        raise UsageError(f"{item_id!r} is not an item.", "Items are called TURN or TURN#RANK.")
    return turn_id, int(rank) if mark else None


def judged(turn: Turn) -> tuple[Judged, ...]:
    """Return everything that is judged about a turn: intent, answer, and each passage in order of rank."""
    passages = (Judged(passage_item(turn.id, hit.rank), PASSAGE) for hit in turn.answer.hits)
    return (Judged(turn.id, INTENT), Judged(turn.id, ANSWER), *passages)


def order(study: Study, annotator: str) -> tuple[str, ...]:
    """Return the study's turn ids in this annotator's own order, the same at every call and on every machine."""
    turn_ids = list(study.turn_ids)
    random.Random(f"{study.seed}|{annotator.strip().casefold()}").shuffle(turn_ids)  # noqa: S311 - not a secret
    return tuple(turn_ids)


def is_complete(turn: Turn, ratings: Iterable[Rating], annotator: str) -> bool:
    """Whether the annotator judged everything about the turn; a refused answer without passages has fewer parts."""
    own = {(rating.item_id, rating.criterion) for rating in ratings if rating.annotator == annotator}
    return all((one.item_id, one.criterion.name) in own for one in judged(turn))


def next_unrated(
    turns: Sequence[Turn], ratings: Iterable[Rating], annotator: str, order: Sequence[str], after: str | None = None
) -> str | None:
    """Return the next turn in `order` that the annotator has not finished, None when all are.

    Looks behind the turn `after` first, then from the beginning, so that skipped turns come back at the end.
    """
    done = _done(turns, ratings, annotator)
    start = order.index(after) + 1 if after in order else 0
    return next((turn_id for turn_id in (*order[start:], *order[:start]) if turn_id not in done), None)


def progress(turns: Sequence[Turn], ratings: Iterable[Rating], annotator: str) -> AnnotationProgress:
    """Return how many turns the annotator has finished, and how long the others will take."""
    own = [rating for rating in ratings if rating.annotator == annotator]
    done = _done(turns, own, annotator)
    if not done:
        return AnnotationProgress(0, len(turns))
    seconds: dict[str, float] = {}
    for rating in own:
        turn_id = split_item(rating.item_id)[0]
        seconds[turn_id] = max(seconds.get(turn_id, 0.0), rating.seconds)
    per_item = median(seconds[turn_id] for turn_id in done)
    return AnnotationProgress(len(done), len(turns), per_item, ceil(per_item * (len(turns) - len(done)) / 60))


def form_ratings(
    study_id: str,
    turn: Turn,
    annotator: str,
    values: Mapping[str, str],
    *,
    rated_at: datetime,
    intent: str = "",
    comment: str = "",
    seconds: float = 0.0,
) -> tuple[Rating, ...]:
    """Return the ratings that a filled form makes: `values` by item id (the turn's own: its answer), and the intent.

    What is not in the form is not rated. The comment belongs to the answer, or to the first thing rated without one.
    Raises UsageError for an item that is not part of the turn and for a value that is not on the scale.
    """
    parts = {(one.item_id, one.criterion.name): one.criterion for one in judged(turn)}
    given = {(turn.id, INTENT.name): intent} if intent else {}
    for item_id, value in values.items():
        given[item_id, ANSWER.name if item_id == turn.id else PASSAGE.name] = value
    for (item_id, name), value in given.items():
        if (item_id, name) not in parts:
            raise UsageError(f"The item {item_id!r} is not part of this turn.", "Open the turn again.")
        scale = parts[item_id, name].scale
        if value not in scale:
            raise UsageError(f"{value!r} is no value of {name!r}.", f"Choose one of: {', '.join(scale)}.")
    place = (turn.id, ANSWER.name) if (turn.id, ANSWER.name) in given else next(iter(given), None)
    return tuple(
        Rating(
            study_id=study_id,
            item_id=item_id,
            annotator=annotator,
            criterion=name,
            value=value,
            comment=comment if (item_id, name) == place else "",
            seconds=seconds,
            rated_at=rated_at,
        )
        for (item_id, name), value in given.items()
    )


def ratings_of_others(store: Store, owner: str, study_id: str, annotator: str, turn_id: str) -> tuple[Rating, ...]:
    """Return what the other annotators said about a turn that this one has finished.

    Raises UsageError if this annotator has not judged everything about it, or it is not part of the study.
    """
    turn = next((one.turn for one in store.studies.turns(owner, study_id) if one.turn.id == turn_id), None)
    if turn is None:
        raise UsageError(f"The turn {turn_id!r} is not part of this study.", "Open the study again.")
    name = _known_name(store, study_id, annotator)
    ratings = store.studies.ratings(study_id)
    if not is_complete(turn, ratings, name):
        raise UsageError(
            "The ratings of others are shown once you have rated everything about this item yourself.",
            "Rate the intent, the answer and every passage first.",
        )
    items = {one.item_id for one in judged(turn)}
    return tuple(rating for rating in ratings if rating.annotator != name and rating.item_id in items)


def disagreements(
    turns: Sequence[Turn],
    ratings: Iterable[Rating],
    pair: tuple[str, str],
    adjudications: Iterable[Adjudication] = (),
) -> tuple[Disagreement, ...]:
    """Return what the two annotators judged differently, in the order of the turns."""
    given = _by_annotator(ratings)
    one, other = given.get(pair[0], {}), given.get(pair[1], {})
    agreed = {(decision.item_id, decision.criterion): decision for decision in adjudications}
    found = []
    for turn in turns:
        for part in judged(turn):
            key = (part.item_id, part.criterion.name)
            if key in one and key in other and one[key].value != other[key].value:
                values = (one[key].value, other[key].value)
                comments = (one[key].comment, other[key].comment)
                found.append(Disagreement(turn.id, *key, values, comments, agreed.get(key)))
    return tuple(found)


def agreement_table(
    ratings: Iterable[Rating], pair: tuple[str, str] | None = None, *, seed: int = 0
) -> tuple[Agreement, ...]:
    """Return the agreement of two annotators for intent, answer and passage, over what both have judged.

    `pair` chooses the two and may be left out when just two have rated. Raises UsageError if it is needed.
    """
    given = _by_annotator(ratings)
    if pair is None:
        if len(given) != 2:
            raise UsageError(
                f"Agreement is between two annotators, {len(given)} have rated.",
                f"Choose two of: {', '.join(given)}." if len(given) > 2 else "A second annotator has to rate first.",
            )
        names = tuple(given)
        pair = (names[0], names[1])
    one, other = given.get(pair[0], {}), given.get(pair[1], {})
    table = []
    for criterion in CRITERIA:
        shared = [key for key in one if key in other and key[1] == criterion.name]
        first, second = ([side[key].value for key in shared] for side in (one, other))
        table.append(
            agreement(first, second, labels=criterion.scale, criterion=criterion.name, annotators=pair, seed=seed)
        )
    return tuple(table)


def _done(turns: Sequence[Turn], ratings: Iterable[Rating], annotator: str) -> frozenset[str]:
    own = {(rating.item_id, rating.criterion) for rating in ratings if rating.annotator == annotator}
    return frozenset(
        turn.id for turn in turns if all((part.item_id, part.criterion.name) in own for part in judged(turn))
    )


def _by_annotator(ratings: Iterable[Rating]) -> dict[str, dict[tuple[str, str], Rating]]:
    """Return the last rating per annotator, item and criterion."""
    found: dict[str, dict[tuple[str, str], Rating]] = {}
    for rating in ratings:
        found.setdefault(rating.annotator, {})[rating.item_id, rating.criterion] = rating
    return found


def _known_name(store: Store, study_id: str, annotator: str) -> str:
    wanted = annotator.strip().casefold()
    for name in store.studies.annotators(study_id):
        if name.casefold() == wanted:
            return name
    raise UsageError(f"{annotator!r} has not signed in to this study.", "Sign in first.")
