"""Dense retrieval: products of question and passage vectors, exact or, in large indexes, approximate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import IndexRetriever, ScoredRow, retrievers
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.graph import Graph
from pdfqa_core.retrieval.interface import SemanticSearch, Shared
from pdfqa_core.retrieval.postings import Ints, Mask, top
from pdfqa_core.types import Query

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
