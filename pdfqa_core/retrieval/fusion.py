"""Reciprocal rank fusion of the lexical and the semantic ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import Found, retrievers, union
from pdfqa_core.retrieval.bm25 import best_matching
from pdfqa_core.retrieval.both_lists import BothLists
from pdfqa_core.retrieval.postings import Ints
from pdfqa_core.types import Query


@retrievers.register("rrf", "adds up the ranks of both")
@dataclass(frozen=True, eq=False)
class ReciprocalRankFusion(BothLists):
    """score(p) = Σ over both lists of 1 / (rrf_k + rank of p), for the `candidates` best of each list.

    A passage that is in one list only gets nothing from the other. Source: Cormack, Clarke and Büttcher 2009,
    "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods".
    """

    name: ClassVar[str] = "rrf"

    rrf_k: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rrf_k < 0:
            raise UsageError(f"rrf_k is {self.rrf_k}.", "It must be 0 or more.")

    def _find(self, query: Query, k: int, rows: Ints) -> list[Found]:
        bm25, matched = self._lexical.scores(query)
        vector = self._semantic.vector(query)
        wide = max(k, self.candidates)
        lists = (best_matching(bm25, matched, wide, rows), self._semantic.nearest(vector, wide, rows)[0])
        both = union(*lists)
        cosines = self._semantic.cosines(vector, both)
        scores = np.zeros(len(both))
        for ranked in lists:
            scores[np.searchsorted(both, ranked)] += 1 / (self.rrf_k + np.arange(1, len(ranked) + 1))
        order = np.argsort(-scores, kind="stable")[:k]
        return [
            Found(int(both[i]), float(scores[i]), {"bm25": float(bm25[both[i]]), "dense": float(cosines[i])})
            for i in order
        ]
