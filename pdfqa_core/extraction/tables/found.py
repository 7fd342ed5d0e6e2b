"""A table that was found, and how its rows are tidied."""

from __future__ import annotations

from dataclasses import dataclass

from pdfqa_core.extraction.raw_page import PageTable, TableCell, enclosing


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table and the numbers of the lines that it is made of."""

    table: PageTable
    lines: tuple[int, ...]


def trimmed(table: PageTable) -> PageTable:
    """Return the table without empty rows and columns."""
    width = len(table.rows[0]) if table.rows else 0
    kept = [c for c in range(width) if any(row[c] is not None for row in table.rows)]
    rows, headers = [], 0
    for number, row in enumerate(table.rows):
        if any(cell is not None for cell in row):
            rows.append(tuple(row[c] for c in kept))
            headers += number < table.header_rows
    return PageTable(tuple(rows), headers)


def signs_joined(table: PageTable) -> PageTable:
    """Return the table with columns that hold only currency signs, or only ")" and "%", joined to their numbers."""
    rows = [list(row) for row in table.rows]
    for column in range(len(rows[0]) if rows else 0):
        body = [row[column].text for row in rows[table.header_rows :] if row[column] is not None]  # type: ignore[union-attr]
        if not body:
            continue
        to = (
            column + 1
            if all(t in "$€£¥" for t in body)
            else column - 1
            if all(t in (")", "%", ")%") for t in body)
            else -1
        )
        if not 0 <= to < len(rows[0]):
            continue
        for number, row in enumerate(rows):
            sign, value = row[column], row[to]
            if sign is None:
                continue
            if value is None:
                row[to] = sign
            elif number >= table.header_rows:
                first, second = (sign, value) if to > column else (value, sign)
                box = enclosing((first.box, second.box))
                row[to] = TableCell(f"{first.text} {second.text}" if to > column else first.text + second.text, box)
            row[column] = None
    return trimmed(PageTable(tuple(tuple(row) for row in rows), table.header_rows))
