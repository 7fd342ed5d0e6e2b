"""The largest or smallest value of a table that a question asks for, found by comparing the numbers.

"Which region had the highest sales?" compares the rows of a column, "In which year were sales highest?" the columns of
a row. A small language model reads such answers off wrongly, and no passage says them in words. For English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.cells import (
    CHANGE,
    LEAST,
    MONTH,
    PERIOD,
    SUM,
    YEAR,
    Cell,
    cells_of,
    covered,
    name_of,
    surrounded,
    with_initials,
)
from pdfqa_core.reading.numbers import numbers
from pdfqa_core.reading.tables import Row, Table
from pdfqa_core.types import Passage

_LARGEST = "highest largest greatest biggest longest maximum tallest heaviest warmest hottest fastest".split()
_SMALLEST = "lowest smallest least fewest shortest minimum cheapest lightest coldest slowest".split()
_LARGER, _SMALLER = "higher larger greater bigger longer".split(), "lower smaller fewer shorter less".split()
_COMPARED = re.compile(
    rf"(?<!at )(?<!this )\b(?P<large>most|{'|'.join(_LARGEST)})\b(?! recent| of\b| likely| common)"
    rf"|(?<!at )\b(?P<small>{'|'.join(_SMALLEST)})\b(?! likely)"
    rf"|\b(?P<larger>{'|'.join(_LARGER)})\b(?! than\b)|\b(?P<smaller>{'|'.join(_SMALLER)})\b(?! than\b)",
    re.IGNORECASE,
)
_ORDINALS = {"second": 1, "third": 2, "fourth": 3, "fifth": 4}
_ORDINAL = re.compile(rf"\b({'|'.join(_ORDINALS)})[- ]$", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:which|what|who|when|where)\b", re.IGNORECASE)
_MONTHS = re.compile(r"\b(?:which|what) months?\b", re.IGNORECASE)
_PLACES = ("first", *_ORDINALS)
_WORD = re.compile(r"[^\W\d_]{3,}")  # of a label
_TIME = re.compile(
    r"\b(?:(?:which|what)(?: fiscal| financial| calendar)? (?:years?|quarters?|months?|fy)|when)\b", re.I
)
_CHANGES = frozenset(stems("change increase decrease variance growth grow grew fall fell rise rose"))
_FREE = frozenset(
    stems(" ".join([*_LARGEST, *_SMALLEST, *_LARGER, *_SMALLER, *_ORDINALS]))
    + stems("first most amount value year years quarter month months fiscal fy had has have")
)
_NOTHING = ("", "-", "–", "—", "―", "−")
FEWEST_ROWS, FEWEST_COLUMNS = 3, 2  # that are worth comparing


@dataclass(frozen=True, slots=True)
class Extreme:
    """The cell of a table that a question asks for: the row at `text[start:end]`, the names of row and column.

    `strictly`: as the largest of all; else as the larger of two. `order`: 1 for the second largest. `share` (0..1) is
    how many of the question's words the table has. `across`: the columns of a row were compared, not the rows of a
    column.
    """

    largest: bool
    strictly: bool
    order: int
    across: bool
    start: int
    end: int
    label: str
    column: str
    value: str
    share: float

    @property
    def name(self) -> str:
        """What was asked for: the name of the row, or of the column."""
        return self.column if self.across else self.label

    @property
    def words(self) -> str:
        """The finding in a sentence, for a prompt."""
        return f"Comparing the {'columns' if self.across else 'rows'} of this table, {self.finding}"

    @property
    def finding(self) -> str:
        """Which cell it is."""
        order = "" if not self.order else f"{next(word for word, n in _ORDINALS.items() if n == self.order)} "
        degree = ("highest", "lowest") if self.strictly else ("higher", "lower")
        which = f"{order}{degree[not self.largest]}"
        if self.across:
            return f'the {which} "{self.label}" is in {self.column}: {self.value}.'
        of = f'"{self.column}"' if self.column else "value"
        return f"the {which} {of} is that of {self.label}: {self.value}."

    def answers(self, question: str) -> bool | None:
        """Return None: the questions that it is found for ask which, not whether."""
        return None

    def said_by(self, sentence: str) -> bool:
        """Return whether a sentence says of this cell that it is the largest or smallest."""
        compared = _COMPARED.search(sentence)
        if compared is None or not self._named_in(sentence):
            return False
        before = _ORDINAL.search(sentence, 0, compared.start())
        order = _ORDINALS[before[1].casefold()] if before else 0
        return (bool(compared["large"] or compared["larger"]), order) == (self.largest, self.order)

    def has_numbers_of(self, sentence: str) -> bool:
        """Return False: a sentence may have other numbers of the table beside this one."""
        return False

    def denied_by(self, sentence: str, *, short: bool = False) -> bool:
        """Return whether a sentence says of something else, or the other way round, that it is the largest or smallest.

        A `short` answer says so without the word.
        """
        if _COMPARED.search(sentence) is None:
            return short and not self._named_in(sentence)
        return not self.said_by(sentence)

    def _named_in(self, sentence: str) -> bool:
        if frozenset(stems(self.name)) <= frozenset(stems(sentence)):
            return True
        years = frozenset(YEAR.findall(self.name))
        if self.across and years and years <= frozenset(YEAR.findall(sentence)):
            return True
        return {number.key for number in numbers(self.value)} <= {number.key for number in numbers(sentence)}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question compares: the direction, how many places after the best, its stems, whether it asks for a time.

    `strictly`: it has a superlative; "higher" alone compares two. `question`: the whole.
    """

    largest: bool
    order: int
    words: frozenset[str]
    needed: frozenset[str]
    years: frozenset[str]
    time: bool
    strictly: bool
    question: str


def extreme(question: str, passage: Passage) -> Extreme | None:
    """Return the cell of a passage's tables that a question asks for, such as the second largest.

    None where the question asks for none, where no table has LEAST of its words, where it could mean several columns,
    or where the passage has a part of the table only. Rows with totals and averages are not compared.
    """
    found: list[Extreme] = []
    for table, around, whole in surrounded(passage):
        names = (*table.columns, *(row.label for row in table.rows))
        if (asked := _asked(with_initials(question, names))) is None:
            return None
        found += _of_table(asked, table, around, whole)
    best = max(found, key=lambda one: one.share, default=None)
    if best is None or any(one.share == best.share and one.name != best.name for one in found):
        return None
    return best


def first_extreme(question: str, passages: Sequence[Passage]) -> tuple[int, Extreme] | None:
    """Return the place of the passage with most of the question's words that has such a cell, and the cell."""
    found = [(place, one) for place, passage in enumerate(passages) if (one := extreme(question, passage)) is not None]
    return max(found, key=lambda entry: (entry[1].share, -entry[0]), default=None)


def _asked(question: str) -> _Asked | None:
    match = _COMPARED.search(question)
    if match is None or _ASKS.search(question) is None:
        return None
    before = _ORDINAL.search(question, 0, match.start())
    words = frozenset(stems(question))
    largest = bool(match["large"] or match["larger"])
    strictly = bool(match["large"] or match["small"])
    years = frozenset(YEAR.findall(question))
    ends = frozenset(re.findall(r"(?<=\d\d\d\d[–/-])\d\d\b", question))  # of "2022–23"
    order = _ORDINALS[before[1].casefold()] if before else 0
    needed = words - _FREE - years - ends
    return _Asked(largest, order, words, needed, years, _TIME.search(question) is not None, strictly, question)


def _of_table(asked: _Asked, table: Table, around: frozenset[str], whole: bool) -> Iterator[Extreme]:
    rows = [row for row in table.rows if row.values]
    named = [row for row in rows if (own := name_of(row)) and own <= asked.words]
    if _by_month(asked, rows):
        named = []  # "winter 2022–23" is where its months are looked for
    longest = max((len(name_of(row)) for row in named), default=0)
    for row in named:
        if len(name_of(row)) == longest:
            yield from _across(asked, row, around)
    if not named and whole and asked.strictly:
        yield from _down(asked, table, rows, around)


def _across(asked: _Asked, row: Row, around: frozenset[str]) -> Iterator[Extreme]:
    """Compare the columns of a row."""
    cells = [
        cell for cell in cells_of(row) if cell.column and not SUM.match(cell.column) and not CHANGE.search(cell.column)
    ]
    periods = [cell for cell in cells if PERIOD.search(cell.column)]
    if asked.time:
        cells = periods
        if len({YEAR.search(cell.column) is None for cell in cells}) > 1:  # a name was lost
            return
    elif periods:
        return
    share = covered(asked.needed, around | frozenset(stems(f"{row.under} {row.label}")))
    yield from _found(asked, cells, True, share, FEWEST_COLUMNS)


def _down(asked: _Asked, table: Table, rows: Sequence[Row], around: frozenset[str]) -> Iterator[Extreme]:
    """Compare the rows of the column that is asked for, those under one label."""
    groups = dict.fromkeys(row.under for row in rows)
    shared = {under: len(asked.words & frozenset(stems(under))) for under in groups}
    best = max(shared.values(), default=0)
    meant = [under for under in groups if shared[under] == best] if best else [*groups]
    compared = [
        row for row in rows
        if row.label and row.under in meant and not SUM.match(row.label) and any(True for _ in cells_of(row))
    ]  # fmt: skip
    closing = ""
    if _by_month(asked, compared):
        compared, closing = _months(asked, compared)
    dated = [row for row in compared if PERIOD.search(row.label) or MONTH.search(row.label)]
    if bool(dated) != asked.time or (asked.time and len(dated) < len(compared)):
        return
    cells = [cell for row in compared for cell in cells_of(row)]
    of_rows = bool(closing) and asked.years <= frozenset(
        YEAR.findall(f"{closing} {' '.join(r.label for r in compared)}")
    )
    columns = list(dict.fromkeys(cell.column for cell in cells))
    column = _column(replace(asked, years=frozenset()) if of_rows else asked, columns)
    if column is None:
        return
    labels = frozenset(stems(f"{' '.join(meant)} {closing} {' '.join(row.label for row in compared)}"))
    if not (asked.needed & (around | labels)):
        return
    chosen = [cell for cell in cells if cell.column == column]
    without = [dict(row.values).get(column, "") for row in compared if all(cell.row is not row for cell in chosen)]
    if any(not asked.largest or value.strip("$€£ ") not in _NOTHING for value in without):  # it could be the one
        return
    yield from _found(asked, chosen, False, covered(asked.needed, around | labels), FEWEST_ROWS)


def _by_month(asked: _Asked, rows: Sequence[Row]) -> bool:
    """Return whether a month is asked for and rows are months."""
    return _MONTHS.search(asked.question) is not None and any(MONTH.search(row.label) for row in rows)


def _months(asked: _Asked, rows: Sequence[Row]) -> tuple[list[Row], str]:
    """Return the rows of the months that are asked for, and the labels of the rows that close parts of the table.

    A row without a month closes those before it: "Winter 2022–23" behind its six months. A question means the months
    of one such part by its label ("winter 2022–23") or its place ("the second winter"), those of a year by the year.
    """
    parts: list[tuple[str, list[Row]]] = []
    since: list[Row] = []
    for row in rows:
        if MONTH.search(row.label):
            since.append(row)
        elif since:
            parts.append((row.label, since))
            since = []
    labels = " ".join(label for label, _ in parts)
    for place, (label, part) in enumerate(parts):
        ordinal = rf"\b{_PLACES[place]}\s+({'|'.join(map(re.escape, _WORD.findall(label)))})\b" if place < 5 else "(?!)"
        if label.casefold() in asked.question.casefold() or re.search(ordinal, asked.question, re.IGNORECASE):
            return part, labels
    months = [row for row in rows if MONTH.search(row.label)]
    of_year = [row for row in months if asked.years & frozenset(YEAR.findall(row.label))]
    return of_year or months, labels


def _column(asked: _Asked, columns: Sequence[str]) -> str | None:
    """Return the column that shares most words with the question; of several, for different years, the latest."""
    if asked.years:
        columns = [column for column in columns if asked.years & frozenset(YEAR.findall(column))]
    if not asked.words & _CHANGES:
        columns = [column for column in columns if not CHANGE.search(column)]
    shared = [len(asked.words & frozenset(stems(column))) for column in columns]
    best = max(shared, default=0)
    meant = [column for column, count in zip(columns, shared, strict=True) if count == best]
    if len(meant) < 2:
        return meant[0] if meant else None
    years = [max(YEAR.findall(column), default="") for column in meant]
    return meant[years.index(max(years))] if all(years) and len(set(years)) == len(years) else None


def _found(asked: _Asked, cells: Sequence[Cell], across: bool, share: float, fewest: int) -> Iterator[Extreme]:
    if len(cells) < max(fewest, asked.order + 1) or share < LEAST or len({cell.kind for cell in cells}) > 1:
        return
    if not asked.strictly and len(cells) > 2:
        return
    ordered = sorted(cells, key=lambda cell: cell.number, reverse=asked.largest)
    cell = ordered[asked.order]
    if sum(other.number == cell.number for other in cells) > 1:
        return
    row = cell.row
    yield Extreme(
        asked.largest,
        asked.strictly,
        asked.order,
        across,
        row.start,
        row.end,
        row.label,
        cell.column,
        cell.said,
        share,
    )
