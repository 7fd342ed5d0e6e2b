"""BM25: how the terms of passages and questions are compared, which stand where, and the scores; no retriever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from pdfqa_core.errors import UsageError
from pdfqa_core.languages import ENGLISH, NONE, Language, snowball, stop_words
from pdfqa_core.text import terms
from pdfqa_core.types import Query

# ----------------------------------------------------------------------------------------------------
# Index terms of a language: which words of a question do not count, and which words count as one (stems).

LANGUAGES = tuple(language for language in get_args(Language) if language != NONE)
AUTO = "auto"  # each passage in its own language
NOT_FOUND = "\0"  # before a word that no question has


@dataclass(frozen=True)
class Analyser:
    """How words are compared: `language` (or "none"), whether by stem, whether questions lose their stop words.

    Raises UsageError for a language that is not in LANGUAGES, and for stemming without a language.
    """

    language: str = "english"
    stemming: bool = False
    stop_words: bool = True

    def __post_init__(self) -> None:
        if self.language not in (*LANGUAGES, NONE):
            raise UsageError(
                f"There are no stemmer and stop words for the language {self.language!r}.",
                f"Choose one of: {', '.join(LANGUAGES)}; or none.",
            )
        if self.stemming and self.language == NONE:
            raise UsageError("Stemming needs a language.", "Set language, or turn stemming off.")

    def stems(self, vocabulary: Sequence[str]) -> list[str]:
        """Return what each term is compared by: its Snowball stem, or itself where stemming is off."""
        if not self.stemming:
            return list(vocabulary)
        return snowball(self.language, vocabulary)

    def question_terms(self, question: str) -> list[str]:
        """Return what is searched for: the stems of the question's words that are no stop words.

        All words if only stop words are left.
        """
        found = terms(question)
        return self.stems([term for term in found if term not in self.left_out] or found)

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return what is searched for as `question_terms` does, each stem with its weight.

        The weights of a word that stands in several texts, or several times in one, add up.
        """
        found = _weighted(query, self.left_out)
        weights: dict[str, float] = {}
        for stem, (_, weight) in zip(self.stems([term for term, _ in found]), found, strict=True):
            weights[stem] = weights.get(stem, 0.0) + weight
        return weights

    @property
    def left_out(self) -> frozenset[str]:
        """The words of a question that are not searched for."""
        return stop_words(self.language) if self.stop_words and self.language != NONE else frozenset()


@dataclass(frozen=True)
class Analysis:
    """How the words of passages in one or several languages are compared: an analyser for each language."""

    analysers: Mapping[str, Analyser]

    @classmethod
    def of(cls, language: str, stemming: bool, stop_words: bool, present: Iterable[str]) -> Analysis:
        """Return what compares passages in the languages `present` by the rules of `language`; AUTO: of their own.

        Words of languages other than English are then compared by stem, whatever `stemming` says of English: they
        have more endings, and it finds more (benchmarks/retrieval.py). Raises UsageError as `Analyser` does.
        """
        languages = tuple(present) or (ENGLISH,)
        if language != AUTO:
            return cls(dict.fromkeys(languages, Analyser(language, stemming, stop_words)))
        return cls({one: Analyser(one, stemming or one != ENGLISH, stop_words) for one in languages})

    @property
    def only(self) -> Analyser | None:
        """The analyser of all passages; None where they need several."""
        different = set(self.analysers.values())
        return next(iter(different)) if len(different) == 1 else None

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """What names the stems that passages are compared by."""
        used = ((one, analyser.language) for one, analyser in self.analysers.items() if analyser.stemming)
        return tuple(sorted(used))

    def names(self, language: str, vocabulary: Sequence[str]) -> list[str]:
        """Return what the terms of passages in one of several languages are found by.

        Their stop words by nothing: "die" of an English question is no German article.
        """
        analyser = self.analysers[language]
        stems = analyser.stems(vocabulary)
        return [
            NOT_FOUND + term if term in analyser.left_out else stem
            for term, stem in zip(vocabulary, stems, strict=True)
        ]

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return what is searched for, each stem with its weight: the question's words by the stems of each language.

        Stop words are those of the question's language; where that is not known, of every language there is.
        """
        if (only := self.only) is not None:
            return only.query_terms(query)
        own = self.analysers.get(query.language)
        every = frozenset[str]().union(*(one.left_out for one in self.analysers.values()))
        weights: dict[str, float] = {}
        for term, weight in _weighted(query, own.left_out if own is not None else every):
            for stem in dict.fromkeys(analyser.stems([term])[0] for analyser in self.analysers.values()):
                weights[stem] = weights.get(stem, 0.0) + weight
        return weights


def _weighted(query: Query, left_out: frozenset[str]) -> list[tuple[str, float]]:
    """Return the words of a query with the weights of their texts, those left out only if there are no others."""
    texts = query.lexical or ((query.text, 1.0),)
    found = [(term, weight) for text, weight in texts for term in terms(text)]
    return [(term, weight) for term, weight in found if term not in left_out] or found


# ----------------------------------------------------------------------------------------------------
# Which terms stand in which passages, and the BM25 scores that follow: Lucene's or rank-bm25's; no retriever.

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

LUCENE, OKAPI = "lucene", "okapi"  # whose idf weighs the terms


@dataclass(frozen=True, eq=False)
class TermCounts:
    """The terms of some passages, passage by passage.

    Passage i holds the terms `vocabulary[term_ids[j]]`, `counts[j]` times each, for j in indptr[i] to indptr[i + 1].
    """

    vocabulary: tuple[str, ...]
    term_ids: Ints
    counts: Ints
    indptr: Ints

    @classmethod
    def of(cls, tokenised: Iterable[Sequence[str]]) -> TermCounts:
        """Count the terms of each passage."""
        vocabulary: dict[str, int] = {}
        ids: list[int] = []
        counts: list[int] = []
        indptr = [0]
        for tokens in tokenised:
            counted = Counter(tokens)
            ids += [vocabulary.setdefault(term, len(vocabulary)) for term in counted]
            counts += counted.values()
            indptr.append(len(ids))
        return cls(tuple(vocabulary), *(np.asarray(values, dtype=np.int64) for values in (ids, counts, indptr)))

    def valid(self) -> bool:
        """Whether the four parts fit together."""
        ids, size = self.term_ids, len(self.vocabulary)
        return (
            all(part.ndim == 1 for part in (ids, self.counts, self.indptr))
            and len(ids) == len(self.counts)
            and len(self.indptr) > 0
            and self.indptr[0] == 0
            and self.indptr[-1] == len(ids)
            and bool((np.diff(self.indptr) >= 0).all())
            and (len(ids) == 0 or (int(ids.min()) >= 0 and int(ids.max()) < size and int(self.counts.min()) > 0))
        )


@dataclass(frozen=True, eq=False)
class Postings:
    """The passages of each term: term t stands `counts[j]` times in passage `rows[j]`, j in starts[t] to starts[t+1].

    `rows` ascend within a term. `lengths` are the passages' lengths in terms.
    """

    vocabulary: Mapping[str, int]
    starts: Ints
    rows: Ints
    counts: Ints
    lengths: Ints

    @classmethod
    def merged(cls, segments: Sequence[TermCounts]) -> Postings:
        """Return the postings of all segments' passages, numbered in the order of the segments."""
        vocabulary: dict[str, int] = {}
        terms, rows, counts, lengths = [], [], [], []
        offset = 0
        for segment in segments:
            to_all = np.fromiter(
                (vocabulary.setdefault(term, len(vocabulary)) for term in segment.vocabulary),
                dtype=np.int64,
                count=len(segment.vocabulary),
            )
            size = len(segment.indptr) - 1
            terms.append(to_all[segment.term_ids])
            rows.append(np.repeat(np.arange(offset, offset + size), np.diff(segment.indptr)))
            counts.append(segment.counts)
            sums = np.concatenate(([0], np.cumsum(segment.counts)))
            lengths.append(np.diff(sums[segment.indptr]))
            offset += size
        all_terms = _joined(terms)
        order = np.argsort(all_terms, kind="stable")
        frequencies = np.bincount(all_terms, minlength=len(vocabulary))
        starts = np.concatenate(([0], np.cumsum(frequencies))).astype(np.int64)
        return cls(vocabulary, starts, _joined(rows)[order], _joined(counts)[order], _joined(lengths))

    @property
    def size(self) -> int:
        """Number of passages."""
        return len(self.lengths)

    def joined(self, names: Sequence[str]) -> Postings:
        """Return the postings where each term goes by another name, terms of the same name becoming one.

        `names` are in the order of the vocabulary. The lengths stay.
        """
        if len(names) != len(self.vocabulary):
            raise ValueError(f"{len(names)} names for {len(self.vocabulary)} terms")
        vocabulary: dict[str, int] = {}
        to_new = np.fromiter((vocabulary.setdefault(n, len(vocabulary)) for n in names), np.int64, count=len(names))
        if len(vocabulary) == len(names):
            return Postings(vocabulary, self.starts, self.rows, self.counts, self.lengths)
        return self._renamed(vocabulary, np.repeat(to_new, np.diff(self.starts)))

    def joined_by_group(self, groups: Ints, rename: Sequence[Callable[[Sequence[str]], Sequence[str]]]) -> Postings:
        """Return the same, but a term goes by the name that the group of its passage gives it.

        `groups` has a number for each passage, `rename` a function for each group, from terms to their names.
        """
        terms = np.repeat(np.arange(len(self.vocabulary)), np.diff(self.starts))
        words, of_posting = tuple(self.vocabulary), groups[self.rows]
        vocabulary: dict[str, int] = {}
        new = np.zeros(len(terms), dtype=np.int64)
        for group, names in enumerate(rename):
            own = np.flatnonzero(of_posting == group)
            present, places = np.unique(terms[own], return_inverse=True)
            said = names([words[number] for number in present])
            to_new = np.fromiter((vocabulary.setdefault(n, len(vocabulary)) for n in said), np.int64, count=len(said))
            new[own] = to_new[places]
        return self._renamed(vocabulary, new)

    def _renamed(self, vocabulary: Mapping[str, int], new: Ints) -> Postings:
        """Return the postings with this vocabulary, where each posting's term has the number in `new`."""
        keys = new * self.size + self.rows
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else keys
        counts = np.add.reduceat(self.counts[order], first) if len(keys) else self.counts
        terms, rows = np.divmod(keys[first], max(self.size, 1))
        starts = np.concatenate(([0], np.cumsum(np.bincount(terms, minlength=len(vocabulary))))).astype(np.int64)
        return Postings(vocabulary, starts, rows, counts, self.lengths)

    def weights(self, k1: float, b: float, idf: str = OKAPI) -> Floats:
        """Return what each posting adds to its passage's BM25 score; aligned with `rows`.

        OKAPI: idf(t) = ln(N - df + 0.5) - ln(df + 0.5); where that is negative, 0.25 times the average idf of all
        terms, which can be 0 or negative in few passages. LUCENE: see `lucene_idf`.
        weight = idf · tf (k1 + 1) / (tf + k1 (1 - b + b · length / average length)). Source: Trotman, Puurula and
        Burgess 2014, "Improvements to BM25 and Language Models Examined", OKAPI as rank-bm25's BM25Okapi computes it.
        """
        if idf == LUCENE:
            of_term = lucene_idf(np.diff(self.starts), self.size)
        else:
            known = _Statistics(self, k1=k1, b=b).idf
            of_term = np.fromiter(known.values(), np.float64, count=len(known))
        average = float(self.lengths.mean()) if self.size else 0.0
        norms = k1 * (1 - b + b * self.lengths / max(average, 1e-12))
        counts = self.counts.astype(np.float64)
        scores: Floats = np.repeat(of_term, np.diff(self.starts)) * (counts * (k1 + 1)) / (counts + norms[self.rows])
        return scores


def lucene_idf(frequencies: npt.NDArray[np.number], size: int) -> Floats:
    """Return ln(1 + (N - df + 0.5) / (df + 0.5)) of terms that stand in df of N passages: above 0 for all of them.

    Source: Lucene's BM25Similarity.
    """
    found: Floats = np.log1p((size - frequencies + 0.5) / (frequencies + 0.5))
    return found


class _Statistics(BM25Okapi):  # type: ignore[misc]
    """rank-bm25's idf, lengths and average length, from counts that are there instead of from the words again."""

    def _initialize(self, corpus: Postings) -> dict[str, int]:
        """Take the counts of a corpus; return how many passages hold each term, in the order of the vocabulary."""
        self.corpus_size, self.doc_len = corpus.size, corpus.lengths
        self.avgdl = float(corpus.lengths.mean()) if corpus.size else 0.0
        return dict(zip(corpus.vocabulary, np.diff(corpus.starts).tolist(), strict=True))

    def _calc_idf(self, nd: dict[str, int]) -> None:
        if nd:  # rank-bm25 divides by the number of terms
            super()._calc_idf(nd)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Postings with what each of them adds to its passage's score: all that a question needs."""

    postings: Postings
    weights: Floats
    positive: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positive", bool((self.weights > 0).all()))

    def scores(self, terms: Sequence[str] | Mapping[str, float]) -> tuple[Floats, Mask]:
        """Return each passage's score and whether any term is in it.

        A term that is asked n times, or with weight n, counts n times.
        """
        postings = self.postings
        scores = np.zeros(postings.size)
        places = []
        for term, times in (terms if isinstance(terms, Mapping) else Counter(terms)).items():
            number = postings.vocabulary.get(term)
            if number is None:
                continue
            place = slice(postings.starts[number], postings.starts[number + 1])
            weights = self.weights[place]
            scores[postings.rows[place]] += weights if times == 1 else times * weights
            places.append(place)
        if self.positive:
            return scores, scores > 0
        matched = np.zeros(postings.size, dtype=np.bool_)
        for place in places:
            matched[postings.rows[place]] = True
        return scores, matched


def _joined(parts: Sequence[npt.NDArray[np.int64]]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


# From this many scores on, the best are looked for among the maxima of stripes first.
STRIPED = 4096
STRIPES = 64


def top(scores: npt.NDArray[np.floating], k: int, rows: Ints | None = None) -> Ints:
    """Return the positions of the k highest scores, best first, equal ones in ascending order.

    Where `rows` (ascending) is given, only those positions are considered. Linear in the number of scores, but for
    sorting the k found.
    """
    values = scores if rows is None else scores[rows]
    chosen = _at_least(values, k)
    values = values[chosen]
    if k < len(values):
        edge = np.partition(values, len(values) - k)[len(values) - k]
        above = np.flatnonzero(values > edge)
        equal = np.flatnonzero(values == edge)[: k - len(above)]
        kept = np.sort(np.concatenate((above, equal)))
        chosen, values = chosen[kept], values[kept]
    chosen = chosen[np.argsort(-values, kind="stable")]
    return chosen if rows is None else rows[chosen]


def _at_least(values: npt.NDArray[np.floating], k: int) -> Ints:
    """Return the positions, ascending, of a superset of the k highest values.

    The k-th highest of some values (here: the maxima of stripes) is no higher than the k-th highest of all. Two passes
    over the values, where a partition needs many.
    """
    width = len(values) // STRIPES
    if len(values) < STRIPED or k > width:
        return np.arange(len(values))
    maxima = values[: width * STRIPES].reshape(STRIPES, width).max(axis=0)
    return np.flatnonzero(values >= np.partition(maxima, width - k)[width - k])
