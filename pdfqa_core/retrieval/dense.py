"""Dense retrieval: the cosine of question and passage vectors, exact or, in large indexes, approximate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import IndexRetriever, ScoredRow, retrievers
from pdfqa_core.retrieval.encoder import OnProgress
from pdfqa_core.retrieval.interface import SemanticSearch
from pdfqa_core.retrieval.postings import Ints
from pdfqa_core.types import Query


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


@retrievers.register("dense", "compares meanings by an encoder")
@dataclass(frozen=True, eq=False)
class Dense(SemanticRetriever):
    """Cosine similarity of sentence embeddings. Source: Reimers and Gurevych 2019, "Sentence-BERT"."""

    name: ClassVar[str] = "dense"

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        vector = self._semantic.vector(query)
        best, cosines = self._semantic.nearest(vector, k, rows)
        return [
            ScoredRow(int(row), float(value), {"dense": float(value)}) for row, value in zip(best, cosines, strict=True)
        ]
