"""Rows of tables as a person would read them out: each value with the name of its column, under its row's label.

A table stands in a passage as Markdown. Small models lose the column on the way from the header to a row, and a row by
itself says nothing; so every row is given with its header.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pdfqa_core.reading.facts import stated
from pdfqa_core.text import compared_terms, terms
from pdfqa_core.types import Citation, Hit, Passage

_ROW = re.compile(r"^\|.*\|[ \t]*$", re.MULTILINE)
_DASHES = re.compile(r"\|(?:\s*:?-{3,}:?\s*\|)+\s*$")
_BORDER = re.compile(r"(?<!\\)\|")
_TOTAL = re.compile(r"\W*total\b", re.IGNORECASE)
_IN_SCALE = re.compile(r"\bin\s+(thousand|million|billion)s\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bper\b|\bshares?\b|\bnumber of\b", re.IGNORECASE)  # rows that a scale mostly leaves out
_AMOUNT = re.compile(r"(?!(?:19|20)\d\d$)(?:US)?[$€£]?\s*\(?\s*[$€£]?\s*\d[\d,.]*\s*\)?")
_CURRENCY = re.compile(r"[$€£]")
_NOTES = re.compile(r"(?:\s*(?:\(\d{1,2}\)|\[\d{1,2}\]|[*†‡§®™]))+$")  # marks behind a label
_NOTE_BEHIND = re.compile(r"(?<=[\d%)])\s+\(\d\)$")  # behind a value
ABOVE = 3  # lines above a table in which its scale is looked for


def without_notes(label: str) -> str:
    """Return a label without the marks of footnotes and trademarks behind it: "iPhone® (1)" is "iPhone"."""
    return _NOTES.sub("", label.strip())


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table at `text[start:end]`: its label, the label that it stands under, and (column, value) pairs.

    Labels and values are without the marks of footnotes.

    `scale` is the word that its amounts are given in ("million"), "" where none is said; `currency` the sign that the
    table has before some of them, and means before all.
    """

    start: int
    end: int
    label: str
    under: str
    values: tuple[tuple[str, str], ...]
    scale: str = ""
    currency: str = ""

    @property
    def words(self) -> str:
        """The row in one line: "Net sales: Products: Three months ended June 25, 2022: $ 63,355 million; …"."""
        values = "; ".join(
            f"{column}: {self._said(value)}" if column else self._said(value) for column, value in self.values
        )
        label = f"{self.under.rstrip(':')}: {self.label}" if self.under else self.label
        return f"{label.rstrip(':')}: {values}" if values and label else values or label

    def stands_in(self, text: str, value: str) -> bool:
        """Return whether a text has the number of a cell, as written or in its scale, or its words without one."""
        if numbers := stated(value):
            there = stated(text)
            return numbers <= there or stated(self._said(value)) <= there
        words = " ".join(terms(value))
        return bool(words) and f" {words} " in f" {' '.join(terms(text))} "

    def _said(self, value: str) -> str:
        """Return a value with the currency and the scale of the table, where it is an amount."""
        if not _AMOUNT.fullmatch(value):
            return value
        sign = f"{self.currency} " if self.currency and not _CURRENCY.search(value) else ""
        return f"{sign}{value} {self.scale}".rstrip()


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
    before = 0
    for head, following in pairwise([*heads, len(lines)]):
        columns = _cells(text[slice(*lines[head])])
        scale = _scale(text[before : lines[head][0]])
        found.append(
            Table(
                (lines[head], lines[head + 1]), columns, tuple(_rows(text, lines[head + 2 : following], columns, scale))
            )
        )
        before = lines[following - 1][1]
    return found


def read_out(text: str) -> str:
    """Return a text with each paragraph and each row of a table on a line of its own, rows read out.

    The cells of a row without a header, such as a quoted one, are parted by semicolons.
    """
    found: list[str] = []
    last = 0
    for table in tables(text):
        found += [text[last : table.head[0][0]], *(row.words for row in table.rows)]
        last = table.rows[-1].end if table.rows else table.head[1][1]
    lines = "\n\n".join([*found, text[last:]])
    plain = _ROW.sub(lambda row: f"\n{'; '.join(filter(None, _cells(row[0])))}\n", lines)
    return "\n".join(" ".join(one.split()) for one in re.split(r"\n\s*\n", plain) if one.strip())


def _scale(above: str) -> str:
    """Return the one scale that the lines above a table name, exceptions aside; "" without one, or with several."""
    lines = "\n".join(above.split("\n")[-1 - ABOVE :])
    named = {match[1].casefold() for match in _IN_SCALE.finditer(re.sub(r"\bexcept\b[^\n]*", "", lines))}
    return named.pop() if len(named) == 1 else ""


def _rows(text: str, lines: list[tuple[int, int]], columns: tuple[str, ...], scale: str) -> list[Row]:
    found: list[Row] = []
    under = ""
    for start, end in lines:
        label, *cells = _cells(text[start:end]) or ("",)
        label = without_notes(label) or label
        cells = [_NOTE_BEHIND.sub("", cell) for cell in cells]
        names = (*columns[1:], *[""] * len(cells))[: len(cells)]
        values = tuple((name, cell) for name, cell in zip(names, cells, strict=True) if cell)
        if not values:  # a label of the rows below
            under = label
            found.append(Row(start, end, label, "", ()))
            continue
        found.append(Row(start, end, label, under, values, "" if _COUNTED.search(f"{under} {label}") else scale))
        if _TOTAL.match(label):
            under = ""
    signs = {sign for row in found if row.scale for _, value in row.values for sign in _CURRENCY.findall(value)}
    return [replace(row, currency=min(signs)) if row.scale and len(signs) == 1 else row for row in found]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(" ".join(cell.replace("\\|", "|").split()) for cell in _BORDER.split(line.strip())[1:-1])


# ----------------------------------------------------------------------------------------------------
# Which columns of its rows an answer took.


def taken_from(answer: str, citations: Sequence[Citation], hits: Sequence[Hit]) -> tuple[str, ...]:
    """Return a line for each row of a table that says a sentence (with ✓), and of which the sentence has some values.

    The line names the columns that these stand in, so that a reader sees whether they are those that were asked for.
    """
    texts = {hit.passage.id: hit.passage.text for hit in hits}
    found = []
    for cited in (one for one in citations if one.verified):
        said = answer[cited.start : cited.end]
        for row in (row for table in tables(texts.get(cited.passage_id, "")) for row in table.rows):
            own = texts[cited.passage_id][row.start : row.end].strip()
            named = dict.fromkeys(column for column, _ in row.values if column)
            taken = dict.fromkeys(column for column, value in row.values if column and row.stands_in(said, value))
            if own and own == cited.quote.strip() and taken and len(named) > 1:
                columns = " and ".join(f"“{column}”" for column in taken)
                label = f" of the row “{row.label}”" if row.label else ""
                found.append(f"Taken from the column{'s' * (len(taken) > 1)} {columns}{label}.")
    return tuple(dict.fromkeys(found))


# ----------------------------------------------------------------------------------------------------
# The rows of tables that a question asks for by their label: "What was net income?" asks for the row "Net income".
#
# A passage of figures has few of a question's words, and prose about the same figures has many, so that a search
# alone finds the prose.

LEAST = 0.5  # share of the question's words, by what they are worth, that a row and what stands around it must have


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A row of the passage at this place: the terms of its label, and of what stands above and beside it."""

    place: int
    label: frozenset[str]
    around: frozenset[str]


class TableRows:
    """All rows with values of the tables of some passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._rows = [row for place, passage in enumerate(passages) for row in _labelled(place, passage)]
        self._frequency = Counter(term for row in self._rows for term in row.label | row.around)

    def asked_for(self, question: str, document_ids: Collection[str] = ()) -> Passage | None:
        """Return the passage with the row whose whole label the question has, and most of whose words it shares.

        Words count by their inverse document frequency over rows; those that no row has do not count. Only of these
        documents (none given: of all). None where no such row has LEAST of the question's words around it.
        """
        best: tuple[float, int, int] | None = None
        for language in {passage.language for passage in self._passages}:
            asked = frozenset(compared_terms(question, language)) & self._frequency.keys()
            whole = self._worth(asked)
            for row in self._rows:
                passage = self._passages[row.place]
                if not row.label <= asked or passage.language != language:
                    continue
                if document_ids and passage.document_id not in document_ids:
                    continue
                share = self._worth(asked & (row.label | row.around)) / whole
                key = (share, len(row.label), -row.place)
                if share >= LEAST and (best is None or key > best):
                    best = key
        return None if best is None else self._passages[-best[2]]

    def _worth(self, terms: frozenset[str]) -> float:
        return sum(math.log(1 + len(self._rows) / self._frequency[term]) for term in terms)


def _labelled(place: int, passage: Passage) -> list[_Labelled]:
    found = []
    above = 0
    for table in tables(passage.text):
        title = f"{passage.heading} {passage.text[above : table.head[0][0]]} {' '.join(table.columns)}"
        for row in table.rows:
            label = frozenset(compared_terms(row.label, passage.language))
            if label and row.values:
                around = frozenset(compared_terms(f"{title} {row.under}", passage.language))
                found.append(_Labelled(place, label, around))
        above = table.rows[-1].end if table.rows else table.head[1][1]
    return found
