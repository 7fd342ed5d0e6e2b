"""The rows of tables that a question asks for by their label: "What was net income?" asks for the row "Net income".

A passage of figures has few of a question's words, and prose about the same figures has many, so that a search alone
finds the prose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.extremes import first_extreme
from pdfqa_core.reading.question_type import asks_for_value
from pdfqa_core.reading.tables import tables
from pdfqa_core.types import Passage

_ABBREVIATION = re.compile(r"\b[A-Z](?:&?[A-Z])+\b")
_SMALL = frozenset("of the a an per in on for to from by".split())
# Words of time and amount: a row need not have them, its columns or its document often do.
_FREE = frozenset(
    stems("first second third fourth quarter year fiscal month months much many q1 q2 q3 q4 amount total")
)
_YEAR = re.compile(r"(?:19|20)\d\d")
LONGEST_LABEL = 6  # words that an abbreviation stands for
LEAST = 0.5  # share of the question's words that a row and what stands around it must have


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A row of the passage at this place: the stems of its label, and of what stands above and beside it."""

    place: int
    label: frozenset[str]
    around: frozenset[str]


class TableRows:
    """All rows with values of the tables of some passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._rows = [row for place, passage in enumerate(passages) for row in _labelled(place, passage)]
        self._meant = {short: label for passage in passages for label in _labels(passage) for short in _short(label)}

    def asked_for(self, question: str, document_ids: Collection[str] = ()) -> Passage | None:
        """Return the passage with the row whose label the question has as a whole, and most of whose words it shares.

        Labels may be abbreviated: R&D is "Research and development". Only of these documents (none given: of all). None
        where no such row has LEAST of the question's words around it, those of time and amount aside, and for questions
        that ask for no value. A question for the largest or smallest value finds the table that has it.
        """
        here = [one for one in self._passages if not document_ids or one.document_id in document_ids]
        if (compared := first_extreme(question, here)) is not None:
            return here[compared[0]]
        asked = frozenset(stems(_ABBREVIATION.sub(lambda found: self._meant.get(found[0], found[0]), question)))
        if not asks_for_value(question):
            return None
        needed = frozenset(word for word in asked if word not in _FREE and not _YEAR.fullmatch(word))
        best: tuple[float, int, int] | None = None
        for row in self._rows:
            if not row.label <= asked:
                continue
            if document_ids and self._passages[row.place].document_id not in document_ids:
                continue
            shared = asked & (row.label | row.around)
            share = len(shared) / len(shared | needed)
            key = (share, len(row.label), -row.place)
            if share >= LEAST and (best is None or key > best):
                best = key
        return None if best is None else self._passages[-best[2]]


def _labelled(place: int, passage: Passage) -> list[_Labelled]:
    found = []
    above = 0
    for table in tables(passage.text):
        title = f"{passage.heading} {passage.text[above : table.head[0][0]]} {' '.join(table.columns)}"
        for row in table.rows:
            label = frozenset(stems(row.label))
            if label and row.values:
                found.append(_Labelled(place, label, frozenset(stems(f"{title} {row.under}"))))
        above = table.rows[-1].end if table.rows else table.head[1][1]
    return found


def _labels(passage: Passage) -> list[str]:
    return [row.label for table in tables(passage.text) for row in table.rows if row.values]


def _short(label: str) -> tuple[str, ...]:
    """Return what a label of several words is abbreviated to: R&D, SG&A, EPS, GDP."""
    words = re.findall(r"[^\W\d_]+", label)
    letters = ["&" if word.casefold() == "and" else word[0].upper() for word in words]
    if not 2 <= len(words) <= LONGEST_LABEL:
        return ()
    without = [one for one, word in zip(letters, words, strict=True) if word.casefold() not in _SMALL]
    return tuple(short for short in ("".join(letters), "".join(without)) if len(short) > 1)
