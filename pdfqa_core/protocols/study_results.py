"""The ratings of a study as the result tables take them: of each annotator, of the majority, and adjudicated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from pdfqa_core.metrics.human_results import (
    ADJUDICATED,
    MAJORITY,
    JudgedTurn,
    ResultRow,
    human_results,
    majority,
)
from pdfqa_core.protocols.annotation import Given, judged
from pdfqa_core.study_types import Adjudication, AppliesTo, Criterion, ItemDetails
from pdfqa_core.types import Turn

Values = Mapping[tuple[str, str], str]  # by item and name of the criterion
_BINARY = frozenset({"0", "1"})
_PAIR = {"A": 1.0, "same": 0.5, "B": 0.0}  # how far a value prefers the answer that stands first


def result_rows(
    turns: Sequence[tuple[str, Turn]], given: Mapping[str, Given], criteria: Sequence[Criterion],
    adjudications: Iterable[Adjudication] = (), *, details: Mapping[str, ItemDetails] | None = None,
    assigned: Mapping[str, Collection[str]] | None = None, seed: int = 0,
) -> tuple[ResultRow, ...]:  # fmt: skip
    """Return the result tables of a study; `turns` are (conversation, turn), `given` the ratings by annotator.

    The intent is the first criterion about turns, the answer the first about answers with the values 0 and 1, the
    passages the first about passages with these. The majority, with two annotators or more, holds what more than half
    of those say who rated the item: of two what both say. The adjudicated view, where something was adjudicated, is the
    majority's with the adjudicated values in their places. Other criteria whose values are numbers have their means;
    of a pair of answers the share that prefers the first of the two systems, "no difference" being half. `details` are
    those of the items by turn id.
    """
    views: list[tuple[str, Values]] = [
        (name, {key: rating.value for key, rating in ratings.items()}) for name, ratings in given.items() if ratings
    ]
    most = _majorities([values for _, values in views])
    if most:  # not where everybody rates answers of their own
        views.append((MAJORITY, most))
    if agreed := {(one.item_id, one.criterion): one.value for one in adjudications}:
        views.append((ADJUDICATED, {**most, **agreed}))
    chosen = {kind: _first(criteria, kind) for kind in AppliesTo}
    others = [one for one in criteria if one.applies_to is not AppliesTo.PASSAGE and one not in chosen.values()]
    known = details or {}
    own = assigned or {}
    raters = [
        (
            name,
            [
                _judged(where, turn, values, chosen, others, known.get(turn.id, ItemDetails()))
                for where, turn in turns
                if name not in own or turn.id in own[name]
            ],
        )
        for name, values in views
    ]
    intent = chosen[AppliesTo.TURN]
    return human_results(raters, intents=intent.scale if intent else (), seed=seed)


def titles(conversations: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return what to call each conversation of (id, title): its title, numbered where several have the same one."""
    unique = dict(conversations)
    counts = Counter(title or "Conversation" for title in unique.values())
    seen: Counter[str] = Counter()
    found = {}
    for one, title in unique.items():
        name = title or "Conversation"
        seen[name] += 1
        found[one] = f"{name} ({seen[name]})" if counts[name] > 1 else name
    return found


def _majorities(views: Sequence[Values]) -> dict[tuple[str, str], str]:
    votes: dict[tuple[str, str], list[str]] = {}
    for values in views:
        for key, value in values.items():
            votes.setdefault(key, []).append(value)
    return {key: most for key, given in votes.items() if (most := majority(given))}


def _first(criteria: Sequence[Criterion], kind: AppliesTo) -> Criterion | None:
    wanted = (one for one in criteria if one.applies_to is kind)
    return next((one for one in wanted if kind is AppliesTo.TURN or set(one.scale) == _BINARY), None)


def _judged(
    conversation: str, turn: Turn, values: Values, criteria: Mapping[AppliesTo, Criterion | None],
    others: Sequence[Criterion], details: ItemDetails,
) -> JudgedTurn:  # fmt: skip
    def said(kind: AppliesTo) -> list[str]:
        criterion = criteria[kind]
        return [values.get(part.key, "") for part in judged(turn, [criterion])] if criterion else []

    intent, answer = (said(kind)[0] if criteria[kind] else "" for kind in (AppliesTo.TURN, AppliesTo.ANSWER))
    passages = tuple(float(one) if one else None for one in said(AppliesTo.PASSAGE))
    scores = {}
    for one in others:
        value = values.get((turn.id, one.name), "")
        if value and all(step.lstrip("-").isdecimal() for step in one.scale) and one.scale:
            scores[one.name] = float(value)
        elif value in _PAIR and set(one.scale) == set(_PAIR) and details.second:
            first = min(details.system, details.second_system)
            won = _PAIR[value] if details.system == first else 1 - _PAIR[value]
            scores[f"prefers {first or 'A'}"] = won
    system = "" if details.second else details.system
    return JudgedTurn(
        conversation, turn.number, intent, float(answer) if answer else None, passages, scores, system
    )  # fmt: skip
