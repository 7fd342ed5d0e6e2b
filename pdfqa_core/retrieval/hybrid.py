"""The LaPraDoR product: semantic similarity times BM25."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import ScoredRow, check_candidates, retrievers
from pdfqa_core.retrieval.bm25 import LexicalRetriever
from pdfqa_core.retrieval.dense import SemanticRetriever
from pdfqa_core.retrieval.postings import Floats, Ints, Mask
from pdfqa_core.types import Query

# ----------------------------------------------------------------------------------------------------
# What retrievers that combine the lexical and the semantic list share.


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


# ----------------------------------------------------------------------------------------------------
# Convex combination of the normalised lexical and semantic scores.


@retrievers.register("convex", "adds both scores, for words and meaning, on one scale")
@dataclass(frozen=True, eq=False)
class ConvexCombination(BothLists):
    """score(p) = weight · norm(cos) + (1 - weight) · norm(BM25) over the union of the `candidates` best of each list.

    norm(s) = (s - m) / (best s of the union - m), where m is the least that a score can be: -1 for the cosine, 0 for
    BM25 (what lies below counts as 0). Inner products have no such least: it is that of the union where it is below -1.
    Source: Bruch, Gai and Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval" (theoretical min-max).
    """

    name: ClassVar[str] = "convex"

    weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight <= 1:
            raise UsageError(f"weight of convex is {self.weight}.", "It must be between 0 and 1.")

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        both = self._candidates(query, k, rows)
        meaning, words = _normalised(both.cosines, float(both.cosines.min(initial=-1))), _normalised(both.bm25, 0.0)
        scores = self.weight * meaning + (1 - self.weight) * words
        return both.found(np.argsort(-scores, kind="stable")[:k], scores)


def _normalised(scores: Floats, least: float) -> Floats:
    above = np.maximum(scores, least) - least
    return np.asarray(above / (above.max() or 1.0))


# ----------------------------------------------------------------------------------------------------
# Reciprocal rank fusion of the lexical and the semantic ranking.


@retrievers.register("rrf", "adds up both ranks, by words and by meaning")
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


# ----------------------------------------------------------------------------------------------------
# The LaPraDoR product: semantic similarity times BM25.


@retrievers.register("hybrid", "multiplies both scores, for words and meaning")
@dataclass(frozen=True, eq=False)
class Hybrid(BothLists):
    """score(q, p) = max(cos(q, p), 0) · BM25(q, p) over the union of the `candidates` best of each list.

    Both parts are exact for every passage of the union. Passages that share no term with the question rank below those
    that do, ordered by similarity; their score, cos - 2, is below every product. Equal products (such as 0) are ordered
    by similarity as well. With the idf of rank-bm25 all terms of an index of few passages can weigh 0 or less: BM25
    counts as 0 then, and similarity alone decides. `clamp` False: the product as it is, of any sign; what shares no
    term has the product 0. Source: Xu et al. 2022, "LaPraDoR".
    """

    name: ClassVar[str] = "hybrid"

    clamp: bool = True

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        both = self._candidates(query, k, rows)
        if self.clamp:
            products = np.maximum(both.cosines, 0) * np.maximum(both.bm25, 0)
            highest = max(1.0, float(both.cosines.max(initial=0)))  # inner products may be above 1
            scores = np.where(both.matched, products, both.cosines - 1 - highest)
        else:
            scores = both.cosines * both.bm25
        # Best score first, then similarity, then the order of the passages (lexsort is stable, its last key leads).
        return both.found(np.lexsort((-both.cosines, -scores))[:k], scores)
