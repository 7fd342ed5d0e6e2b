"""Rows of tables as a person would read them out: each value with the name of its column, under its row's label.

A table stands in a passage as Markdown. Small models lose the column on the way from the header to a row, and a row by
itself says nothing; so every row is given with its header.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

_ROW = re.compile(r"^\|.*\|[ \t]*$", re.MULTILINE)
_DASHES = re.compile(r"\|(?:\s*:?-{3,}:?\s*\|)+\s*$")
_BORDER = re.compile(r"(?<!\\)\|")
_TOTAL = re.compile(r"\W*total\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table at `text[start:end]`: its label, the label that it stands under, and (column, value) pairs."""

    start: int
    end: int
    label: str
    under: str
    values: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        """The row in one line: "Net sales: Products: Three months ended June 25, 2022: $ 63,355; …"."""
        values = "; ".join(f"{column}: {value}" if column else value for column, value in self.values)
        label = f"{self.under.rstrip(':')}: {self.label}" if self.under else self.label
        return f"{label.rstrip(':')}: {values}" if values and label else values or label


@dataclass(frozen=True, slots=True)
class Table:
    """The lines of a table in a text: those of its names (start, end), and its rows."""

    head: tuple[tuple[int, int], ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def tables(text: str) -> list[Table]:
    """Return the tables of a text in Markdown; lines between bars without a row of dashes are none."""
    lines = [match.span() for match in _ROW.finditer(text)]
    heads = [place for place in range(len(lines) - 1) if _DASHES.fullmatch(text[slice(*lines[place + 1])])]
    found = []
    for head, following in pairwise([*heads, len(lines)]):
        columns = _cells(text[slice(*lines[head])])
        body = lines[head + 2 : following]
        found.append(Table((lines[head], lines[head + 1]), columns, tuple(_rows(text, body, columns))))
    return found


def _rows(text: str, lines: list[tuple[int, int]], columns: tuple[str, ...]) -> list[Row]:
    found: list[Row] = []
    under = ""
    for start, end in lines:
        label, *cells = _cells(text[start:end]) or ("",)
        names = (*columns[1:], *[""] * len(cells))[: len(cells)]
        values = tuple((name, cell) for name, cell in zip(names, cells, strict=True) if cell)
        if not values:  # a label of the rows below
            under = label
            found.append(Row(start, end, label, "", ()))
            continue
        found.append(Row(start, end, label, under, values))
        if _TOTAL.match(label):
            under = ""
    return found


def _cells(line: str) -> tuple[str, ...]:
    return tuple(" ".join(cell.replace("\\|", "|").split()) for cell in _BORDER.split(line.strip())[1:-1])
