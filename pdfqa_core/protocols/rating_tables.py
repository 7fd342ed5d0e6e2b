"""Ratings made in a spreadsheet: into a study that is there, or as a new one of answers that another program gave.

A table is long (columns item, annotator, criterion, value; a row per judgement) or wide: a row per item and a column
for each criterion and annotator, called "answer: Ada", or for each criterion, or for each annotator. What is wrong is
told by row and column, all at once, and then nothing is taken.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pdfqa_core.csv_format import CsvRow, CsvTable, is_missing, label_of, read_csv, write_csv
from pdfqa_core.errors import UsageError, first_of
from pdfqa_core.protocols.annotation import commented, judged
from pdfqa_core.protocols.gold.rows import Field
from pdfqa_core.reading.outcomes import rated_text
from pdfqa_core.storage.records import Annotator, StudyCopy, StudyTurn
from pdfqa_core.study_types import MISSED, AppliesTo, Criterion, Rating, Study
from pdfqa_core.types import Answer, Turn

FIELDS = ("item", "annotator", "criterion", "value", "comment", "seconds", "rated_at")
ANSWER_FIELDS = ("question", "answer", "conversation")


@dataclass(frozen=True, slots=True)
class Columns:
    """How a table is read. `names` gives the column of a field of FIELDS or ANSWER_FIELDS where it is called otherwise.

    `annotators` are columns of a wide table that hold one annotator's values of `criterion` each. `annotator` and
    `criterion` stand for all rows of a long table without such columns. `values` gives the values of the scale for
    other words in the cells ("Yes": "1"). `cells` gives for columns that hold values the criterion and the annotator;
    what is empty there is that of the row. A criterion for passages has the rank behind it: "passage#2".
    """

    names: Mapping[str, str] = field(default_factory=dict)
    annotators: tuple[str, ...] = ()
    annotator: str = ""
    criterion: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Return what the column of a field is called."""
        return self.names.get(name, name)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a cell; `row` and `column` are those of the spreadsheet."""

    row: int
    column: str
    why: str

    def __str__(self) -> str:
        return f"row {self.row}, column {self.column!r}: {self.why}" if self.column else f"row {self.row}: {self.why}"


class TableError(UsageError):
    """A table in which cells do not fit; `faults` are all of them."""

    def __init__(self, faults: Sequence[Fault], hint: str) -> None:
        super().__init__(f"Nothing was imported, because of {first_of(list(map(str, faults)))}.", hint)
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Said:
    """A judgement as a table has it; `row` is that of the spreadsheet, `column` the one that holds the value.

    `alone`: it is the only one of its row. `faults` are cells beside it that cannot be read, `where` the columns that
    hold the row's item, annotator and criterion.
    """

    row: int
    item: str
    annotator: str
    criterion: str
    value: str
    comment: str = ""
    seconds: float = 0.0
    rated_at: datetime | None = None
    column: str = "value"
    alone: bool = True
    faults: tuple[Fault, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)

    def fault(self, field_: str, why: str) -> Fault:
        """Return what is wrong with a field of the judgement, in the column where it stands."""
        return Fault(self.row, self.where.get(field_, self.column), why)


def read_said(data: bytes, columns: Columns) -> tuple[Said, ...]:
    """Return the judgements of a table. Raises UsageError: no table, a column that is missing, no judgement."""
    table = read_csv(data)
    _check_names(table, columns)
    cells = _cells(table, columns)
    fields: dict[str, str] = {}
    for name, fixed in {"item": "", "annotator": columns.annotator, "criterion": columns.criterion}.items():
        asked = name == "item" or not all(one[name == "annotator"] for one in cells.values())
        if asked and not fixed and columns.of(name) not in table.header:
            raise _missing(columns.of(name), table)
    for name in FIELDS:
        if columns.of(name) and columns.of(name) in table.header and columns.of(name) not in cells:
            fields[name] = columns.of(name)
    places = {name: table.header.index(column) for name, column in fields.items()}
    values = {place: (head, *cells[head]) for place, head in enumerate(table.header) if head in cells}
    found = [said for row in table.rows for said in _row(row, places, values, columns)]
    if not found:
        raise UsageError("The table holds no judgement.", f"Columns: {', '.join(table.header)}.")
    return tuple(found)


_MISSED = Criterion(MISSED, ("1", "0"), ("missed", "taken back"), ("", ""), AppliesTo.PASSAGE, "Missed")


def ratings_of(
    said: Sequence[Said],
    study: Study,
    turns: Sequence[StudyTurn],
    annotators: Sequence[str],
    criteria: Sequence[Criterion],
    values: Mapping[str, str] | None = None,
) -> tuple[Rating, ...]:
    """Return the ratings that a table makes in a study. Raises UsageError that names all rows that do not fit.

    A value is one of the criterion's scale, or what its button says; `annotators` are those who have signed in. An
    item that is no id is a question that only one answer of the study has.
    """
    known = _Known(turns, criteria)
    names = {name.casefold(): name for name in annotators}
    keeper = commented(criteria).name
    faults: list[Fault] = []
    seen: dict[tuple[str, str, str], int] = {}
    ratings = []
    now = datetime.now(UTC)
    for one in said:
        faults += one.faults
        name = names.get(one.annotator.casefold(), "")
        item, criterion = known.part(one)
        value = value_of(one.value, criterion, values or {}) if criterion else ""
        first = seen.setdefault((item, one.annotator.casefold(), criterion.name if criterion else ""), one.row)
        if not name:
            faults.append(one.fault("annotator", f"nobody called {one.annotator!r} has signed in"))
        elif item not in known.items and criterion is None:
            faults.append(one.fault("item", f"there is no item {item!r}"))
        elif criterion is None:
            faults.append(one.fault("criterion", f"{one.criterion!r} is not asked about item {item!r}"))
        elif not value and one.value and is_missing(one.value):
            continue
        elif not value:
            why = f"{one.value!r} is no value of {criterion.name}: {_choices(criterion)}" if one.value else "is empty"
            faults.append(one.fault("value", why))
        elif first != one.row:
            faults.append(one.fault("value", f"repeats row {first}"))
        else:
            comment = one.comment if one.alone or criterion.name == keeper else ""
            ratings.append(
                Rating(study.id, item, name, criterion.name, value, comment, one.seconds, one.rated_at or now)
            )
    if faults:
        signed_in = ", ".join(annotators) or "nobody"
        raise TableError(list(dict.fromkeys(faults)), f"Signed in to “{study.name}”: {signed_in}.")
    return tuple(ratings)


class _Known:
    """What can be judged in a study, by what a table calls it."""

    def __init__(self, turns: Sequence[StudyTurn], criteria: Sequence[Criterion]) -> None:
        self._parts = {part.key: part.criterion for one in turns for part in judged(one.turn, criteria)}
        self._criteria = {called.casefold(): one.name for one in reversed(criteria) for called in (one.title, one.name)}
        self._asked: dict[str, list[str]] = {}
        for one in turns:
            self._asked.setdefault(_plain(one.turn.question), []).append(one.turn.id)
        self.items = {item for item, _ in self._parts}

    def part(self, said: Said) -> tuple[str, Criterion | None]:
        """Return the item that is meant and what is asked about it, None where it is not asked."""
        criterion, _, rank = said.criterion.partition("#")
        criterion = self._criteria.get(criterion.casefold(), criterion)
        item = said.item
        if item not in self.items and len(found := self._asked.get(_plain(item), [])) == 1:
            item = found[0]
        if criterion == MISSED and item.partition("#+")[0] in self.items:
            return item, _MISSED
        item = f"{item}#{rank}" if rank else item
        return item, self._parts.get((item, criterion))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def study_of_table(
    data: bytes, name: str, columns: Columns, criteria: Sequence[Criterion]
) -> tuple[StudyCopy, tuple[str, ...]]:
    """Return a study of the answers in a table with people's judgements, and a sentence on what was left out.

    The columns question and answer are needed. A wide table has a row for each answer, a long one (annotator,
    criterion, value) for each judgement; rows of one `item` are one answer, in a long table without that column those
    of one conversation, question and answer. Answers of one `conversation` are its turns, in their order. Of a
    criterion that the program knows the values must be on its scale, of others any are taken. Judgements of passages
    (items "TURN#RANK") are left out, as a table has no places of passages. Raises UsageError that names all rows that
    do not fit.
    """
    table = read_csv(data)
    _check_names(table, columns)
    cells = _cells(table, columns)
    long = ("", "") in cells.values()
    for needed in ("question", "answer"):
        if columns.of(needed) not in table.header:
            raise _without_answers(columns.of(needed), table) if long else _missing(columns.of(needed), table)
    for needed, fixed in {"annotator": columns.annotator, "criterion": columns.criterion}.items():
        if long and not fixed and columns.of(needed) not in table.header:
            raise _missing(columns.of(needed), table)
    wanted = (*ANSWER_FIELDS, *FIELDS) if long else (*ANSWER_FIELDS, "item")
    places = {one: table.header.index(columns.of(one)) for one in wanted if columns.of(one) in table.header}
    heads = {table.header.index(column): (column, *cell) for column, cell in cells.items()}
    made = _Answers(name, criteria, columns, table.decimal_comma, long)
    for row in table.rows:
        made.take(row, places, heads)
    return made.study(table), made.notes()


class _Answers:
    """The answers of a table as they are met, with what people said of them."""

    def __init__(
        self, name: str, criteria: Sequence[Criterion], columns: Columns, decimal_comma: bool, long: bool
    ) -> None:
        self._name, self._columns, self._decimal_comma, self._long = name, columns, decimal_comma, long
        self._known = {one.name: one for one in criteria}
        self._id, self._now = uuid.uuid4().hex, datetime.now(UTC)
        self._turns: dict[tuple[str, ...], StudyTurn] = {}
        self._talks: dict[tuple[str, ...], str] = {}
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._ratings: dict[tuple[str, str, str], tuple[int, Rating]] = {}
        self._faults: list[Fault] = []
        self._passages = 0

    def take(self, row: CsvRow, places: Mapping[str, int], heads: Mapping[int, tuple[str, str, str]]) -> None:
        """Take a row in."""
        cells = {wanted: row.cells[place].strip() for wanted, place in places.items()}
        item, rank = _of_passage(cells.get("item", ""))
        said = _row(row, places, heads, self._columns, item or "-")
        if rank:
            self._passages += len(said)
            return
        turn_id = self._turn(row, item, cells)
        for one in said:
            self._faults += one.faults
            self._rate(one, turn_id)

    def _turn(self, row: CsvRow, item: str, cells: Mapping[str, str]) -> str:
        """Return the id of the answer that a row is about."""
        named, question = cells.get("conversation", ""), cells["question"]
        key: tuple[str, ...] = (str(row.number),)
        if self._long:
            key = (item,) if item else (named, question, cells["answer"])
        if key not in self._turns:
            talk = (named,) if named else ("", *key)
            self._counts[talk] += 1
            turn = Turn(uuid.uuid4().hex, self._counts[talk], question, question, Answer(cells["answer"]))
            title = named or question
            self._turns[key] = StudyTurn(turn, self._talks.setdefault(talk, uuid.uuid4().hex), title, {})
        return self._turns[key].turn.id

    def _rate(self, said: Said, turn_id: str) -> None:
        criterion = self._known.get(said.criterion)
        if criterion is None:
            value = self._columns.values.get(said.value, label_of(said.value, self._decimal_comma))
        else:
            value = value_of(said.value, criterion, self._columns.values)
        if is_missing(said.value) and (not value or (criterion is None and is_missing(value))):
            return
        for field_, there in (("annotator", said.annotator), ("criterion", said.criterion)):
            if not there:
                self._faults.append(said.fault(field_, "is empty"))
        if not value and criterion is not None:
            why = f"{said.value!r} is no value of {said.criterion}: {_choices(criterion)}"
            self._faults.append(said.fault("value", why))
        moment = said.rated_at or self._now
        rating = Rating(self._id, turn_id, said.annotator, said.criterion, value, said.comment, said.seconds, moment)
        first, _ = self._ratings.setdefault((turn_id, said.annotator, said.criterion), (said.row, rating))
        if first != said.row:
            self._faults.append(said.fault("value", f"repeats row {first}"))

    def study(self, table: CsvTable) -> StudyCopy:
        """Return the study. Raises UsageError."""
        if self._faults:
            raise TableError(list(dict.fromkeys(self._faults)), "Say what such words mean: --values Yes=1,No=0.")
        ratings = tuple(rating for _, rating in self._ratings.values())
        if not ratings:
            raise UsageError("The table holds no judgement.", f"Columns: {', '.join(table.header)}.")
        turns = tuple(self._turns.values())
        people = tuple(Annotator(one, self._now) for one in dict.fromkeys(rating.annotator for rating in ratings))
        study = Study(self._id, self._name, self._now, "", tuple(one.turn.id for one in turns))
        return StudyCopy(study, turns, people, ratings)

    def notes(self) -> tuple[str, ...]:
        """Return a sentence on what was left out."""
        if not self._passages:
            return ()
        told = f"{self._passages} judgements of passages were left out, as a table has no places of passages"
        return (f"{told}: “pdfqa study export” takes a whole study along.",)


def _of_passage(item: str) -> tuple[str, str]:
    """Return the answer that an item is about, and what of it behind a "#", where it is a passage."""
    answer, _, rank = item.rpartition("#")
    return (answer, rank) if answer and (rank.isdecimal() or rank.startswith("+")) else (item, "")


def _without_answers(name: str, table: CsvTable) -> UsageError:
    return UsageError(
        f"The column {name!r} is not there, and a study needs questions and answers.",
        f"Columns: {', '.join(table.header)}. Ratings alone go into a study that is there (“pdfqa study add-ratings”), "
        "or are compared as they are (“pdfqa agreement”).",
    )


def _cells(table: CsvTable, columns: Columns) -> dict[str, tuple[str, str]]:
    """Return criterion and annotator of each column that holds values; what is empty there is that of the row."""
    if columns.cells:
        return dict(columns.cells)
    if columns.annotators:
        return {name: (columns.criterion or "answer", name) for name in columns.annotators}
    if columns.of("value") in table.header:
        return {columns.of("value"): ("", "")}
    found = {head: (one, name) for head in table.header for one, part, name in [head.partition(": ")] if part}
    if columns.of("item") in table.header and not found and "value" in columns.names:
        raise _missing(columns.of("value"), table)
    return found


def _row(
    row: CsvRow, places: Mapping[str, int], values: Mapping[int, tuple[str, str, str]], columns: Columns, item: str = ""
) -> list[Said]:
    """Return the judgements of a row; empty cells of a table with several columns of values hold none."""
    cells = {name: row.cells[place].strip() for name, place in places.items()}
    faults = []
    seconds, moment = 0.0, None
    try:
        seconds = float(cells.get("seconds", "").replace(",", ".") or 0)
    except ValueError:
        faults.append(Fault(row.number, columns.of("seconds"), f"{cells['seconds']!r} is no number of seconds"))
    try:
        moment = datetime.fromisoformat(cells["rated_at"]) if cells.get("rated_at") else None
    except ValueError:
        why = f"{cells['rated_at']!r} is no time like 2026-03-01T12:30:00"
        faults.append(Fault(row.number, columns.of("rated_at"), why))
    moment = moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
    where = {"item": columns.of("item")}
    found: list[Said] = []
    for place, (column, criterion, annotator) in values.items():
        value = row.cells[place].strip()
        if not value and (criterion or annotator):
            continue
        found.append(
            Said(
                row.number,
                item or cells["item"],
                annotator or columns.annotator or cells["annotator"],
                criterion or columns.criterion or cells["criterion"],
                value,
                cells.get("comment", ""),
                seconds,
                moment,
                column,
                not criterion,
                () if found else tuple(faults),
                where
                | ({} if annotator or columns.annotator else {"annotator": columns.of("annotator")})
                | ({} if criterion or columns.criterion else {"criterion": columns.of("criterion")}),
            )
        )
    return found


def _check_names(table: CsvTable, columns: Columns) -> None:
    for name in (*filter(None, columns.names.values()), *columns.annotators, *columns.cells):
        if table.header.count(name) != 1:
            raise _missing(name, table)


def _missing(name: str, table: CsvTable) -> UsageError:
    problem = "twice" if name in table.header else "not"
    return UsageError(
        f"The column {name!r} is {problem} there.",
        f"Columns: {', '.join(table.header)}. Say which is which: --columns item=ID,value=Rating.",
    )


def value_of(value: str, criterion: Criterion, values: Mapping[str, str]) -> str:
    """Return the value of the scale that a cell means, which a spreadsheet may write as 1,0; empty for other words."""
    value = values.get(value, value)
    if value in criterion.scale or criterion.is_text:
        return value
    labels = [label.casefold() for label in criterion.labels]
    if value.casefold() in labels:
        return criterion.scale[labels.index(value.casefold())]
    number = label_of(value, decimal_comma=True)
    return number if number in criterion.scale else ""


def _choices(criterion: Criterion) -> str:
    pairs = zip(criterion.scale, criterion.labels, strict=True)
    return " or ".join(value if value == label else f"{value} ({label})" for value, label in pairs)


# ----------------------------------------------------------------------------------------------------
# Which column of a spreadsheet of ratings holds the item, the annotator, the values: guessed by names and by cells.
#
# A field that holds values is called "value:CRITERION/ANNOTATOR"; what is not named there stands in another column
# of the row, or is the same for all rows. A criterion about passages has the rank of the passage behind it:
# "passage#2".

ROW = (
    Field("item", "Item", ("item",), ("item_id", "id", "turn_id", "question_id", "question")),
    Field("annotator", "Annotator", ("annotator",), ("rater", "evaluator", "judge", "assessor", "coder")),
    Field("criterion", "Criterion", ("criterion",), ("criteria", "dimension", "aspect")),
    Field("value", "Value", ("value",), ("rating", "score", "label", "verdict", "judgement", "judgment")),
    Field("comment", "Comment", ("comment",), ("comments", "remark", "note", "notes")),
    Field("seconds", "Seconds", ("seconds",), ("duration",)),
    Field("rated_at", "Time", ("rated_at",), ("time", "timestamp", "date")),
)  # fmt: skip
FIXED = "="  # how a choice begins that is the same for all rows, and no column
_VALUE = "value:"


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be chosen: fields of a row, a column for each criterion, for each annotator, and for both."""

    criteria: tuple[Criterion, ...]
    annotators: tuple[str, ...]
    passages: int

    @property
    def by_criterion(self) -> tuple[Field, ...]:
        """Fields for columns that hold the values of one criterion each."""
        return tuple(Field(f"{_VALUE}{name}/", words, ()) for name, words in self._asked())

    @property
    def by_annotator(self) -> tuple[Field, ...]:
        """Fields for columns that hold the values of one annotator each."""
        return tuple(Field(f"{_VALUE}/{name}", name, ()) for name in self.annotators)

    @property
    def by_both(self) -> tuple[Field, ...]:
        """Fields for columns that hold the values of one annotator under one criterion each."""
        return tuple(
            Field(f"{_VALUE}{one}/{name}", f"{words}: {name}", (f"{one}: {name}",))
            for one, words in self._asked()
            for name in self.annotators
        )

    def _asked(self) -> list[tuple[str, str]]:
        found = []
        for one in self.criteria:
            if one.applies_to is AppliesTo.PASSAGE:
                found.append((one.name, f"{one.title} (a row each)"))
                found += [(f"{one.name}#{rank}", f"{one.title} {rank}") for rank in range(1, self.passages + 1)]
            else:
                found.append((one.name, one.title))
        return found


def choices_of(turns: Sequence[StudyTurn], criteria: Sequence[Criterion], annotators: Sequence[str]) -> Choices:
    """Return what can be chosen for a table of a study's ratings."""
    ranks = [hit.rank for one in turns for hit in one.turn.answer.hits]
    return Choices(tuple(criteria), tuple(annotators), max(ranks, default=0))


def guessed(table: CsvTable, choices: Choices) -> dict[str, str]:
    """Return the column of each field, or what is the same for all rows, as far as names and cells say so."""
    by_name = {_plain_column(column): column for column in reversed(table.header)}
    found: dict[str, str] = {}
    for part in ROW:
        column = next((by_name[name] for name in (*part.read, *part.also) if name in by_name), "")
        if column and column not in found.values():
            found[part.name] = column
    exact = {_plain_column(one.read[0]): one for one in choices.by_both}
    both = {exact[name].name: column for name, column in by_name.items() if name in exact}
    if "value" in found or both:
        only = {"annotator", "criterion", "value"} if both and "value" not in found else set()
        return {name: column for name, column in found.items() if name not in only} | both
    people = {one.casefold(): one for one in choices.annotators}
    for column in (one for one in table.header if one not in found.values()):
        if column.strip().casefold() in people and (fits := _fitting(table, column, choices)):
            found[f"{_VALUE}/{people[column.strip().casefold()]}"] = column
            found.setdefault("criterion", FIXED + fits[0].name)
    if not any(name.startswith(_VALUE) for name in found):
        found |= _by_criterion(table, choices, by_name, found)
    if len(choices.annotators) == 1 and not any(name.startswith(f"{_VALUE}/") for name in found):
        found.setdefault("annotator", FIXED + choices.annotators[0])
    return found


def _by_criterion(
    table: CsvTable, choices: Choices, by_name: Mapping[str, str], found: Mapping[str, str]
) -> dict[str, str]:
    named = {}
    for part in choices.by_criterion:
        name = part.name.removeprefix(_VALUE).removesuffix("/")
        criterion = next(one for one in choices.criteria if one.name == name.partition("#")[0])
        wanted = (name, name.replace("#", " "), part.words, criterion.title if "#" not in name else "")
        column = next((by_name[_plain_column(one)] for one in wanted if _plain_column(one) in by_name), "")
        if column and column not in found.values() and criterion in _fitting(table, column, choices):
            named[part.name] = column
    return named


def _fitting(table: CsvTable, column: str, choices: Choices) -> list[Criterion]:
    """Return the criteria that have all values of a column on their scale."""
    place = table.header.index(column)
    cells = {row.cells[place].strip() for row in table.rows} - {""}
    asked = sorted(choices.criteria, key=lambda one: one.applies_to is not AppliesTo.ANSWER)
    return [one for one in asked if cells and all(value_of(cell, one, {}) for cell in cells)]


def columns_of(chosen: Mapping[str, str], words: Mapping[str, str] | None = None) -> Columns:
    """Return how the table is read with these choices; `words` are values by what cells say.

    Raises UsageError where the choices do not say enough.
    """
    wanted = {part: column for part, column in chosen.items() if column}
    if "item" not in wanted:
        raise UsageError("No column is chosen for the item.", "Choose the one with the ids, or with the questions.")
    cells: dict[str, tuple[str, str]] = {}
    for part, column in wanted.items():
        if part != "value" and not part.startswith(_VALUE):
            continue
        if column in cells:
            raise UsageError(f"The column {column!r} is chosen twice.", "A column holds one kind of values.")
        criterion, _, annotator = part.removeprefix(_VALUE).partition("/") if part != "value" else ("", "", "")
        cells[column] = (criterion, annotator)
    if not cells:
        raise UsageError("No column is chosen that holds values.", "Choose one at Value, or by criterion or annotator.")
    for place, name in enumerate(("criterion", "annotator")):
        if name not in wanted and not all(one[place] for one in cells.values()):
            raise UsageError(f"It is not clear which {name} the values are for.", f"Choose one at {name.title()}.")
    fixed = {
        name: wanted[name].removeprefix(FIXED)
        for name in ("annotator", "criterion")
        if wanted.get(name, "").startswith(FIXED)
    }
    fields = [one.name for one in ROW if one.name != "value" and one.name not in fixed]
    names = {name: wanted.get(name, "") for name in fields}
    return Columns(
        names,
        annotator=fixed.get("annotator", ""),
        criterion=fixed.get("criterion", ""),
        values=words or {},
        cells=cells,
    )


def template(turns: Sequence[StudyTurn], criteria: Sequence[Criterion], annotators: Sequence[str]) -> bytes:
    """Return a table to fill in, which is read without a choice: a row per item, a column per criterion and annotator.

    Which system answered does not stand in it.
    """
    people = tuple(annotators) or ("Annotator 1", "Annotator 2")
    asked = {(part.item_id, part.criterion.name) for one in turns for part in judged(one.turn, criteria)}
    heads = [(one.name, name) for one in criteria for name in people]
    rows = []
    for one in turns:
        texts = {one.turn.id: "", **{f"{one.turn.id}#{hit.rank}": hit.passage.text for hit in one.turn.answer.hits}}
        for item, text in texts.items():
            if any((item, criterion.name) in asked for criterion in criteria):
                rows.append([item, one.turn.question, rated_text(one.turn.answer), text, *[""] * len(heads)])
    return write_csv(("item", "question", "answer", "passage", *(f"{one}: {name}" for one, name in heads)), rows)


def _plain_column(column: str) -> str:
    return " ".join(column.replace("_", " ").split()).lower().replace(" ", "_")
