"""The LaPraDoR product: semantic similarity times BM25."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.retrieval.base import ScoredRow, retrievers
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
    counts as 0 then, and similarity alone decides. `clamp` False: the product as it is, of any sign; what shares no
    term has the product 0. Source: Xu et al. 2022, "LaPraDoR".
    """

    name: ClassVar[str] = "hybrid"

    clamp: bool = True

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        both = self._candidates(query, k, rows)
        if self.clamp:
            products = np.maximum(both.cosines, 0) * np.maximum(both.bm25, 0)
            scores = np.where(both.matched, products, both.cosines - 2)
        else:
            scores = both.cosines * both.bm25
        # Best score first, then similarity, then the order of the passages (lexsort is stable, its last key leads).
        return both.found(np.lexsort((-both.cosines, -scores))[:k], scores)
