"""What retrievers that combine the lexical and the semantic list share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdfqa_core.retrieval.base import ScoredRow, check_candidates
from pdfqa_core.retrieval.bm25 import LexicalRetriever
from pdfqa_core.retrieval.dense import SemanticRetriever
from pdfqa_core.retrieval.postings import Floats, Ints, Mask
from pdfqa_core.types import Query


@dataclass(frozen=True, eq=False)
class Candidates:
    """The passages `rows` of either list, their scores, and whether they hold a term of the question.

    `lists` are the rows of the lexical and the semantic list, best first. Both scores are exact for every passage.
    """

    lists: tuple[Ints, Ints]
    rows: Ints
    bm25: Floats
    cosines: Floats
    matched: Mask

    def found(self, order: Ints, scores: Floats) -> list[ScoredRow]:
        """Return the candidates at these places with the scores that were made of the two."""
        return [
            ScoredRow(
                int(self.rows[i]), float(scores[i]), {"bm25": float(self.bm25[i]), "dense": float(self.cosines[i])}
            )
            for i in order
        ]


@dataclass(frozen=True, eq=False)
class BothLists(LexicalRetriever, SemanticRetriever):
    """A retriever with BM25 and embeddings; the `candidates` best of each list are combined."""

    candidates: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_candidates(self.name, self.candidates)

    def _candidates(self, query: Query, k: int, rows: Ints) -> Candidates:
        asked = self._lexical.asked(query)
        vector = self._semantic.vector(query)
        wide = max(k, self.candidates)
        lists = (asked.best(wide, rows), self._semantic.nearest(vector, wide, rows)[0])
        both = np.union1d(*lists).astype(np.int64)
        cosines = self._semantic.cosines(vector, both).astype(np.float64)
        bm25, matched = asked.of(both)
        return Candidates(lists, both, bm25, cosines, matched)
