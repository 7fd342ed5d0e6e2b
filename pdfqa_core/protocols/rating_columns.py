"""Which column of a spreadsheet of ratings holds the item, the annotator, the values: guessed by names and by cells.

A field that holds values is called "value:CRITERION/ANNOTATOR"; what is not named there stands in another column of the
row, or is the same for all rows. A criterion about passages has the rank of the passage behind it: "passage#2".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.csv_format import CsvTable, write_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import judged
from pdfqa_core.protocols.gold.columns import Field
from pdfqa_core.protocols.rating_tables import Columns, value_of
from pdfqa_core.reading.outcomes import rated_text
from pdfqa_core.storage.records import StudyTurn
from pdfqa_core.study_types import AppliesTo, Criterion

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
            for one, words in self._asked() for name in self.annotators
        )  # fmt: skip

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
    by_name = {_plain(column): column for column in reversed(table.header)}
    found: dict[str, str] = {}
    for field in ROW:
        column = next((by_name[name] for name in (*field.read, *field.also) if name in by_name), "")
        if column and column not in found.values():
            found[field.name] = column
    exact = {_plain(one.read[0]): one for one in choices.by_both}
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
    for field in choices.by_criterion:
        name = field.name.removeprefix(_VALUE).removesuffix("/")
        criterion = next(one for one in choices.criteria if one.name == name.partition("#")[0])
        wanted = (name, name.replace("#", " "), field.words, criterion.title if "#" not in name else "")
        column = next((by_name[_plain(one)] for one in wanted if _plain(one) in by_name), "")
        if column and column not in found.values() and criterion in _fitting(table, column, choices):
            named[field.name] = column
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
    wanted = {field: column for field, column in chosen.items() if column}
    if "item" not in wanted:
        raise UsageError("No column is chosen for the item.", "Choose the one with the ids, or with the questions.")
    cells: dict[str, tuple[str, str]] = {}
    for field, column in wanted.items():
        if field != "value" and not field.startswith(_VALUE):
            continue
        if column in cells:
            raise UsageError(f"The column {column!r} is chosen twice.", "A column holds one kind of values.")
        criterion, _, annotator = field.removeprefix(_VALUE).partition("/") if field != "value" else ("", "", "")
        cells[column] = (criterion, annotator)
    if not cells:
        raise UsageError("No column is chosen that holds values.", "Choose one at Value, or by criterion or annotator.")
    for place, name in enumerate(("criterion", "annotator")):
        if name not in wanted and not all(one[place] for one in cells.values()):
            raise UsageError(f"It is not clear which {name} the values are for.", f"Choose one at {name.title()}.")
    fixed = {name: wanted[name].removeprefix(FIXED) for name in ("annotator", "criterion")
             if wanted.get(name, "").startswith(FIXED)}  # fmt: skip
    fields = [one.name for one in ROW if one.name != "value" and one.name not in fixed]
    names = {name: wanted.get(name, "") for name in fields}
    return Columns(names, annotator=fixed.get("annotator", ""), criterion=fixed.get("criterion", ""),
                   values=words or {}, cells=cells)  # fmt: skip


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


def _plain(column: str) -> str:
    return " ".join(column.replace("_", " ").split()).lower().replace(" ", "_")
