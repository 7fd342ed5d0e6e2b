"""BM25 over an index in LanceDB: its full-text index finds candidates, our formula scores them.

LanceDB's own scores have k1 = 1.2 and b = 0.75, so that they only choose the candidates, several times as many as are
asked for; its idf is evened out by the weights of the words. Words with the same stem are searched for one beside the
other; such a stem counts as frequent as its words together, so that a passage with two of them counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.analysis import Analysis
from pdfqa_core.retrieval.lance.rows import WORDS
from pdfqa_core.retrieval.lance.tables import Columns, Tables
from pdfqa_core.retrieval.postings import Floats, Ints, Mask
from pdfqa_core.types import Query

SMALL = 0.05  # weight of a word that half of the passages have: its idf is 0
LEAST, TIMES = 200, 4  # candidates: at least so many, and so many times what is asked for


@dataclass(frozen=True, eq=False)
class Names:
    """What words are found by (themselves, or their stems), and the idf of each name.

    `words` holds by name and language of a passage the words that go by it, `theirs` the idf that LanceDB gives a word.
    """

    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    idf: Mapping[str, float]
    theirs: Mapping[str, float]

    @classmethod
    def of(cls, vocabulary: Mapping[str, Mapping[str, int]], analysis: Analysis, passages: int) -> Names:
        """Return the names that an analysis gives the words of each language."""
        words: dict[str, dict[str, tuple[str, ...]]] = {}
        counts: Counter[str] = Counter()
        for language, known in vocabulary.items():
            terms = tuple(known)
            only = analysis.only
            names = only.stems(terms) if only is not None else analysis.names(language, terms)
            for name, term in zip(names, terms, strict=True):
                own = words.setdefault(name, {})
                own[language] = (*own.get(language, ()), term)
                counts[name] += known[term]
        found = np.minimum(np.fromiter(counts.values(), np.float64, count=len(counts)), passages)
        idf = np.log(passages - found + 0.5) - np.log(found + 0.5)
        idf[idf < 0] = 0.25 * idf.mean() if len(idf) else 0.0  # as rank-bm25 does it
        each: Counter[str] = Counter()
        for known in vocabulary.values():
            each.update(known)
        stands = np.fromiter(each.values(), np.float64, count=len(each))
        theirs = np.log(1 + (passages - stands + 0.5) / (stands + 0.5))
        return cls(words, dict(zip(counts, idf.tolist(), strict=True)), dict(zip(each, theirs.tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class LanceWords:
    """BM25 for given `k1`, `b` and `analysis`. Raises UsageError if k1 is negative or b outside 0..1."""

    tables: Tables
    columns: Columns
    names: Callable[[], Names]
    languages: Sequence[str]
    languages_of: Callable[[Ints], Sequence[str]]
    where: Callable[[Ints], str]
    analysis: Analysis
    k1: float
    b: float

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError(f"BM25 with k1={self.k1} and b={self.b} is not defined.", "Use k1 >= 0 and 0 <= b <= 1.")

    def prepare(self) -> None:
        """Read the words of all documents."""
        self.names()

    @cached_property
    def average(self) -> float:
        """The average length of a passage in terms."""
        return max(float(self.columns.lengths.mean()) if len(self.columns.lengths) else 0.0, 1e-12)

    def asked(self, query: Query) -> Asked:
        """Return the scores of a question. Stop words are not searched for, unless it has nothing else."""
        known = self.names()
        return Asked(self, {n: w for n, w in self.analysis.query_terms(query).items() if n in known.words})


@dataclass(frozen=True, eq=False)
class Asked:
    """One question, by the names of its words with their weights; scores are kept as they are made."""

    search: LanceWords
    weights: Mapping[str, float]
    _scores: dict[int, tuple[float, bool]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _name_of(self) -> dict[str, dict[str, str]]:
        """What each word of the question goes by, by language of the passage."""
        found: dict[str, dict[str, str]] = {language: {} for language in self.search.languages}
        for name in self.weights:
            for language, words in self.search.names().words[name].items():
                found[language] |= dict.fromkeys(words, name)
        return found

    def best(self, k: int, rows: Ints) -> Ints:
        """Return the k best of the passages `rows` that hold a term of the question, equal ones in their order."""
        weights: dict[str, float] = {}
        known = self.search.names()
        for name_of in self._name_of.values():
            for word, name in name_of.items():
                boost = self.weights[name] * known.idf[name] / known.theirs[word]
                near = round(4 * boost) / 4 if boost > 0.5 else round(boost, 1)  # words of one weight are one query
                weights[word] = max(weights.get(word, SMALL), near)
        if not weights:
            return np.zeros(0, dtype=np.int64)
        ids = self.search.tables.by_words(weights, max(LEAST, TIMES * k), self.search.where(rows))
        found = np.sort(self.search.columns.rows_of(ids))
        scores, matched = self.of(found)
        found, scores = found[matched], scores[matched]
        return np.asarray(found[np.argsort(-scores, kind="stable")[:k]], dtype=np.int64)

    def of(self, rows: Ints) -> tuple[Floats, Mask]:
        """Return the scores of the passages `rows`, and whether they hold any term of the question."""
        missing = np.asarray([row for row in rows.tolist() if row not in self._scores], dtype=np.int64)
        if len(missing) and self.weights:
            self._read(missing)
        nothing = (0.0, False)
        pairs = [self._scores.get(row, nothing) for row in rows.tolist()]
        return np.asarray([score for score, _ in pairs]), np.asarray([found for _, found in pairs], dtype=np.bool_)

    def _read(self, rows: Ints) -> None:
        search, idf = self.search, self.search.names().idf
        texts = search.tables.take(search.columns.ids[rows], WORDS).to_pylist()
        norms = search.k1 * (1 - search.b + search.b * search.columns.lengths[rows] / search.average)
        for row, text, norm, language in zip(rows.tolist(), texts, norms, search.languages_of(rows), strict=True):
            name_of = self._name_of[language]
            counts = Counter(name_of[word] for word in text.split() if word in name_of)
            score = sum(
                self.weights[name] * idf[name] * times * (search.k1 + 1) / (times + norm)
                for name, times in counts.items()
            )
            self._scores[row] = (float(score), bool(counts))
