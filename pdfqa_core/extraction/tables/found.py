"""A table that was found, and how its rows are tidied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.extraction.raw_page import PageTable, TableCell, TextLine, enclosing, grouped
from pdfqa_core.extraction.text.words import Word, around, text_of

# ----------------------------------------------------------------------------------------------------
# Where the search for tables draws its lines: all numbers in one value, so that an experiment can pass another.


@dataclass(frozen=True, slots=True)
class TableThresholds:
    """Lengths in `em` are shares of the font size; other units are named.

    Sources: the 40 cells of four 10-Q filings whose rows and columns `benchmarks/tables.py` checks, and texts
    without tables (Northwind, a book of formulas). A range behind a value is how far it can move, alone, before one of
    118 tables on 181 pages changes; the others can move by half.
    """

    # Strokes (`rulings`)
    thin: float = 2.5  # points: a filled box that is no thicker is a line; from 1.5
    short: float = 4.0  # points: shorter lines part nothing
    same_level: float = 0.8  # points: strokes that lie so close are one
    touch: float = 1.0  # points between the ends of strokes that go on
    slope: float = 0.5  # points that a level or upright line may slope
    faint: int = 0xEC  # of 255: strokes as light as this shade rows, they part nothing

    # Grids (`grids`)
    most_strokes: int = 1_500  # of a page: more are a drawing
    meet: float = 3.0  # points: strokes that end this close to each other meet (pdfplumber's join tolerance)
    filled: float = 0.4  # of the cells of a table hold text
    longest_paragraph: int = 600  # characters of a usual cell; boxes around paragraphs hold more
    across: float = 0.04  # of the words of a table may stand across its lines, as those on the axis of a chart do
    grid_headers: int = 3  # rows that name columns at most

    # Cells of one line (`cell_texts`)
    cell_gap: float = 0.9  # em: wider gaps part cells; 0.72 to 0.99
    header_gap: float = 0.6  # em: the same in header rows, which are set closer; from 0.48
    longest_cell: int = 60  # characters of a cell in a table without numbers

    # Rows that stand below each other (`runs`)
    near: float = 3.4  # em: the next row of a table is no farther (it may leave a row blank); from 3.4
    aligned: float = 0.8  # em: edges that differ less stand below each other
    wrapped: float = 1.3  # em: lines that are no farther apart are wrapped text
    labels: int = 5  # lines without values that may stand between two rows; 3 to 5
    above: float = 14.0  # em above the first row in which names of columns may stand apart, taken for text columns

    # Columns (`columns`)
    strip: float = 1.5  # points: narrower strips part no columns
    crossing: float = 0.06  # of the rows may cross the strip between two columns
    valued: float = 0.6  # of the cells of a column of values are values
    below: float = 0.7  # of the cells of a column share an edge or their middle; up to 0.98
    full: float = 0.7  # of the rows of a table without numbers have a cell in each column
    running_text: float = 0.85  # of their column's width: labels as wide are lines of running text; from 0.85
    text_width: float = 14.0  # em: a column of running text is wider; from 11.2

    # Names of columns (`headers`) and rows of several lines (`aligned`)
    header_near: float = 2.4  # em: the next line of a header is no farther; from 1.68
    header_lines: int = 9  # lines of a header at most; from 6
    centred: float = 0.75  # em by which a name is better centred above more columns than above its own
    tight: float = 0.82  # of the usual distance of rows: closer lines are one row; up to 0.82
    apart: float = 1.05  # of the usual distance of rows: lines farther apart are two rows


DEFAULT = TableThresholds()


# ----------------------------------------------------------------------------------------------------
# Printed lines as rows of cells: which words make one cell, and whether it holds a value. One line at a time.

_CURRENCY = re.compile(r"^(?:[$€£¥₹]|US\$|[A-Z]{2}\$)$")
_NUMBER = r"[+\-–−]?\d[\d.,'’]*\s*%?"
_VALUE = re.compile(  # with what it is of, as in 7.9 ± 0.8, 45 (12 %), 1.7 [1.2, 2.4]
    r"^[(+\-–—−~<>≤≥±]*\s*(?:[$€£¥₹]|US\$|USD|EUR)?\s*[(+\-–−]?\d[\d.,'’\s]*\)?\s*"
    rf"(?:±\s*{_NUMBER}\s*)?(?:\({_NUMBER}\)|[(\[]{_NUMBER}[,;–-]\s*{_NUMBER}[)\]])?\s*"
    r"(?:%|‰|pts?|bps|x|[$€£])?\)?\s*%?\s*(?:\(\w\)|\*+|[†‡]|[¹²³⁰-ⁿʰ-ʸᵃ-ᶻ,]+)?$"
)
_EMPTY = re.compile(r"^(?:[$€£¥]\s*)?(?:[—–−-]+|N/?A|n/?a|NM|nm)\s*%?$")
_YEAR = re.compile(r"^(?:FY\s?)?(?:19|20)\d\d[AEF]?$")
LEADER = re.compile(r"(?:\.\s?){4,}|…")
_MARKER = re.compile(r"^(?:[•◦▪▫‣●○■□▸►➢✓✔∙·*–—-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,5})[.)])$")
EQUATION = re.compile(r"^\(\d{1,3}(?:\.\d{1,3}){0,2}[a-z]?\)$")


class CellText:
    """Words of one line without a wide gap between them.

    `edge` is where its digits end: signs behind them hang over the edge that numbers share. `value`: it is a number,
    an amount, or a sign for none. `year`: it is a year.
    """

    __slots__ = ("edge", "middle", "text", "value", "words", "x0", "x1", "year")

    def __init__(self, words: list[Word]) -> None:
        self.words = words
        self.text = text_of(words)
        self.x0 = words[0].x0
        self.x1 = max([w.x1 for w in words])
        self.middle = (self.x0 + self.x1) / 2
        self.edge = self.x1
        self.value = len(self.text) < 40 and bool(_VALUE.match(self.text) or _EMPTY.match(self.text))
        self.year = self.value and bool(_YEAR.match(self.text))
        if self.value:
            for sign in reversed(self.text.replace(" ", "")):
                if sign not in "%)":
                    break
                self.edge -= (0.89 if sign == "%" else 0.33) * words[-1].size


class PrintedRow:
    """A printed line that may be a row of a table, or one line of it; `numbers` are those of the lines it is made of.

    `years`: its values are years, as in the names of columns. `valued`: it has a value beside its first cell.
    `wide`: it has three or more short cells of words.
    """

    __slots__ = ("cells", "line", "numbers", "valued", "wide", "words", "years")

    def __init__(
        self, numbers: tuple[int, ...], line: TextLine, words: list[Word], thresholds: TableThresholds
    ) -> None:
        self.numbers = numbers
        self.line = line
        self.words = words
        self.cells = cell_texts(words, thresholds.cell_gap)
        first, rest = self.cells[0], self.cells[1:]
        values = [c for c in (self.cells if first.value else rest) if c.value]
        self.years = bool(values) and all(c.year for c in values)
        parted = bool(rest) and not LEADER.search(line.text)
        self.valued = parted and any(c.value for c in rest)
        self.wide = (
            parted
            and len(rest) >= 2
            and all(len(c.text) <= thresholds.longest_cell for c in self.cells)
            and not _MARKER.match(first.text)
            and sum(map(str.isalpha, line.text)) > 0.6 * len(line.text.replace(" ", ""))
        )

    @property
    def celled(self) -> bool:
        """Whether it has cells beside each other, or nothing but values."""
        return len(self.cells) > 1 or all(c.value for c in self.cells)


def cell_texts(words: Sequence[Word], gap: float) -> list[CellText]:
    """Return the words of a line parted at gaps wider than `gap` × font size; a currency sign goes to its number."""

    def joins(cell: list[Word], word: Word) -> bool:
        near = word.x0 - max(w.x1 for w in cell) <= gap * max(cell[-1].size, word.size)
        return near or _belongs(cell, word)

    return [CellText(group) for group in grouped(words, joins)]


def _belongs(before: Sequence[Word], word: Word) -> bool:
    """Return whether a word far from the one before goes with it: a number after its sign, a sign after its number."""
    if len(before) == 1 and _CURRENCY.match(before[0].text):
        return word.text[0].isdigit() or word.text[0] in "(—–-−."
    return word.text in (")", "%", ")%") and before[-1].text[-1:].isdigit()


def cell_of(words: Sequence[Word]) -> TableCell:
    """Return the cell that words make, its lines parted by line breaks."""
    ordered = sorted(words, key=lambda w: w.baseline)
    lines = grouped(ordered, lambda line, w: w.baseline - line[0].baseline < 0.6 * max(w.size, line[0].size))
    text = "\n".join(text_of(sorted(line, key=lambda w: w.x0)) for line in lines)
    return TableCell(text, around(words))


# ----------------------------------------------------------------------------------------------------
# A table that was found, and how its rows are tidied.


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
