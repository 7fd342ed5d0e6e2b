"""Judgements from tables.

The long format has a row per item, annotator and criterion, the wide one a row per item and a column per annotator.
"""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.csv_format import CsvTable, read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Judgement

COLUMNS = ("item", "annotator", "criterion", "value")
CONVERSATION = "conversation"  # the column of the conversation that an item comes from
CRITERION = "value"  # what the criterion of a wide table is called, where nobody names it
_ITEM_NAMES = ("item", "id", "item_id", "_id")


def read_ratings(
    data: bytes, *, columns: Sequence[str] = (), item: str = "", criterion: str = CRITERION, values: Sequence[str] = ()
) -> tuple[tuple[Judgement, ...], int]:
    """Return the judgements of a table, and how many cells were left out: empty, or not among the wanted `values`.

    Cells are parted by commas, semicolons or tabs; white space around them is not part of them. A table with the four
    COLUMNS is in the long format, and of its others only `conversation` is read. Of a wide table `columns` are the
    annotators and `item` names the rows, by their number where it is empty; without `columns` the table must hold
    nothing but the annotators and, before them, a column called item or id. Raises UsageError that names the row or
    column: no content, not UTF-8, an empty cell or a repeated row in the long format, columns that cannot be told
    apart, an item twice, no judgement at all.
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
    return kept, empty + len(given) - len(kept)


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
