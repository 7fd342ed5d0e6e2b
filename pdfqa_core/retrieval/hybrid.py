"""The LaPraDoR product: semantic similarity times BM25."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pdfqa_core.retrieval.base import Found, IndexRetriever, check_candidates, retrievers, union
from pdfqa_core.retrieval.bm25 import Lexical, best_matching
from pdfqa_core.retrieval.dense import Semantic
from pdfqa_core.retrieval.encoder import OnProgress
from pdfqa_core.retrieval.postings import Ints
from pdfqa_core.types import StopSignal


@retrievers.register("hybrid")
@dataclass(frozen=True, eq=False)
class Hybrid(IndexRetriever):
    """score(q, p) = max(cos(q, p), 0) · BM25(q, p) over the union of the `candidates` best of each list.

    Both parts are exact for every passage of the union. Passages that share no term with the question rank below those
    that do, ordered by similarity; their score is cos - 2, below every product. Equal products (such as 0) are ordered
    by similarity as well. In an index of very few passages rank-bm25's idf can be 0 or negative for every term: BM25
    counts as 0 then, and similarity alone decides. Source: Xu et al. 2022, "LaPraDoR".
    """

    name: ClassVar[str] = "hybrid"
    needs_embeddings: ClassVar[bool] = True

    k1: float = 1.5
    b: float = 0.75
    candidates: int = 100
    exact_below: int = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_candidates(self.name, self.candidates)
        self._lexical.prepare()

    @cached_property
    def _lexical(self) -> Lexical:
        return Lexical(self.index, self.k1, self.b)

    @cached_property
    def _semantic(self) -> Semantic:
        return Semantic(self.index, self.exact_below)

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Load the encoder, and build the graph of a large index. Raises ModelError, StoppedError."""
        self._semantic.prepare(on_progress, stop)

    def _find(self, question: str, k: int, rows: Ints) -> list[Found]:
        bm25, matched = self._lexical.scores(question)
        vector = self._semantic.vector(question)
        wide = max(k, self.candidates)
        both = union(best_matching(bm25, matched, wide, rows), self._semantic.nearest(vector, wide, rows)[0])
        cosines = self._semantic.cosines(vector, both).astype(np.float64)
        lexical, found = bm25[both], matched[both]
        scores = np.where(found, np.maximum(cosines, 0) * np.maximum(lexical, 0), cosines - 2)
        # Best score first, then similarity, then the order of the passages (lexsort is stable, its last key leads).
        order = np.lexsort((-cosines, -scores))[:k]
        return [
            Found(int(both[i]), float(scores[i]), {"bm25": float(lexical[i]), "dense": float(cosines[i])})
            for i in order
        ]
