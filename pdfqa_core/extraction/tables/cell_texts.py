"""Printed lines as rows of cells: which words make one cell, and whether it holds a value. One line at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.extraction.grouping import grouped
from pdfqa_core.extraction.raw_page import TableCell, TextLine
from pdfqa_core.extraction.tables.thresholds import TableThresholds
from pdfqa_core.extraction.text.words import Word, around, text_of

_CURRENCY = re.compile(r"^(?:[$€£¥₹]|US\$|[A-Z]{2}\$)$")
_VALUE = re.compile(
    r"^[(+\-–—−~<>≤≥±]*\s*(?:[$€£¥₹]|US\$|USD|EUR)?\s*[(+\-–−]?\d[\d.,'’\s]*\)?\s*"
    r"(?:%|‰|pts?|bps|x|[$€£])?\)?\s*%?\s*(?:\(\w\)|\*+|[†‡])?$"
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
