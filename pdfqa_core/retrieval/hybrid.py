"""The LaPraDoR product: semantic similarity times BM25."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.retrieval.base import Found, retrievers, union
from pdfqa_core.retrieval.bm25 import best_matching
from pdfqa_core.retrieval.both_lists import BothLists
from pdfqa_core.retrieval.postings import Ints
from pdfqa_core.types import Query


@retrievers.register("hybrid", "meaning times matching words (LaPraDoR)")
@dataclass(frozen=True, eq=False)
class Hybrid(BothLists):
    """score(q, p) = max(cos(q, p), 0) · BM25(q, p) over the union of the `candidates` best of each list.

    Both parts are exact for every passage of the union. Passages that share no term with the question rank below those
    that do, ordered by similarity; their score is cos - 2, below every product. Equal products (such as 0) are ordered
    by similarity as well. In an index of very few passages rank-bm25's idf can be 0 or negative for every term: BM25
    counts as 0 then, and similarity alone decides. Source: Xu et al. 2022, "LaPraDoR".
    """

    name: ClassVar[str] = "hybrid"

    def _find(self, query: Query, k: int, rows: Ints) -> list[Found]:
        bm25, matched = self._lexical.scores(query)
        vector = self._semantic.vector(query)
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
