"""BM25 in memory: the scores of all passages from their postings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.analysis import Analysis
from pdfqa_core.retrieval.interface import Shared
from pdfqa_core.retrieval.postings import Floats, Ints, Mask, Postings, Weighted, top
from pdfqa_core.types import Passage, Query


@dataclass(frozen=True, eq=False)
class Lexical:
    """BM25 scores of a whole index for given `k1` (term saturation), `b` (length normalisation) and `analysis`.

    What all questions share is kept with the index by `shared`. Raises UsageError if k1 is negative or b outside 0..1.
    """

    postings: Postings
    passages: Sequence[Passage]
    analysis: Analysis
    k1: float
    b: float
    shared: Shared

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError(f"BM25 with k1={self.k1} and b={self.b} is not defined.", "Use k1 >= 0 and 0 <= b <= 1.")

    @property
    def _postings(self) -> Postings:
        if not self.analysis.key:
            return self.postings
        stemmed: Postings = self.shared(("stems", self.analysis.key), self._stemmed)
        return stemmed

    def _stemmed(self) -> Postings:
        postings, only = self.postings, self.analysis.only
        if only is not None:
            return postings.joined(only.stems(tuple(postings.vocabulary)))
        languages = list(self.analysis.analysers)
        numbers = {language: number for number, language in enumerate(languages)}
        groups = np.asarray([numbers[passage.language] for passage in self.passages], dtype=np.int64)
        return postings.joined_by_group(groups, [partial(self.analysis.names, one) for one in languages])

    @cached_property
    def _weighted(self) -> Weighted:
        def weigh() -> Weighted:
            postings = self._postings
            return Weighted(postings, postings.weights(self.k1, self.b))

        weighted: Weighted = self.shared(("bm25", self.analysis.key, self.k1, self.b), weigh)
        return weighted

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
        return best_matching(self.scores, self.matched, k, rows)

    def of(self, rows: Ints) -> tuple[Floats, Mask]:
        """Return the scores of the passages `rows`, and whether they hold any term of the question."""
        return self.scores[rows], self.matched[rows]


def best_matching(scores: Floats, matched: Mask, k: int, rows: Ints) -> Ints:
    """Return the k best of the passages `rows` that hold a term of the question."""
    if len(rows) < len(scores):
        return top(scores, k, rows[matched[rows]])
    best = top(scores, k)
    # Scores of the others are 0: where none of these is among the best, none was in the way of a better one.
    return best if matched[best].all() else top(scores, k, np.flatnonzero(matched))
