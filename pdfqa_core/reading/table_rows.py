"""The rows of tables that a question asks for by their label: "What was net income?" asks for the row "Net income".

A passage of figures has few of a question's words, and prose about the same figures has many, so that a search alone
finds the prose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pdfqa_core.reading.tables import tables
from pdfqa_core.text import compared_terms
from pdfqa_core.types import Passage

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
