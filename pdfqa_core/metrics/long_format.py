"""Judgements from tables.

The long format has a row per item, annotator and criterion, the wide one a row per item and a column per annotator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.csv_format import CsvTable, read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Judgement

COLUMNS = ("item", "annotator", "criterion", "value")
CONVERSATION = "conversation"  # the column of the conversation that an item comes from
CRITERION = "value"  # what the criterion of a wide table is called, where nobody names it
_ITEM_NAMES = ("item", "id", "item_id", "_id")


@dataclass(frozen=True, slots=True)
class JudgementTable:
    """The judgements of a table; `left_out` counts those that were empty or not among the wanted values."""

    judgements: tuple[Judgement, ...]
    left_out: int = 0


def read_judgements(data: bytes) -> tuple[Judgement, ...]:
    """Return the judgements in a CSV file with the columns item, annotator, criterion and value, and any others.

    White space around the four is not part of them. Raises UsageError that names the row: no content, not UTF-8, a
    missing column, an empty cell among the four, the same item, annotator and criterion twice. Of other columns only
    `conversation` is read.
    """
    return _long(read_csv(data, COLUMNS))


def read_ratings(
    data: bytes,
    *,
    columns: Sequence[str] = (),
    item: str = "",
    criterion: str = CRITERION,
    values: Sequence[str] = (),
) -> JudgementTable:
    """Return the judgements of a table, parted by commas, semicolons or tabs, in the long or the wide format.

    The long format is known by its columns. Of a wide table `columns` are the annotators and `item` names the rows, by
    their number where it is empty; without `columns` the table must hold nothing but the annotators and, before them, a
    column called item or id. An empty cell is no judgement. With `values` only those count as judgements. Raises
    UsageError that names the row or column: as `read_judgements`, and for columns that cannot be told apart, an item
    twice, no judgement at all.
    """
    table = read_csv(data)
    if not columns and set(COLUMNS) <= set(table.header):
        given = _long(read_csv(data, COLUMNS))
        empty = 0
    else:
        given, empty = _wide(table, columns, item, criterion)
    kept = tuple(judgement for judgement in given if not values or judgement.value in values)
    if not kept:
        found = ", ".join(sorted({judgement.value for judgement in given})[:8])
        raise UsageError(
            "No row holds a judgement that counts.",
            f"Values in the file: {found}." if found else "All cells are empty.",
        )
    return JudgementTable(kept, empty + len(given) - len(kept))


def _long(table: CsvTable) -> tuple[Judgement, ...]:
    places = [table.header.index(name) for name in COLUMNS]
    if CONVERSATION in table.header:
        places.append(table.header.index(CONVERSATION))
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for row in table.rows:
        cells = [row.cells[place].strip() for place in places]
        for name, cell in zip(COLUMNS, cells, strict=False):
            if not cell:
                raise UsageError(f"Row {row.number}: the column {name!r} is empty.", "Fill it or remove the row.")
        judgement = Judgement(*cells)
        key = (judgement.item, judgement.annotator, judgement.criterion)
        if key in seen:
            raise UsageError(
                f"Row {row.number} repeats row {seen[key]}: item {key[0]!r}, annotator {key[1]!r}, "
                f"criterion {key[2]!r}.",
                "Keep one of them.",
            )
        seen[key] = row.number
        found.append(judgement)
    if not found:
        raise UsageError("The file has a header but no rows.", "Add one row per item, annotator and criterion.")
    return tuple(found)


def _wide(table: CsvTable, columns: Sequence[str], item: str, criterion: str) -> tuple[tuple[Judgement, ...], int]:
    annotators, item = _columns(table.header, columns, item)
    places = {name: table.header.index(name) for name in annotators}
    names = table.header.index(item) if item else None
    seen: dict[str, int] = {}
    found = []
    empty = 0
    for row in table.rows:
        label = str(row.number) if names is None else row.cells[names].strip()
        if not label:
            raise UsageError(f"Row {row.number}: the column {item!r} is empty.", "Fill it or remove the row.")
        if label in seen:
            raise UsageError(
                f"Row {row.number}: the item {label!r} is in row {seen[label]} already.",
                "Keep one of them, or choose another column with --item.",
            )
        seen[label] = row.number
        for name, place in places.items():
            cell = row.cells[place].strip()
            if cell:
                found.append(Judgement(label, name, criterion, cell))
            else:
                empty += 1
    return tuple(found), empty


def _columns(header: Sequence[str], columns: Sequence[str], item: str) -> tuple[tuple[str, ...], str]:
    listed = ", ".join(header)
    for name in (*columns, *([item] if item else [])):
        if header.count(name) != 1:
            raise UsageError(
                f"The column {name!r} is {'missing' if name not in header else 'there twice'}.", f"Columns: {listed}."
            )
    if columns:
        if len(set(columns)) < 2:
            raise UsageError("Agreement needs the columns of two annotators or more.", f"Columns: {listed}.")
        return tuple(dict.fromkeys(columns)), item
    rest = [name for name in header if name != item]
    if not item and len(header) == 3 and header[0].lower() in _ITEM_NAMES:
        item, *rest = header
    if len(rest) != 2 or rest[0] == rest[1]:
        raise UsageError(
            "Which columns hold the annotators' labels cannot be told.",
            f"Name them with --columns A,B. Columns: {listed}. The long format has {', '.join(COLUMNS)}.",
        )
    return tuple(rest), item
