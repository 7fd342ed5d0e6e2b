"""Lexical retrieval: BM25 over the index terms of heading and text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.analysis import AUTO, Analysis
from pdfqa_core.retrieval.base import IndexRetriever, ScoredRow, retrievers
from pdfqa_core.retrieval.index import Index
from pdfqa_core.retrieval.postings import LUCENE, Floats, Ints, Mask, Postings, Weighted, top
from pdfqa_core.types import Query


@dataclass(frozen=True, eq=False)
class Lexical:
    """BM25 scores of a whole index for given `k1` (term saturation), `b` (length normalisation), `analysis` and `idf`.

    What all questions share is kept with the index. Raises UsageError if k1 is negative or b outside 0..1.
    """

    index: Index
    analysis: Analysis
    k1: float
    b: float
    idf: str

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError(f"BM25 with k1={self.k1} and b={self.b} is not defined.", "Use k1 >= 0 and 0 <= b <= 1.")

    @property
    def _postings(self) -> Postings:
        if not self.analysis.key:
            return self.index.postings
        return self.index.shared(("stems", self.analysis.key), self._stemmed)

    def _stemmed(self) -> Postings:
        postings, only = self.index.postings, self.analysis.only
        if only is not None:
            return postings.joined(only.stems(tuple(postings.vocabulary)))
        languages = list(self.analysis.analysers)
        numbers = {language: number for number, language in enumerate(languages)}
        groups = np.asarray([numbers[passage.language] for passage in self.index.passages], dtype=np.int64)
        return postings.joined_by_group(groups, [partial(self.analysis.names, one) for one in languages])

    @cached_property
    def _weighted(self) -> Weighted:
        def weigh() -> Weighted:
            postings = self._postings
            return Weighted(postings, postings.weights(self.k1, self.b, self.idf))

        return self.index.shared(("bm25", self.analysis.key, self.k1, self.b, self.idf), weigh)

    def prepare(self) -> None:
        """Compute what all questions share."""
        _ = self._weighted

    def asked(self, query: Query) -> AllScores:
        """Return each passage's score and whether it holds any term of the question.

        Stop words are not searched for, unless the question has nothing else.
        """
        return AllScores(*self._weighted.scores(self.analysis.query_terms(query)))


@dataclass(frozen=True, eq=False)
class AllScores:
    """The scores of all passages, and which of them hold a term of the question."""

    scores: Floats
    matched: Mask

    def best(self, k: int, rows: Ints) -> Ints:
        """Return the k best of the passages `rows` that hold a term of the question."""
        if len(rows) < len(self.scores):
            return top(self.scores, k, rows[self.matched[rows]])
        best = top(self.scores, k)
        # Scores of the others are 0: where none of these is among the best, none was in the way of a better one.
        return best if self.matched[best].all() else top(self.scores, k, np.flatnonzero(self.matched))

    def of(self, rows: Ints) -> tuple[Floats, Mask]:
        """Return the scores of the passages `rows`, and whether they hold any term of the question."""
        return self.scores[rows], self.matched[rows]


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
    def _lexical(self) -> Lexical:
        analysis = Analysis.of(self.language, self.stemming, self.stop_words, self.index.languages)
        return Lexical(self.index, analysis, self.k1, self.b, self.idf)

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
