"""Lexical retrieval: BM25 over the index terms of heading and text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pdfqa_core.retrieval.analysis import AUTO
from pdfqa_core.retrieval.base import IndexRetriever, ScoredRow, retrievers
from pdfqa_core.retrieval.interface import LexicalSearch, WordRules
from pdfqa_core.retrieval.postings import LUCENE, Ints
from pdfqa_core.types import Query


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
