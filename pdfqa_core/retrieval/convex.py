"""Convex combination of the normalised lexical and semantic scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import Found, retrievers, union
from pdfqa_core.retrieval.bm25 import best_matching
from pdfqa_core.retrieval.both_lists import BothLists
from pdfqa_core.retrieval.postings import Floats, Ints
from pdfqa_core.types import Query


@retrievers.register("convex", "adds up the scores of both, brought to one scale")
@dataclass(frozen=True, eq=False)
class ConvexCombination(BothLists):
    """score(p) = weight · norm(cos) + (1 - weight) · norm(BM25) over the union of the `candidates` best of each list.

    norm(s) = (s - m) / (best s of the union - m), where m is the least that a score can be: -1 for the cosine, 0 for
    BM25 (what lies below counts as 0). Source: Bruch, Gai and Ingber 2023, "An Analysis of Fusion Functions for Hybrid
    Retrieval" (theoretical min-max).
    """

    name: ClassVar[str] = "convex"

    weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight <= 1:
            raise UsageError(f"weight of convex is {self.weight}.", "It must be between 0 and 1.")

    def _find(self, query: Query, k: int, rows: Ints) -> list[Found]:
        bm25, matched = self._lexical.scores(query)
        vector = self._semantic.vector(query)
        wide = max(k, self.candidates)
        both = union(best_matching(bm25, matched, wide, rows), self._semantic.nearest(vector, wide, rows)[0])
        cosines = self._semantic.cosines(vector, both).astype(np.float64)
        scores = self.weight * _normalised(cosines, -1.0) + (1 - self.weight) * _normalised(bm25[both], 0.0)
        order = np.argsort(-scores, kind="stable")[:k]
        return [
            Found(int(both[i]), float(scores[i]), {"bm25": float(bm25[both[i]]), "dense": float(cosines[i])})
            for i in order
        ]


def _normalised(scores: Floats, least: float) -> Floats:
    above = np.maximum(scores, least) - least
    return np.asarray(above / (above.max() or 1.0))
