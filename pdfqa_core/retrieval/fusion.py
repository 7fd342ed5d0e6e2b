"""Reciprocal rank fusion of the lexical and the semantic ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import ScoredRow, retrievers
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

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        both = self._candidates(query, k, rows)
        scores = np.zeros(len(both.rows))
        for ranked in both.lists:
            scores[np.searchsorted(both.rows, ranked)] += 1 / (self.rrf_k + np.arange(1, len(ranked) + 1))
        return both.found(np.argsort(-scores, kind="stable")[:k], scores)
