"""Automatic measures of the answers in a study, beside what people say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite, nan

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.against_people import Trust, against_people
from pdfqa_core.metrics.agreement import (
    AgreementOfMany,
    ordered,
    summary_of_pairs,
    whole_scale,
)
from pdfqa_core.metrics.human_results import (
    ADJUDICATED,
    MAJORITY,
    POOLED,
    JudgedTurn,
    ResultRow,
    human_results,
    majority,
)
from pdfqa_core.protocols.annotation import Given, Judged, agreement_table, judged
from pdfqa_core.protocols.answers import TEXT, AnswerRow, score_answers
from pdfqa_core.protocols.base import Pair, Values
from pdfqa_core.study_types import MISSED, Adjudication, AppliesTo, Criterion, ItemDetails, Rating
from pdfqa_core.types import Answer, Support, Turn

# ----------------------------------------------------------------------------------------------------
# The agreement of a study's annotators: of all of them and of each pair.


def study_agreement(
    given: Mapping[str, Given], criteria: Sequence[Criterion], conversations: Mapping[str, str], *, seed: int = 0
) -> tuple[AgreementOfMany, ...]:
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
        found.append(summary_of_pairs(criterion.name, values, pairs, scale, conversations, seed=seed))
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


# ----------------------------------------------------------------------------------------------------
# Where the annotators of a study said different things, the items they agree on least first.

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
                turn,
                part,
                tuple(values),
                tuple(values.values()),
                tuple(given[name][part.key].comment for name in values),
                same / pairs,
            )
            for part, values in differing
        ]
    return tuple(sorted(found, key=lambda one: one.agreement))


# ----------------------------------------------------------------------------------------------------
# The ratings of a study as the result tables take them: of each annotator, of the majority, and adjudicated.

Labels = Mapping[tuple[str, str], str]  # by item and name of the criterion
_BINARY = frozenset({"0", "1"})
_PAIR = {"A": 1.0, "same": 0.5, "B": 0.0}  # how far a value prefers the answer that stands first


def result_rows(
    turns: Sequence[tuple[str, Turn]],
    given: Mapping[str, Given],
    criteria: Sequence[Criterion],
    adjudications: Iterable[Adjudication] = (),
    *,
    details: Mapping[str, ItemDetails] | None = None,
    assigned: Mapping[str, Collection[str]] | None = None,
    seed: int = 0,
) -> tuple[ResultRow, ...]:
    """Return the result tables of a study; `turns` are (conversation, turn), `given` the ratings by annotator.

    The intent is the first criterion about turns, the answer the first about answers with the values 0 and 1, the
    passages the first about passages with these. The majority, with two annotators or more, holds what more than half
    of those say who rated the item: of two what both say. The adjudicated view, where something was adjudicated, is the
    majority's with the adjudicated values in their places. Other criteria whose values are numbers have their means;
    of a pair of answers the share that prefers the first of the two systems, "no difference" being half. `details` are
    those of the items by turn id. Where evaluators are `assigned` turns of their own (by name: ids of turns), their
    turns together are POOLED.
    """
    views: list[tuple[str, Labels]] = [
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
    if len(own) > 1:
        raters.append((POOLED, [turn for name, turns in raters if name in own for turn in turns]))
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


def _majorities(views: Sequence[Labels]) -> dict[tuple[str, str], str]:
    votes: dict[tuple[str, str], list[str]] = {}
    for values in views:
        for key, value in values.items():
            votes.setdefault(key, []).append(value)
    return {key: most for key, given in votes.items() if (most := majority(given))}


def _first(criteria: Sequence[Criterion], kind: AppliesTo) -> Criterion | None:
    wanted = (one for one in criteria if one.applies_to is kind)
    return next((one for one in wanted if kind is AppliesTo.TURN or set(one.scale) == _BINARY), None)


def _judged(
    conversation: str,
    turn: Turn,
    values: Labels,
    criteria: Mapping[AppliesTo, Criterion | None],
    others: Sequence[Criterion],
    details: ItemDetails,
) -> JudgedTurn:
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
    return JudgedTurn(conversation, turn.number, intent, float(answer) if answer else None, passages, scores, system)


# ----------------------------------------------------------------------------------------------------
# Automatic measures of the answers in a study, beside what people say of them.

Scores = Mapping[str, Mapping[str, float | None]]  # by measure and turn id
OWN = {
    "confidence": "Confidence",
    "supported": "Sentences supported",
    "verified": "Quotes found in the passages",
}  # what the program says of its own answers, without a gold answer
_SHARE = {Support.SUPPORTED: 1.0, Support.PARTLY: 0.5, Support.NOT_FOUND: 0.0}


def own_scores(answer: Answer) -> dict[str, float | None]:
    """Return what the program says of an answer itself, by the names in OWN; None where it says nothing."""
    sentences, citations = answer.sentences, answer.citations
    return {
        "confidence": answer.confidence,
        "supported": sum(_SHARE[one.support] for one in sentences) / len(sentences) if sentences else None,
        "verified": sum(one.verified for one in citations) / len(citations) if citations else None,
    }


def gold_pairs(turns: Sequence[Turn], gold: Sequence[AnswerRow]) -> tuple[Pair, ...]:
    """Return the answers that have a gold answer, by the turn's id or the question's words.

    Raises UsageError if there is none, or two rows of the file have the same question.
    """
    by_id = {row.id: row for row in gold if row.id}
    by_question: dict[str, AnswerRow] = {}
    for one in gold:
        first = by_question.setdefault(_words(one.question), one)
        if one.question and first.answers != one.answers:
            raise UsageError(
                f"Row {one.row} of the gold answers asks what row {first.row} asks, with another answer.",
                "Give the answers' ids, or all answers to a question in one row.",
            )
    by_question.pop("", None)
    found = []
    for turn in turns:
        asked = (turn.question, turn.standalone_question)
        truth = by_id.get(turn.id) or next((row for one in asked if (row := by_question.get(_words(one)))), None)
        if truth is not None:
            found.append(Pair(turn.id, turn.answer.text, truth.answers, question=turn.standalone_question))
    if not found:
        raise UsageError(
            "No gold answer belongs to an answer of this study.",
            "Give the rows the questions of the study (“question”), or the answers' ids (“id”).",
        )
    return tuple(found)


def read_scores(data: bytes) -> dict[str, dict[str, float | None]]:
    """Return scores by measure and item from a table.

    Its columns are item, measure and value; an empty value is no score. Raises UsageError that names the row.
    """
    table = read_csv(data, ("item", "measure", "value"))
    places = [table.header.index(name) for name in ("item", "measure", "value")]
    found: dict[str, dict[str, float | None]] = {}
    for row in table.rows:
        item, measure, text = (row.cells[place].strip() for place in places)
        try:
            value = float(text) if text else None
        except ValueError:
            value = nan
        if not item or not measure or (value is not None and not isfinite(value)):
            raise UsageError(
                f"Row {row.number}: {text!r} is no score of {item!r}.", "Write item, measure and a number."
            )
        if item in found.setdefault(measure, {}):
            raise UsageError(f"Row {row.number}: {item!r} has a score of {measure!r} already.", "Keep one.")
        found[measure][item] = value
    return found


def text_scores(pairs: Sequence[Pair], more: Sequence[Sequence[Values]] = ()) -> dict[str, dict[str, float | None]]:
    """Return the measures of text of these answers, and `more` values by item that a model gave."""
    found: dict[str, dict[str, float | None]] = {}
    for pair, values in zip(pairs, score_answers(pairs, TEXT, more=more), strict=True):
        for name, value in values.items():
            found.setdefault(name, {})[pair.id] = value
    return found


def people_say(
    turns: Sequence[Turn], given: Mapping[str, Given], criterion: str, adjudications: Sequence[Adjudication] = ()
) -> dict[str, float]:
    """Return what people say of each answer, 1 or 0: the adjudicated value, else the majority's.

    Of a study with a single annotator that one's. Answers that they do not agree on are left out.
    """
    agreed = {one.item_id: one.value for one in adjudications if one.criterion == criterion}
    found = {}
    for turn in turns:
        values = [ratings[turn.id, criterion].value for ratings in given.values() if (turn.id, criterion) in ratings]
        value = agreed.get(turn.id, "") or (values[0] if len(given) == 1 and values else majority(values))
        if value in ("0", "1"):
            found[turn.id] = float(value)
    return found


def study_measures(
    labels: Mapping[str, float],
    scores: Scores,
    conversations: Mapping[str, str],
    *,
    seed: int = 0,
) -> tuple[Trust, ...]:
    """Return what the measures are worth beside the labels of people, best first by AUROC; those without a score not.

    Items without a label play no part. `conversations` gives the conversation of an item; an item without is its own.
    """
    trust = []
    for measure, values in scores.items():
        if all(value is None for value in values.values()):
            continue
        items = [item for item in labels if item in values]
        clusters = [conversations.get(item, item) for item in items]
        trust.append(
            against_people(
                measure,
                [values[item] for item in items],
                [labels[item] for item in items],
                clusters=clusters,
                seed=seed,
            )
        )
    trust.sort(key=lambda one: -1.0 if one.auroc.value is None else one.auroc.value, reverse=True)
    return tuple(trust)


def _words(question: str) -> str:
    return " ".join(question.casefold().split())
