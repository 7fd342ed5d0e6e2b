"""Automatic measures of the answers in a study, beside what people say of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.against_people import Trust, against_people
from pdfqa_core.metrics.human_results import majority
from pdfqa_core.metrics.prediction_powered import Powered, prediction_powered
from pdfqa_core.protocols.annotation import Given
from pdfqa_core.protocols.answer_files import AnswerRow, Pair
from pdfqa_core.protocols.answers import DEFAULT, Values, score_answers
from pdfqa_core.study_types import Adjudication
from pdfqa_core.types import Answer, Support, Turn

Scores = Mapping[str, Mapping[str, float | None]]  # by measure and turn id
OWN = {
    "confidence": "Confidence",
    "supported": "Sentences supported",
    "verified": "Quotes found in the passages",
}  # what the program says of its own answers, without a gold answer
_SHARE = {Support.SUPPORTED: 1.0, Support.PARTLY: 0.5, Support.NOT_FOUND: 0.0}


@dataclass(frozen=True, slots=True)
class StudyMeasures:
    """What each measure is worth beside people, and the accuracy that it gives with them on all items it scored."""

    trust: tuple[Trust, ...]
    powered: tuple[Powered, ...]


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


def read_scores(data: bytes) -> tuple[dict[str, dict[str, float | None]], dict[str, str]]:
    """Return scores by measure and item from a table, and the conversation of each item where it has that column.

    Its columns are item, measure and value; an empty value is no score. Raises UsageError that names the row.
    """
    table = read_csv(data, ("item", "measure", "value"))
    places = [table.header.index(name) for name in ("item", "measure", "value")]
    talk = table.header.index("conversation") if "conversation" in table.header else None
    found: dict[str, dict[str, float | None]] = {}
    talks = {}
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
        if talk is not None and row.cells[talk].strip():
            talks[item] = row.cells[talk].strip()
    return found, talks


def text_scores(pairs: Sequence[Pair], more: Sequence[Sequence[Values]] = ()) -> dict[str, dict[str, float | None]]:
    """Return the measures of text of these answers, and `more` values by item that a model gave."""
    measures = [name for name in DEFAULT if not name.startswith("citation")]
    scored = score_answers("answers", pairs, measures, more=more)
    found: dict[str, dict[str, float | None]] = {}
    for item in scored.items:
        for name, value in item.metrics.items():
            found.setdefault(name, {})[item.id] = value
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
    labels: Mapping[str, float], scores: Scores, conversations: Mapping[str, str], *,
    disputed: Collection[str] = (), seed: int = 0,
) -> StudyMeasures:  # fmt: skip
    """Return what the measures are worth beside the labels of people, best first by AUROC; those without a score not.

    `scores` may hold items without a label: their scores, where they lie in 0..1, give the accuracy on all items by
    prediction-powered inference. `disputed` are items that people did not agree on: they are no random part of all, and
    play no part. `conversations` gives the conversation of an item; an item without is its own.
    """
    trust, powered = [], []
    for measure, values in scores.items():
        if all(value is None for value in values.values()):
            continue
        items = [item for item in labels if item in values]
        clusters = [conversations.get(item, item) for item in items]
        trust.append(
            against_people(
                measure, [values[item] for item in items], [labels[item] for item in items], clusters=clusters,
                seed=seed,
            )
        )  # fmt: skip
        open_ones = {item: value for item, value in values.items() if item not in disputed}
        found = _powered(measure, labels, open_ones, conversations)
        if found is not None:
            powered.append(found)
    trust.sort(key=lambda one: -1.0 if one.auroc.value is None else one.auroc.value, reverse=True)
    return StudyMeasures(tuple(trust), tuple(powered))


def _powered(
    measure: str, labels: Mapping[str, float], values: Mapping[str, float | None], conversations: Mapping[str, str]
) -> Powered | None:
    known = {item: value for item, value in values.items() if value is not None}
    if not known or not all(0 <= value <= 1 for value in known.values()):
        return None
    judged = [item for item in known if item in labels]
    others = [item for item in known if item not in labels]
    return prediction_powered(
        measure, [labels[item] for item in judged], [known[item] for item in judged], [known[item] for item in others],
        clusters=[conversations.get(item, item) for item in judged],
        other_clusters=[conversations.get(item, item) for item in others],
    ) if others and judged else None  # fmt: skip


def _words(question: str) -> str:
    return " ".join(question.casefold().split())
