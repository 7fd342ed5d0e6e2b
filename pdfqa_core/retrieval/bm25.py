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
from pdfqa_core.retrieval.postings import Floats, Ints, Mask, Postings, Weighted, top
from pdfqa_core.types import Query


@dataclass(frozen=True, eq=False)
class Lexical:
    """BM25 scores of a whole index for given `k1` (term saturation), `b` (length normalisation) and `analysis`.

    What all questions share is kept with the index. Raises UsageError if k1 is negative or b outside 0..1.
    """

    index: Index
    k1: float
    b: float
    analysis: Analysis

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
            return Weighted(postings, postings.weights(self.k1, self.b))

        return self.index.shared(("bm25", self.analysis.key, self.k1, self.b), weigh)

    def prepare(self) -> None:
        """Compute what all questions share."""
        _ = self._weighted

    def scores(self, query: Query) -> tuple[Floats, Mask]:
        """Return each passage's score and whether it holds any term of the question.

        Stop words are not searched for, unless the question has nothing else.
        """
        return self._weighted.scores(self.analysis.query_terms(query))


def best_matching(scores: Floats, matched: Mask, k: int, rows: Ints) -> Ints:
    """Return the k best of the passages `rows` that hold a term of the question."""
    if len(rows) < len(scores):
        return top(scores, k, rows[matched[rows]])
    best = top(scores, k)
    # Scores of the others are 0: where none of these is among the best, none was in the way of a better one.
    return best if matched[best].all() else top(scores, k, np.flatnonzero(matched))


@dataclass(frozen=True, eq=False)
class LexicalRetriever(IndexRetriever):
    """A retriever that compares words."""

    k1: float = 1.5
    b: float = 0.75
    language: str = AUTO
    stemming: bool = False
    stop_words: bool = True

    @cached_property
    def _lexical(self) -> Lexical:
        analysis = Analysis.of(self.language, self.stemming, self.stop_words, self.index.languages)
        return Lexical(self.index, self.k1, self.b, analysis)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lexical.prepare()


@retrievers.register("bm25", "counts matching words; instant, no encoder")
@dataclass(frozen=True, eq=False)
class BM25(LexicalRetriever):
    """BM25Okapi as rank-bm25 defines it; finds only passages that share a term with the question."""

    name: ClassVar[str] = "bm25"

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        scores, matched = self._lexical.scores(query)
        best = best_matching(scores, matched, k, rows)
        return [ScoredRow(int(row), float(scores[row]), {"bm25": float(scores[row])}) for row in best]
