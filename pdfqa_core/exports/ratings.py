"""Ratings as a table and as JSONL, one row per item, annotator and criterion; `pdfqa agreement` reads the CSV back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pdfqa_core.exports import frames
from pdfqa_core.exports.frames import COUNT, MOMENT, NUMBER, TEXT, TRUTH, frame, row_blocks, write_frame
from pdfqa_core.exports.jsonl import write_jsonl
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.storage import StudyTurn
from pdfqa_core.study_types import MISSED, Adjudication, Rating, Study
from pdfqa_core.types import Hit

if TYPE_CHECKING:
    from pandas import DataFrame

FORMATS = {**frames.FORMATS, "jsonl": "jsonl", "wide": "wide.csv"}  # by name: how files end


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A rating with everything needed to understand it on its own; the fields are the columns, in this order.

    `outcome` is "answer", "perhaps" or "nothing"; `quote` are the lines before an answer that is not sure, or those
    nearest to the question. `passages` and `pages` ("file p. 7", parted by "; ") are those shown with the answer; for
    the rating of one passage, that one, also where it was `missed`. `thumb` is what the one who asked thought of the
    answer: "up", "down" or nothing. `adjudicated` is the value agreed on later, empty without one; `revised` is what
    the annotator changed theirs to after agreement could be seen. `kind` is "training" or "check" for an item that is
    no part of the results. `seconds` is the time the annotator looked at the item; `rated_at` is in UTC.
    """

    study: str
    item: str
    annotator: str
    criterion: str
    value: str
    comment: str
    adjudicated: str
    revised: str
    kind: str
    conversation: str
    turn: int
    question: str
    standalone_question: str
    answer: str
    refused: bool
    outcome: str
    quote: str
    passages: str
    pages: str
    reader: str
    model: str
    settings_fingerprint: str
    thumb: str
    seconds: float
    rated_at: datetime


_CELLS = attrgetter(*(field.name for field in fields(RatingRow)))


def rating_rows(
    study: Study, turns: Sequence[StudyTurn], ratings: Iterable[Rating], adjudications: Iterable[Adjudication] = (),
    revisions: Iterable[Rating] = (),
) -> tuple[RatingRow, ...]:  # fmt: skip
    """Return one row per rating, in the order of the study's turns, items and annotators as they come.

    Ratings of turns that are not among `turns` are left out. Of `revisions`, oldest first, the last counts.
    """
    later = {(one.annotator, one.item_id, one.criterion): one.value for one in revisions}
    agreed = {(decision.item_id, decision.criterion): decision.value for decision in adjudications}
    by_turn: dict[str, list[Rating]] = {}
    for rating in ratings:
        by_turn.setdefault(rating.turn_id, []).append(rating)
    rows = []
    for one in turns:
        shown: dict[str, tuple[str, str]] = {}  # by rank, for all who rated it
        for rating in by_turn.get(one.turn.id, ()):
            decision = agreed.get((rating.item_id, rating.criterion), "")
            revised = later.get((rating.annotator, rating.item_id, rating.criterion), "")
            rank = rating.item_id.partition("#")[2]
            if rank not in shown:
                shown[rank] = _shown(one, rank)
            rows.append(_row(study, one, rating, decision, revised, shown[rank]))
    return tuple(rows)


def blinded(row: RatingRow) -> RatingRow:
    """Return the row without what tells which system answered, or what the one who asked thought of it."""
    return replace(row, reader="", model="", settings_fingerprint="", thumb="")


def ratings_frame(rows: Iterable[RatingRow]) -> DataFrame:
    """Return the rows as a table; times are in UTC."""
    kinds = {"int": COUNT, "bool": TRUTH, "float": NUMBER, "datetime": MOMENT}
    columns = {field.name: kinds.get(str(field.type), TEXT) for field in fields(RatingRow)}
    return frame(columns, ([getattr(row, name) for name in columns] for row in rows))


def write_ratings(rows: Iterable[RatingRow], kind: str = "csv") -> bytes:
    """Return the rows as a file; `kind` is one of FORMATS. JSON lines hold them exactly."""
    if kind == "jsonl":
        return write_jsonl(rows)
    if kind == "wide":
        return b"".join(row_blocks(*_wide(tuple(rows))))
    if kind == "csv":
        return b"".join(ratings_blocks(rows))
    return write_frame(ratings_frame(rows), kind)


def ratings_blocks(rows: Iterable[RatingRow]) -> Iterator[bytes]:
    """Yield the CSV file of the rows, some of them at a time."""
    return row_blocks([field.name for field in fields(RatingRow)], map(_CELLS, rows))


def _wide(rows: Sequence[RatingRow]) -> tuple[list[str], Iterable[Sequence[Any]]]:
    """Return columns and rows: one for each item, with a column for each criterion and annotator ("answer: Ada")."""
    columns = dict.fromkeys(f"{row.criterion}: {row.annotator}" for row in sorted(rows, key=lambda row: row.criterion))
    items: dict[str, dict[str, str]] = {}
    first: dict[str, RatingRow] = {}
    for row in rows:
        first.setdefault(row.item, row)
        items.setdefault(row.item, {})[f"{row.criterion}: {row.annotator}"] = row.value
    described = ("item", "conversation", "turn", "question", "answer", "passages")
    cells = attrgetter(*described)
    made = ([*cells(first[item]), *(values.get(name, "") for name in columns)] for item, values in items.items())
    return [*described, *columns], made


def _shown(one: StudyTurn, rank: str) -> tuple[str, str]:
    """Return texts and places of an answer's passages, with a rank those of one passage."""
    hits = [hit for hit in one.turn.answer.hits if not rank or str(hit.rank) == rank]
    texts = "\n\n".join([f"[{hit.rank}] {hit.passage.text}" for hit in hits])
    return texts, "; ".join([_place(hit, one.filenames) for hit in hits])


def _row(
    study: Study, one: StudyTurn, rating: Rating, adjudicated: str, revised: str, shown: tuple[str, str]
) -> RatingRow:
    turn, lines = one.turn, lines_of(one.turn.answer)
    missed = rating.comment.partition("\n") if rating.criterion == MISSED else ("", "", "")
    return RatingRow(
        study=study.name,
        item=rating.item_id,
        annotator=rating.annotator,
        criterion=rating.criterion,
        value=rating.value,
        comment=rating.comment,
        adjudicated=adjudicated,
        revised=revised,
        kind=one.details.role,
        conversation=one.conversation_id,
        turn=turn.number,
        question=turn.question,
        standalone_question=turn.standalone_question,
        answer=turn.answer.text,
        refused=turn.answer.refused,
        outcome=turn.answer.outcome.value,
        quote=lines[0].quote if lines else "",
        passages=missed[2] or shown[0],
        pages=missed[0] or shown[1],
        reader=turn.answer.reader,
        model=turn.answer.model,
        settings_fingerprint=turn.answer.settings_fingerprint,
        thumb=turn.thumb,
        seconds=rating.seconds,
        rated_at=rating.rated_at.astimezone(UTC),
    )


def _place(hit: Hit, filenames: Mapping[str, str]) -> str:
    name = filenames.get(hit.passage.document_id, hit.passage.document_id[:12])
    return f"{name} p. {', '.join(map(str, hit.passage.pages))}"
