"""By how much a row of a table changed from one time to another, where a question asks for it.

"What was the change in revenue from 2018 to 2019?" needs a subtraction, "Did sales rise in 2023?" a comparison. A small
language model gets both wrong as often as not, and no passage need say the result in words. For English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.cells import CHANGE, LEAST, PERIOD, SUM, YEAR, Cell, cells_of, covered, name_of, surrounded
from pdfqa_core.reading.numbers import SCALES, claimed, numbers
from pdfqa_core.reading.tables import MONTHS, Table
from pdfqa_core.types import Passage

_UP = "increase[ds]?|increasing|rise[sn]?|rose|rising|grow[sn]?|grew|growing|growth|gain(?:ed|s)?|went up|gone up|go up"
_DOWN = (
    "decrease[ds]?|decreasing|fall[s]?|fell|fallen|falling|decline[ds]?|declining|drop(?:s|ped|ping)?|shrink|shrank|"
    "reduced|reduction|went down|gone down|go down"
)
_RISES = re.compile(rf"\b(?:{_UP}|higher|more|larger|up)\b", re.IGNORECASE)
_FALLS = re.compile(rf"\b(?:{_DOWN}|lower|less|smaller|down)\b", re.IGNORECASE)
_ASKS = re.compile(
    rf"\b(?:chang(?:e[ds]?|ing)|{_UP}|{_DOWN}|(?:higher|lower) than|differ(?:ence|ed|s)?)\b", re.IGNORECASE
)
_REASON = re.compile(
    r"\b(?:why|reasons?|drivers?|drove|driven|causes?|caused|factors?|attribut\w+|due to|because|explain|contribut\w+|"
    r"average (?:annual )?(?:change|increase|decrease|growth|rate)|annuali[sz]ed|compound)\b",
    re.IGNORECASE,
)
# "rise faster than costs", not "higher than in 2022".
_THAN_ANOTHER = re.compile(
    r"\bthan\b(?! (?:(?:in|for|at|during|on) |(?:a|one|the) (?:year|quarter|same)\b|last\b|(?:19|20)\d\d\b))",
    re.IGNORECASE,
)
_NOTHING_BUT_TIME = re.compile(
    r"\b(?:(?:19|20)\d\d|january|february|march|april|may|june|july|august|september|october|november|december|FY|as|at|of|"
    r"\d{1,2})\b|[^\w\s]",
    re.IGNORECASE,
)
# Words of change, time and amount: a table need not have them.
_FREE = frozenset(
    stems(
        "change changed changes changing increase increased decrease decreased rise rose risen rises fall fell fallen "
        "grow grew grown growth decline declined drop dropped gain gained went go gone reduced reduction "
        "up down shrink higher lower difference differ percentage percent amount value total much many "
        "between compared company its s year years quarter month months fiscal fy period ended end "
        "respective previous prior last first second third fourth q1 q2 q3 q4"
    )
)
_MEANT = frozenset(stems("average basic diluted share margin ratio rate"))  # words that make another number of a row
_SPENT = frozenset(stems("cost costs expense expenses expenditure spending"))
ROUNDING = 0.51  # of the last digit that a sentence gives


@dataclass(frozen=True, slots=True)
class Change:
    """Two cells of the row at `text[start:end]`, of an earlier and a later time.

    `label` names the row; `share` (0..1) is how many of the question's words the table has.
    """

    start: int
    end: int
    label: str
    earlier: Cell
    later: Cell
    share: float

    @property
    def by(self) -> float:
        """The later amount less the earlier one, in what the table gives it in; of two in brackets without these."""
        if self.later.number < 0 and self.earlier.number < 0:  # a loss, or costs
            return self.earlier.number - self.later.number
        return self.later.number - self.earlier.number

    @property
    def percent(self) -> float | None:
        """The change in percent of the earlier amount; None of percentages, and where only one of two is below 0."""
        same = self.earlier.number * self.later.number >= 0 and self.earlier.number
        return 100 * self.by / abs(self.earlier.number) if same and not self.earlier.kind[0] else None

    @property
    def words(self) -> str:
        """The finding in a sentence, for a prompt."""
        return f"Comparing the columns of this table, {self.finding}"

    @property
    def finding(self) -> str:
        """What was computed: both numbers, and by how much they differ."""
        earlier, later = (f"{cell.said} ({cell.column})" for cell in (self.earlier, self.later))
        went = f'"{self.label}" went from {earlier} to {later}'
        if not self.by:
            return f"{went}: it did not change."
        percent = "" if self.percent is None else f", by {_shown(abs(self.percent), 1)}%"
        return f"{went}: it {'increased' if self.by > 0 else 'decreased'} by {self._amount}{percent}."

    @property
    def _amount(self) -> str:
        digits = max(_decimals(self.earlier.value), _decimals(self.later.value))
        number = _shown(abs(self.by), digits)
        if self.later.kind[0]:
            return f"{number} percentage points"
        sign = self.later.row.currency or (re.search(r"[$€£]", self.later.value) or [""])[0]
        return f"{sign}{number} {self.later.row.scale}".rstrip()

    def answers(self, question: str) -> bool | None:
        """Return whether the change has the direction that is asked for.

        None where it is to be more or less than something: an amount, or the change of another row.
        """
        if _THAN_ANOTHER.search(question):
            return None
        named = numbers(f"{self.earlier.column} {self.later.column} {self.label}")
        if {one.value for one in numbers(question)} - {one.value for one in named}:
            return None
        direction = self._direction(question)
        return None if direction is None else direction == _sign(self.by)

    def said_by(self, sentence: str) -> bool:
        """Return whether a sentence tells this change: its direction, and no number that is not one of it."""
        return self._about(sentence) and self._direction(sentence) == _sign(self.by) and self.has_numbers_of(sentence)

    def denied_by(self, sentence: str, *, short: bool = False) -> bool:
        """Return whether a sentence tells another direction of the row, or another amount of change."""
        direction = self._direction(sentence)
        if direction is None or (not short and not self._about(sentence)):
            return False
        return direction != _sign(self.by) or not self.has_numbers_of(sentence)

    def has_numbers_of(self, sentence: str) -> bool:
        """Return whether every number of a sentence is one of the two, their difference, or of the names of cells."""
        years = {float(year) for cell in (self.earlier, self.later) for year in YEAR.findall(cell.column)}
        columns = f"{self.earlier.column} {self.later.column} {self.label}"
        named = {number.value for number in claimed(columns)} | years
        worth = [abs(value) for value in (self.by, self.earlier.number, self.later.number)]
        return all(
            any(
                _same(number.value / scale, one)
                for one in self._worths(worth, percent=number.percent)
                for scale in (1.0, *SCALES.values())
            )
            or (not number.percent and number.value in named)
            for number in claimed(sentence)
        )

    def _about(self, sentence: str) -> bool:
        own = frozenset(stems(self.label))
        return len(own & frozenset(stems(sentence))) >= len(own) / 2

    @staticmethod
    def _direction(sentence: str) -> int | None:
        rises, falls = _RISES.search(sentence) is not None, _FALLS.search(sentence) is not None
        if rises == falls:
            return None
        turned = re.search(r"\b(?:not|no|never)\b|n[’']t\b", sentence, re.IGNORECASE) is not None
        return None if turned else (1 if rises else -1)

    def _worths(self, worth: Sequence[float], *, percent: bool) -> Iterator[float]:
        if not percent or self.later.kind[0]:
            yield from worth
        if percent and self.percent is not None:
            yield abs(self.percent)


# Where cells of one thing at several times stand: start, end, what it is called, the label above it, the cells.
_Series: TypeAlias = tuple[int, int, str, str, list[Cell]]


def change(question: str, passage: Passage) -> Change | None:
    """Return the change of a row of a passage's tables that a question asks for.

    None where the question asks for none or for its reason, where no row has its whole label in the question and LEAST
    of the question's words around it, and where it could mean several rows or times. Where times are rows, columns take
    the place of these.
    """
    if _ASKS.search(question) is None or _REASON.search(question) is not None:
        return None
    words = frozenset(stems(question))
    years = tuple(sorted(set(YEAR.findall(question))))
    needed = words - _FREE - frozenset(years)
    for spent in (False, True):  # "energy costs" of the row "Energy", where no table is named as a whole
        found: list[Change] = []
        for table, around, _ in surrounded(passage):
            money = _money(table) if spent else frozenset()
            for start, end, label, under, cells in (*_rows(table, words, question), *_columns(table, words)):
                own = frozenset(stems(f"{under} {label}"))
                share = covered(needed, around | own | (frozenset() if under else money)) if needed else 1.0
                pair = _pair(cells, years) if share >= LEAST and words & _MEANT <= own else None
                if pair is not None:
                    found.append(Change(start, end, label, *pair, share))
        best = max(found, key=lambda one: one.share, default=None)
        if best is not None:
            return None if any(one.share == best.share and one.words != best.words for one in found) else best
    return None


def _money(table: Table) -> frozenset[str]:
    """Return words for money that goes out, where one of a table's rows has one: "Staff costs" beside "Energy"."""
    return _SPENT if any(_SPENT & name_of(row) for row in table.rows) else frozenset()


def _rows(table: Table, words: frozenset[str], question: str) -> Iterator[_Series]:
    """Yield the rows whose whole label is in the question, those with the longest, by the times of their columns."""
    named = [row for row in table.rows if row.values and (own := name_of(row)) and own <= words]
    longest = max((len(name_of(row)) for row in named), default=0)
    for row in named:
        if len(name_of(row)) == longest:
            cells = [
                cell for cell in cells_of(row.within(question))
                if PERIOD.search(cell.column) and not CHANGE.search(cell.column) and not SUM.match(cell.column)
            ]  # fmt: skip
            yield row.start, row.end, row.label, row.under, cells


def _columns(table: Table, words: frozenset[str]) -> Iterator[_Series]:
    """Yield the column whose whole name is in the question, that with the longest, by the times of the rows."""
    dated = [row for row in table.rows if YEAR.search(row.label)]
    names = dict.fromkeys(name for row in dated for name, _ in row.values if name and not YEAR.search(name))
    named = [name for name in names if (own := frozenset(stems(name))) and own <= words]
    longest = max((len(frozenset(stems(name))) for name in named), default=0)
    for name in named:
        if len(frozenset(stems(name))) == longest:
            cells = [replace(cell, column=row.label) for row in dated for cell in cells_of(row) if cell.column == name]
            yield dated[0].start, dated[0].end, name, "", cells


def first_change(question: str, passages: Sequence[Passage]) -> tuple[int, Change] | None:
    """Return the place of the passage with most of the question's words that has such a row, and the change."""
    found = [(place, one) for place, passage in enumerate(passages) if (one := change(question, passage)) is not None]
    return max(found, key=lambda entry: (entry[1].share, -entry[0]), default=None)


def _pair(cells: Sequence[Cell], years: Sequence[str]) -> tuple[Cell, Cell] | None:
    """Return the cells of the earlier and the later time that are asked for; None where several could be meant."""
    cells = [cell for cell in cells if YEAR.search(cell.column)]
    if len(years) > 2 or len({cell.kind for cell in cells}) > 1:
        return None
    there = sorted({_year(cell) for cell in cells})
    if len(years) == 2:
        wanted = (years[0], years[1])
    elif years:
        before = [year for year in there if year < years[0]]
        if years[0] not in there or not before:
            return None
        wanted = (before[-1], years[0])
    elif len(there) == 2:
        wanted = (there[0], there[1])
    else:
        return None
    earlier, later = ([cell for cell in cells if _year(cell) == year] for year in wanted)
    if len(earlier) == len(later) == 1 and _months(earlier[0]) == _months(later[0]):
        return earlier[0], later[0]
    pairs = [(a, b) for a in earlier for b in later if _kind_of_time(a) == _kind_of_time(b)]
    return pairs[0] if len(pairs) == 1 else None


def _months(cell: Cell) -> str:
    """Return how many months a column's name speaks of, as a word; "" where it says nothing of that."""
    found = MONTHS.search(cell.column)
    return str(found[1]).casefold() if found else ""


def _year(cell: Cell) -> str:
    return str(max(YEAR.findall(cell.column)))


def _kind_of_time(cell: Cell) -> str:
    """Return a column's name without its date: what is compared is of the same length of time, and the same thing."""
    return " ".join(_NOTHING_BUT_TIME.sub(" ", cell.column).casefold().split())


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _decimals(value: str) -> int:
    found = re.search(r"\d\.(\d+)", value)
    return len(found[1]) if found else 0


def _shown(number: float, digits: int) -> str:
    return f"{number:,.{digits}f}"


def _same(said: float, meant: float) -> bool:
    """Return whether a number is the other one, rounded to the digits that it has."""
    text = f"{said:.6f}".rstrip("0")
    step = 10.0 ** -len(text.partition(".")[2])
    return abs(said - meant) <= ROUNDING * step
