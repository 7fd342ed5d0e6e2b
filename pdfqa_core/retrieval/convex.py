"""Convex combination of the normalised lexical and semantic scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import ScoredRow, retrievers
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

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        both = self._candidates(query, k, rows)
        meaning, words = _normalised(both.cosines, -1.0), _normalised(both.bm25, 0.0)
        scores = self.weight * meaning + (1 - self.weight) * words
        return both.found(np.argsort(-scores, kind="stable")[:k], scores)


def _normalised(scores: Floats, least: float) -> Floats:
    above = np.maximum(scores, least) - least
    return np.asarray(above / (above.max() or 1.0))
