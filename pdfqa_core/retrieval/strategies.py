"""The retrievers that search words, meanings or both: BM25, dense retrieval, and ways to fuse the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import (
    IndexRetriever,
    LexicalSearch,
    ScoredRow,
    SemanticSearch,
    Shared,
    WordRules,
    check_candidates,
    retrievers,
)
from pdfqa_core.retrieval.bm25 import AUTO, LUCENE, Floats, Ints, Mask, top
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.graph import Graph
from pdfqa_core.types import Query

# ----------------------------------------------------------------------------------------------------
# Lexical retrieval: BM25 over the index terms of heading and text.


@dataclass(frozen=True, eq=False)
class LexicalRetriever(IndexRetriever):
    """A retriever that compares words."""

    k1: float = 1.5
    b: float = 0.75
    language: str = AUTO
    stemming: bool = False
    stop_words: bool = True
    idf: str = LUCENE

    @cached_property
    def _lexical(self) -> LexicalSearch:
        rules = WordRules(self.k1, self.b, self.language, self.stemming, self.stop_words, self.idf)
        return self.index.lexical(rules)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lexical.prepare()


@retrievers.register("bm25", "counts matching words; instant, no encoder")
@dataclass(frozen=True, eq=False)
class BM25(LexicalRetriever):
    """BM25 with Lucene's idf, or rank-bm25's; finds only passages that share a term with the question."""

    name: ClassVar[str] = "bm25"

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        asked = self._lexical.asked(query)
        best = asked.best(k, rows)
        scores, _ = asked.of(best)
        return [
            ScoredRow(int(row), float(value), {"bm25": float(value)}) for row, value in zip(best, scores, strict=True)
        ]


# ----------------------------------------------------------------------------------------------------
# Products in memory, of all passages or, in large indexes, through an HNSW graph. Those of vectors of length 1 are
# cosines; an encoder that was made for inner products gives vectors of any length.

RECALL = "recall"  # the key under which `shared` holds the recall of approximate search
# What passages count whose meaning has not been read yet: about what an ordinary hit has (of inner products, this share
# of the highest). Words alone order them then.
UNKNOWN = 0.35


@dataclass(frozen=True, eq=False)
class Semantic:
    """Search by the vectors of an index with embeddings; below `exact_below` passages all are compared."""

    embeddings: Vectors
    encoder: TextEncoder
    exact_below: int
    waiting: Mask | None
    folder: Path | None
    shared: Shared

    @property
    def approximate(self) -> bool:
        """Whether the index is so large that a graph is searched."""
        return self.waiting is None and len(self.embeddings) >= self.exact_below

    def _graph(self, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> Graph:
        def make() -> Graph:
            return Graph.open_or_build(self.folder, self.embeddings, on_progress=on_progress, stop=stop)

        graph: Graph = self.shared("graph", make)
        self.shared(RECALL, lambda: graph.recall)
        return graph

    def prepare(self, on_progress: OnProgress | None, stop: StopSignal | None) -> None:
        """Build the graph where one is used."""
        if self.approximate:
            self._graph(on_progress, stop)

    def vector(self, query: Query) -> Vectors:
        """Return the query's vector. Raises ModelError if the index is of another dimension."""
        return query_vector(self.encoder, query, self.embeddings.shape[1] if len(self.embeddings) else 0)

    def cosines(self, vector: Vectors, rows: Ints) -> Vectors:
        """Return the products with the passages `rows`; `UNKNOWN` for those whose vectors have not been made yet."""
        every = len(rows) == len(self.embeddings)
        found = np.asarray((self.embeddings if every else self.embeddings[rows]) @ vector)
        if self.waiting is not None:
            unknown = np.float32(UNKNOWN * max(1.0, float(found.max(initial=0))))
            found = np.where(self.waiting if every else self.waiting[rows], unknown, found)
        return found

    def nearest(self, vector: Vectors, k: int, rows: Ints) -> tuple[Ints, Vectors]:
        """Return the k nearest of the passages `rows`, best first, and their products.

        Exact unless the index is large and searched as a whole.
        """
        if self.waiting is not None:
            rows = rows[~self.waiting[rows]]
        elif self.approximate and len(rows) == len(self.embeddings):
            rows = np.sort(self._graph().candidates(vector, k))
        cosines = self.cosines(vector, rows)
        best = top(cosines, k)
        return rows[best], cosines[best]


def query_vector(encoder: TextEncoder, query: Query, dimension: int) -> Vectors:
    """Return the query's vector; of several texts their weighted sum, as long as they are on average.

    Raises ModelError if it has not `dimension` (0: any) numbers.
    """
    texts = query.dense or ((query.text, 1.0),)
    vectors = encoder.encode([text for text, _ in texts], question=True)
    vector: Vectors = vectors[0]
    if len(texts) > 1:
        vector = np.asarray([weight for _, weight in texts], np.float32) @ vectors
        vector = vector * (np.linalg.norm(vectors, axis=1).mean() / max(float(np.linalg.norm(vector)), 1e-12))
    if dimension and len(vector) != dimension:
        raise ModelError(
            f"The embedding model {encoder.name} makes vectors of {len(vector)} numbers, but those of the "
            f"index have {dimension}: the model was exchanged after the index was built.",
            "Restart the program; the index is built again.",
        )
    return vector


# ----------------------------------------------------------------------------------------------------
# Dense retrieval as a strategy.


@dataclass(frozen=True, eq=False)
class SemanticRetriever(IndexRetriever):
    """A retriever that compares meanings."""

    needs_embeddings: ClassVar[bool] = True

    exact_below: int = 50_000

    @cached_property
    def _semantic(self) -> SemanticSearch:
        return self.index.semantic(self.exact_below)

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Build what approximate search in a large index needs. Raises ModelError, StoppedError."""
        self._semantic.prepare(on_progress, stop)


@retrievers.register("dense", "compares meanings, by an encoder")
@dataclass(frozen=True, eq=False)
class Dense(SemanticRetriever):
    """Cosine of sentence embeddings, or S = Q Pᵀ where the encoder was made for inner products.

    Sources: Reimers and Gurevych 2019, "Sentence-BERT"; Karpukhin et al. 2020, "Dense Passage Retrieval".
    """

    name: ClassVar[str] = "dense"

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        vector = self._semantic.vector(query)
        best, cosines = self._semantic.nearest(vector, k, rows)
        return [
            ScoredRow(int(row), float(value), {"dense": float(value)}) for row, value in zip(best, cosines, strict=True)
        ]


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
