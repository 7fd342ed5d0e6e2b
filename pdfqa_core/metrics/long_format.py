"""The long CSV format of judgements: one row per item, annotator and criterion."""

from __future__ import annotations

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Judgement

COLUMNS = ("item", "annotator", "criterion", "value")


def read_judgements(data: bytes) -> tuple[Judgement, ...]:
    """Return the judgements in a CSV file with the columns item, annotator, criterion and value, and any others.

    White space around the four is not part of them. Raises UsageError that names the row: no content, not UTF-8, a
    missing column, an empty cell among the four, the same item, annotator and criterion twice.
    """
    table = read_csv(data, COLUMNS)
    places = [table.header.index(name) for name in COLUMNS]
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for row in table.rows:
        cells = [row.cells[place].strip() for place in places]
        for name, cell in zip(COLUMNS, cells, strict=True):
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
