"""Ratings made in a spreadsheet: into a study that is there, or as a new one of answers that another program gave.

A table is long (columns item, annotator, criterion, value; a row per judgement) or wide (a row per item and a column
for each criterion and annotator, called "answer: Ada"). What is wrong is told by row, all at once, and then nothing is
taken.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pdfqa_core.csv_format import CsvRow, CsvTable, read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import judged
from pdfqa_core.storage.records import Annotator, StudyCopy, StudyTurn
from pdfqa_core.study_types import MISSED, AppliesTo, Criterion, Rating, Study
from pdfqa_core.types import Answer, Turn

FIELDS = ("item", "annotator", "criterion", "value", "comment", "seconds", "rated_at")
ANSWER_FIELDS = ("question", "answer", "conversation")
_MOST_TOLD = 5  # faults that an error lists


@dataclass(frozen=True, slots=True)
class Columns:
    """How a table is read. `names` gives the column of a field of FIELDS or ANSWER_FIELDS where it is called otherwise.

    `annotators` are columns of a wide table that hold one annotator's values of `criterion` each. `annotator` and
    `criterion` stand for all rows of a long table without such columns. `values` gives the values of the scale for
    other words in the cells ("Yes": "1").
    """

    names: Mapping[str, str] = field(default_factory=dict)
    annotators: tuple[str, ...] = ()
    annotator: str = ""
    criterion: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Return what the column of a field is called."""
        return self.names.get(name, name)


@dataclass(frozen=True, slots=True)
class Said:
    """A judgement as a table has it; `row` is that of the spreadsheet."""

    row: int
    item: str
    annotator: str
    criterion: str
    value: str
    comment: str = ""
    seconds: float = 0.0
    rated_at: datetime | None = None


def read_said(data: bytes, columns: Columns) -> tuple[Said, ...]:
    """Return the judgements of a table. Raises UsageError: no table, a column that is missing, no judgement."""
    table = read_csv(data)
    _check_names(table, columns)
    if not columns.annotators and columns.of("value") in table.header:
        found = _long(table, columns)
    else:
        if columns.of("item") not in table.header:
            raise _missing(columns.of("item"), table)
        place = table.header.index(columns.of("item"))
        found = [said for row in table.rows for said in _wide(table, row, columns, row.cells[place].strip())]
    if not found:
        raise UsageError("The table holds no judgement.", f"Columns: {', '.join(table.header)}.")
    return tuple(found)


_MISSED = Criterion(MISSED, ("1", "0"), ("missed", "taken back"), ("", ""), AppliesTo.PASSAGE, "Missed")


def ratings_of(
    said: Sequence[Said], study: Study, turns: Sequence[StudyTurn], annotators: Sequence[str],
    criteria: Sequence[Criterion], values: Mapping[str, str] | None = None,
) -> tuple[Rating, ...]:  # fmt: skip
    """Return the ratings that a table makes in a study. Raises UsageError that names all rows that do not fit.

    A value is one of the criterion's scale, or what its button says; `annotators` are those who have signed in.
    """
    parts = {part.key: part.criterion for one in turns for part in judged(one.turn, criteria)}
    items = {item for item, _ in parts}
    names = {name.casefold(): name for name in annotators}
    faults: list[tuple[int, str]] = []
    seen: dict[tuple[str, str, str], int] = {}
    ratings = []
    now = datetime.now(UTC)
    for one in said:
        name = names.get(one.annotator.casefold(), "")
        criterion = parts.get((one.item, one.criterion))
        if one.criterion == MISSED and one.item.partition("#+")[0] in items:
            criterion = _MISSED
        value = _value(one.value, criterion, values or {}) if criterion else ""
        first = seen.setdefault((one.item, one.annotator.casefold(), one.criterion), one.row)
        if not name:
            faults.append((one.row, f"nobody called {one.annotator!r} has signed in"))
        elif one.item not in items and criterion is None:
            faults.append((one.row, f"there is no item {one.item!r}"))
        elif criterion is None:
            faults.append((one.row, f"{one.criterion!r} is not asked about item {one.item!r}"))
        elif not value:
            faults.append((one.row, f"{one.value!r} is no value of {one.criterion}: {_choices(criterion)}"))
        elif first != one.row:
            faults.append((one.row, f"repeats row {first}"))
        else:
            when = one.rated_at or now
            ratings.append(
                Rating(study.id, one.item, name, one.criterion, value, one.comment, one.seconds, when)
            )  # fmt: skip
    if faults:
        raise _refused(faults, f"Signed in to “{study.name}”: {', '.join(annotators) or 'nobody'}.")
    return tuple(ratings)


def study_of_table(data: bytes, name: str, columns: Columns, criteria: Sequence[Criterion]) -> StudyCopy:
    """Return a study of the answers in a wide table, with the judgements of the people who have columns in it.

    A row is an answer: its columns question and answer, and conversation where there is one; rows of one conversation
    are its turns, in their order. Of a criterion that the program knows the values must be on its scale, of others any
    are taken. Raises UsageError that names all rows that do not fit.
    """
    table = read_csv(data)
    _check_names(table, columns)
    for needed in ("question", "answer"):
        if columns.of(needed) not in table.header:
            raise _missing(columns.of(needed), table)
    known = {one.name: one for one in criteria}
    places = {wanted: table.header.index(columns.of(wanted)) for wanted in ANSWER_FIELDS
              if columns.of(wanted) in table.header}  # fmt: skip
    now = datetime.now(UTC)
    study_id = uuid.uuid4().hex
    talks: dict[str, str] = {}
    counts: dict[str, int] = {}
    turns, ratings, faults = [], [], []
    for row in table.rows:
        cells = {wanted: row.cells[place].strip() for wanted, place in places.items()}
        talk = cells.get("conversation", "") or str(row.number)
        counts[talk] = counts.get(talk, 0) + 1
        turn = Turn(uuid.uuid4().hex, counts[talk], cells["question"], cells["question"], Answer(cells["answer"]))
        title = cells["conversation"] if cells.get("conversation") else cells["question"]
        turns.append(StudyTurn(turn, talks.setdefault(talk, uuid.uuid4().hex), title, {}))
        for said in _wide(table, row, columns, turn.id):
            criterion = known.get(said.criterion)
            value = _value(said.value, criterion, columns.values) if criterion else columns.values.get(
                said.value, said.value
            )  # fmt: skip
            if not value and criterion is not None:
                faults.append((row.number, f"{said.value!r} is no value of {said.criterion}: {_choices(criterion)}"))
            ratings.append(Rating(study_id, turn.id, said.annotator, said.criterion, value, "", 0.0, now))
    if faults:
        raise _refused(faults, "Say what such words mean: --values Yes=1,No=0.")
    if not ratings:
        raise UsageError("The table holds no judgement.", f"Columns: {', '.join(table.header)}.")
    people = tuple(Annotator(one, now) for one in dict.fromkeys(rating.annotator for rating in ratings))
    study = Study(study_id, name, now, "", tuple(one.turn.id for one in turns))
    return StudyCopy(study, tuple(turns), people, tuple(ratings))


def _long(table: CsvTable, columns: Columns) -> list[Said]:
    fixed = {"annotator": columns.annotator, "criterion": columns.criterion}
    for needed in ("item", *(name for name, value in fixed.items() if not value)):
        if columns.of(needed) not in table.header:
            raise _missing(columns.of(needed), table)
    places = {name: table.header.index(columns.of(name)) for name in FIELDS if columns.of(name) in table.header}
    found, faults = [], []
    for row in table.rows:
        cells = {name: row.cells[place].strip() for name, place in places.items()} | {
            name: value for name, value in fixed.items() if value
        }
        try:
            seconds = float(cells.get("seconds") or 0)
            moment = datetime.fromisoformat(cells["rated_at"]) if cells.get("rated_at") else None
        except ValueError as error:
            faults.append((row.number, str(error)))
            continue
        moment = moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
        found.append(
            Said(
                row.number, cells["item"], cells["annotator"], cells["criterion"], cells["value"],
                cells.get("comment", ""), seconds, moment,
            )
        )  # fmt: skip
    if faults:
        raise _refused(faults, "Seconds are numbers, times are written as 2026-03-01T12:30:00.")
    return found


def _wide(table: CsvTable, row: CsvRow, columns: Columns, item: str) -> list[Said]:
    """Return the judgements of a row; cells that are empty hold none."""
    found = []
    for place, head in enumerate(table.header):
        criterion, parted, annotator = head.partition(": ")
        if columns.annotators:
            criterion, annotator = columns.criterion or "answer", head
        value = row.cells[place].strip()
        if value and (head in columns.annotators if columns.annotators else bool(parted)):
            found.append(Said(row.number, item, annotator, criterion, value))
    return found


def _check_names(table: CsvTable, columns: Columns) -> None:
    for name in (*columns.names.values(), *columns.annotators):
        if table.header.count(name) != 1:
            raise _missing(name, table)


def _missing(name: str, table: CsvTable) -> UsageError:
    problem = "twice" if name in table.header else "not"
    return UsageError(
        f"The column {name!r} is {problem} there.",
        f"Columns: {', '.join(table.header)}. Say which is which: --columns item=ID,value=Rating.",
    )


def _value(value: str, criterion: Criterion, values: Mapping[str, str]) -> str:
    """Return the value of the scale that a cell means, empty where there is none."""
    value = values.get(value, value)
    if value in criterion.scale:
        return value
    labels = [label.casefold() for label in criterion.labels]
    return criterion.scale[labels.index(value.casefold())] if value.casefold() in labels else ""


def _choices(criterion: Criterion) -> str:
    pairs = zip(criterion.scale, criterion.labels, strict=True)
    return " or ".join(value if value == label else f"{value} ({label})" for value, label in pairs)


def _refused(faults: Sequence[tuple[int, str]], hint: str) -> UsageError:
    told = "; ".join(f"row {row}: {why}" for row, why in faults[:_MOST_TOLD])
    more = f"; and {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
    return UsageError(f"Nothing was imported, because of {told}{more}.", hint)
