"""Cells of tables that can be compared: the number of each, and what a table's rows and columns are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.matching import locate
from pdfqa_core.reading.numbers import numbers
from pdfqa_core.reading.tables import Row, Table, tables
from pdfqa_core.types import Passage

PERIOD = re.compile(
    r"\b(?:FY)?(?:19|20)\d\d\b|\bQ[1-4]\b|\bFY ?\d\d\b|\b(?:january|february|march|april|june|july|august|september|"
    r"october|november|december|(?:first|second|third|fourth) quarter)\b",
    re.IGNORECASE,
)
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
SUM = re.compile(r"\W*(?:(?:sub|grand )?totals?|overall|sum|all|average|mean|median|weighted)\b", re.IGNORECASE)
CHANGE = re.compile(r"\b(?:change|increase|decrease|variance|growth)\b|^%$", re.IGNORECASE)  # a column's name
_SHORT = re.compile(r"[A-Z][A-Z&]{1,4}")  # a name of initials
_SMALL = frozenset("a an and for in of on per the to".split())  # words that initials may leave out
LEAST = 0.7  # share of the question's words that a table and what stands around it must have


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with one number, negative in brackets. `kind` is what it is given in: percent or not, and the unit."""

    row: Row
    column: str
    value: str
    number: float
    kind: tuple[bool, str]

    @property
    def said(self) -> str:
        """The value with the scale of its table."""
        return f"{self.value} {self.row.scale}".rstrip() if self.row.scale and not self.kind[0] else self.value


def cells_of(row: Row) -> Iterator[Cell]:
    """Yield the cells of a row that hold one number each."""
    for column, value in row.values:
        found = numbers(value)
        if len(found) != 1:
            continue
        number = found[0]
        before, after = value[: number.start], value[number.end :]
        below = re.search(r"[(−–-]\s*[$€£]?\s*$", before) is not None
        unit = re.sub(r"[\W\d_]+", " ", f"{before} {after}").strip().casefold()
        yield Cell(row, column, value, -number.value if below else number.value, (number.percent, unit))


def surrounded(passage: Passage) -> Iterator[tuple[Table, frozenset[str], bool]]:
    """Yield each table of a passage with the stems of what names it, and whether none of its rows is missing."""
    above = 0
    for table in tables(passage.text):
        start, end = table.head[0][0], table.rows[-1].end if table.rows else table.head[1][1]
        place = locate(passage, start, end)
        around = stems(f"{passage.heading} {passage.text[above:start]} {' '.join(table.columns)}")
        yield table, frozenset(around), place is not None and place[1:] == (start, end)
        above = end


def name_of(row: Row) -> frozenset[str]:
    """Return the stems of a row's label."""
    return frozenset(stems(row.label))


def with_initials(text: str, names: Iterable[str]) -> str:
    """Return a text with the names of initials that a table has in place of their words.

    "The lowest coefficient of performance" is "The lowest COP" beside a column "COP".
    """
    for short in dict.fromkeys(name for name in names if _SHORT.fullmatch(name)):
        words = list(re.finditer(r"[\w’'-]+", text))
        for first, last in combinations(range(len(words)), 2):
            inside = words[first : last + 1]
            if _SMALL & {inside[0][0].casefold(), inside[-1][0].casefold()}:
                continue
            letters = {"".join(word[0][0] for word in some).upper() for some in (inside, _content(inside))}
            if short.replace("&", "") in letters or short.replace("&", "A") in letters:
                text = f"{text[: inside[0].start()]}{short}{text[inside[-1].end() :]}"
                break
    return text


def _content(words: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    return [word for word in words if word[0].casefold() not in _SMALL]


def covered(needed: frozenset[str], there: frozenset[str]) -> float:
    """Return how many of the words (0..1) a table has."""
    return len(needed & there) / len(needed) if needed else 0.0
