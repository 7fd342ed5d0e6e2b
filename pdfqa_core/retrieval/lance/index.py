"""An index of passages in LanceDB, opened or built: of each passage only a few numbers are in memory.

Adding a document writes its rows, removing one deletes its rows and the bytes that held them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.retrieval.base import IndexStats, Once, WordRules
from pdfqa_core.retrieval.bm25 import OKAPI, Analysis, Floats, Ints, Mask, lucene_idf, top
from pdfqa_core.retrieval.embedding_cache import Embedding, EmbeddingCache
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.index import PassageProvider, fingerprint, index_text, locked
from pdfqa_core.retrieval.lance.library import FOLDER
from pdfqa_core.retrieval.lance.tables import SCHEMA, WORDS, Columns, Entry, Tables
from pdfqa_core.retrieval.strategies import query_vector
from pdfqa_core.streaming import is_set
from pdfqa_core.text import terms
from pdfqa_core.types import Passage, Progress, Query

# ----------------------------------------------------------------------------------------------------
# Cosines over an index in LanceDB: its vector index finds candidates, their vectors are compared exactly.

FEW = 4096  # passages whose vectors are read and compared here rather than there
LEAST, TIMES = 100, 2  # candidates: at least so many, and so many times what is asked for
PROBES = 40  # cells of the index that are searched


@dataclass(frozen=True, eq=False)
class LanceVectors:
    """Cosines of an index with vectors; all are compared below `exact_below` passages and where only some are meant."""

    tables: Tables
    columns: Columns
    encoder: TextEncoder
    exact_below: int
    where: Callable[[Ints], str]

    @property
    def approximate(self) -> bool:
        """Whether the index is so large that only some cells of it are searched."""
        return len(self.columns.ids) >= self.exact_below

    def prepare(self, on_progress: OnProgress | None, stop: StopSignal | None) -> None:
        """Build the index of the vectors where one is used. Raises StoppedError before, not while it is built."""
        if not self.approximate or self.tables.vectors_indexed:
            return
        if is_set(stop):
            raise StoppedError("Indexing was stopped; what was finished is kept.")
        if on_progress is not None:
            on_progress(Progress("Building the search index", 0, 1))
        self.tables.index_vectors()

    def vector(self, query: Query) -> Vectors:
        """Return the query's vector. Raises ModelError if the index is of another dimension."""
        return query_vector(self.encoder, query, self.tables.dimension)

    def cosines(self, vector: Vectors, rows: Ints) -> Vectors:
        """Return the cosines of the passages `rows`."""
        return (
            np.asarray(self.tables.vectors(self.columns.ids[rows]) @ vector) if len(rows) else np.zeros(0, np.float32)
        )

    def nearest(self, vector: Vectors, k: int, rows: Ints) -> tuple[Ints, Vectors]:
        """Return the k nearest of the passages `rows`, best first, and their cosines.

        Exact unless the index is large and searched as a whole.
        """
        whole = len(rows) == len(self.columns.ids)
        if len(rows) > FEW:
            probes = PROBES if whole and self.approximate and self.tables.vectors_indexed else 0
            ids = self.tables.by_vector(vector, max(LEAST, TIMES * k), probes, "" if whole else self.where(rows))
            rows = np.sort(self.columns.rows_of(ids))
        cosines = self.cosines(vector, rows)
        best = top(cosines, k)
        return rows[best], cosines[best]


# ----------------------------------------------------------------------------------------------------
# BM25 over an index in LanceDB: its full-text index finds candidates, our formula scores them.
#
# LanceDB's own scores have k1 = 1.2 and b = 0.75, so that they only choose the candidates, several times as many as
# are asked for; its idf is evened out by the weights of the words. Words with the same stem are searched for one
# beside the other; such a stem counts as frequent as its words together, so that a passage with two of them counts
# twice.

SMALL = 0.05  # weight of a word that half of the passages have: its idf is 0
WORDS_LEAST, WORDS_TIMES = 200, 4  # candidates: at least so many, and so many times what is asked for


@dataclass(frozen=True, eq=False)
class Names:
    """What words are found by (themselves, or their stems), and the idf of each name.

    `words` holds by name and language of a passage the words that go by it, `theirs` the idf that LanceDB gives a word.
    """

    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    idf: Mapping[str, float]
    theirs: Mapping[str, float]

    @classmethod
    def of(cls, vocabulary: Mapping[str, Mapping[str, int]], analysis: Analysis, passages: int, idf: str) -> Names:
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
        ours = lucene_idf(found, passages)
        if idf == OKAPI:
            ours = np.log(passages - found + 0.5) - np.log(found + 0.5)
            ours[ours < 0] = 0.25 * ours.mean() if len(ours) else 0.0  # as rank-bm25 does it
        each: Counter[str] = Counter()
        for known in vocabulary.values():
            each.update(known)
        stands = np.fromiter(each.values(), np.float64, count=len(each))
        theirs = lucene_idf(stands, passages)
        return cls(words, dict(zip(counts, ours.tolist(), strict=True)), dict(zip(each, theirs.tolist(), strict=True)))


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
        ids = self.search.tables.by_words(weights, max(WORDS_LEAST, WORDS_TIMES * k), self.search.where(rows))
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


# ----------------------------------------------------------------------------------------------------
# An index of passages in LanceDB, opened or built: of each passage only a few numbers are in memory.

T = TypeVar("T")

GROUP = 8192  # passages that are encoded and written together: what an interruption loses
BLOCK = 4096  # passages that are read at a time when all are gone through


@dataclass(frozen=True, eq=False)
class LanceIndex:
    """Passages in the order of their documents, in LanceDB's tables. `entries` are their documents, in order."""

    tables: Tables
    columns: Columns
    entries: Mapping[str, Entry]
    encoder: TextEncoder | None
    _once: Once = field(default_factory=Once, init=False, repr=False)

    resident: ClassVar[bool] = False
    waiting: ClassVar[Mask | None] = None

    @classmethod
    def open_or_build(
        cls,
        root: Path,
        recipe: str,
        documents: Mapping[str, PassageProvider],
        *,
        encoder: TextEncoder | None = None,
        sources: Mapping[str, str] | None = None,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> LanceIndex:
        """Return the index of exactly these documents, in their order; with vectors if there is an encoder.

        `recipe`, `documents` and `sources` as `Index.open_or_build` has them; vectors that were made before are taken
        from the cache below `root`. Raises StoppedError when `stop` is set (documents that were written are kept),
        ModelError if the encoder fails or LanceDB is not installed, StorageError.
        """
        name = f"passages{SCHEMA}-{fingerprint(recipe, encoder.model_hash if encoder else '')}"
        with locked(root / FOLDER / name, stop):
            tables = Tables(root / FOLDER, name)
            build = _Build(tables, root, documents, encoder, sources or {}, on_progress, stop)
            build.run()
            entries = {one: entry for one, entry in tables.entries().items() if one in documents}
            ordered = {one: entries[one] for one in documents}
            columns, _ = tables.columns({one: entry.passages for one, entry in ordered.items()})
        return cls(tables, columns, ordered, encoder)

    # ------------------------------------------------------------ what is in it

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time for this key."""
        return self._once.get(key, make)

    @property
    def passages(self) -> Sequence[Passage]:
        """All passages, in order; read when they are asked for."""
        return _Passages(self)

    @property
    def has_embeddings(self) -> bool:
        """Whether passages have vectors."""
        return self.encoder is not None

    @property
    def folder(self) -> Path:
        """Where the index lies."""
        return self.tables.folder

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user; none here: what cannot be written raises."""
        return ()

    @cached_property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that have passages, in order."""
        return tuple(one for one, entry in self.entries.items() if entry.passages)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages by whose rules the passages are compared, in order."""
        return tuple(dict.fromkeys(self.entries[one].language for one in self.document_ids))

    def languages_of(self, document_ids: frozenset[str] | None = None) -> frozenset[str]:
        """Return the languages of these documents (None: of all)."""
        return frozenset(
            self.entries[one].language for one in self.document_ids if document_ids is None or one in document_ids
        )

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate(([0], np.cumsum([self.entries[one].passages for one in self.document_ids]))).astype(
            np.int64
        )

    @cached_property
    def _vocabulary(self) -> dict[str, dict[str, int]]:
        return self.tables.vocabulary()

    @cached_property
    def passages_by_term(self) -> Mapping[str, int]:
        """In how many passages each term stands."""
        found: dict[str, int] = {}
        for words in self._vocabulary.values():
            for word, count in words.items():
                found[word] = found.get(word, 0) + count
        return found

    def at(self, rows: Sequence[int]) -> list[Passage]:
        """Return the passages of these rows. Raises StorageError."""
        return self.tables.passages(self.columns.ids[np.asarray(rows, dtype=np.int64)])

    def rows(self, document_ids: frozenset[str] | None = None, pages: tuple[int, int] | None = None) -> Ints:
        """Return the rows of the passages of these documents (None: all) on pages from first to last, ascending."""
        if document_ids is None:
            found = np.arange(len(self.columns.ids))
        else:
            wanted = [number for number, one in enumerate(self.document_ids) if one in document_ids]
            parts = [np.arange(self._starts[number], self._starts[number + 1]) for number in wanted]
            found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        if pages is None:
            return found
        ranges = self.columns.pages[found]
        return found[(ranges[:, 0] <= pages[1]) & (ranges[:, 1] >= pages[0])]

    def _where(self, rows: Ints) -> str:
        """Return what limits a search to the passages `rows`; "" for all of them."""
        if len(rows) == len(self.columns.ids):
            return ""
        documents = np.unique(np.searchsorted(self._starts, rows, side="right") - 1)
        if len(rows) == int((self._starts[documents + 1] - self._starts[documents]).sum()):
            return self.tables.of_documents([self.document_ids[number] for number in documents])
        return self.tables.of_passages(self.columns.ids[rows])

    def _languages_at(self, rows: Ints) -> list[str]:
        documents = np.searchsorted(self._starts, rows, side="right") - 1
        return [self.entries[self.document_ids[number]].language for number in documents]

    # ------------------------------------------------------------ search

    def lexical(self, rules: WordRules) -> LanceWords:
        """Return BM25 by these rules. Raises UsageError."""
        analysis = rules.analysis(self.languages)

        def names() -> Names:
            return self.shared(("names", repr(analysis), rules.idf), lambda: self._names(analysis, rules.idf))

        return LanceWords(
            self.tables,
            self.columns,
            names,
            self.languages,
            self._languages_at,
            self._where,
            analysis,
            rules.k1,
            rules.b,
        )

    def _names(self, analysis: Analysis, idf: str) -> Names:
        return Names.of(self._vocabulary, analysis, len(self.columns.ids), idf)

    def semantic(self, exact_below: int) -> LanceVectors:
        """Return search by meaning, exact in fewer than `exact_below` passages."""
        assert self.encoder is not None
        return LanceVectors(self.tables, self.columns, self.encoder, exact_below, self._where)

    @property
    def stats(self) -> IndexStats:
        """Counts, lengths and size of the index."""
        lengths = self.columns.words if len(self.columns.words) else np.zeros(1, dtype=np.int64)
        low, middle, high = (float(value) for value in np.percentile(lengths, (5, 50, 95)))
        return IndexStats(
            documents=len(self.document_ids),
            passages=len(self.columns.ids),
            vocabulary=len(self.passages_by_term),
            shortest=int(lengths.min()),
            percentile_5=low,
            median=middle,
            percentile_95=high,
            longest=int(lengths.max()),
            bytes=self.tables.size(),
            build_seconds=sum(entry.seconds for entry in self.entries.values()),
        )


class _Passages(Sequence[Passage]):
    """The passages of an index, read when they are asked for; all of them in blocks."""

    def __init__(self, index: LanceIndex) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index.columns.ids)

    @overload
    def __getitem__(self, row: int) -> Passage: ...
    @overload
    def __getitem__(self, row: slice) -> list[Passage]: ...
    def __getitem__(self, row: int | slice) -> Passage | list[Passage]:
        if isinstance(row, slice):
            return self._index.at(range(len(self))[row])
        return self._index.at([range(len(self))[row]])[0]

    def __iter__(self) -> Iterator[Passage]:
        for first in range(0, len(self), BLOCK):
            yield from self[first : first + BLOCK]


@dataclass
class _Build:
    """One opening of an index: removes what is not wanted, writes what is missing."""

    tables: Tables
    root: Path
    documents: Mapping[str, PassageProvider]
    encoder: TextEncoder | None
    sources: Mapping[str, str]
    on_progress: OnProgress | None
    stop: StopSignal | None

    def run(self) -> None:
        missing = self._clean()
        self._write(missing)
        if self.tables.words_lack:
            self.tables.index_words()

    def _clean(self) -> list[str]:
        """Remove documents that are not wanted or not whole; return those that have to be written."""
        known = self.tables.entries()
        _, damaged = self.tables.columns({one: entry.passages for one, entry in known.items()})
        right = [
            one
            for one, entry in known.items()
            if one in self.documents and one not in damaged and entry.source == self.sources.get(one, "")
        ]
        if gone := sorted(known.keys() - set(right)):
            self.tables.remove(gone)
        self.tables.remove_others(right)
        return [one for one in self.documents if one not in set(right)]

    def _write(self, missing: Sequence[str]) -> None:
        group: dict[str, tuple[Entry, Sequence[Passage]]] = {}
        for done, document_id in enumerate(missing):
            if is_set(self.stop):
                raise StoppedError("Indexing was stopped; what was finished is kept.")
            if self.on_progress is not None:
                self.on_progress(Progress("Splitting into passages", done, len(missing)))
            started = time.perf_counter()
            passages = self.documents[document_id]()
            language = next((passage.language for passage in passages), ENGLISH)
            seconds = time.perf_counter() - started
            group[document_id] = (Entry(self.sources.get(document_id, ""), len(passages), language, seconds), passages)
            if sum(entry.passages for entry, _ in group.values()) >= GROUP:
                self._add(group)
                group = {}
        self._add(group)

    def _add(self, group: Mapping[str, tuple[Entry, Sequence[Passage]]]) -> None:
        texts = {one: [index_text(passage) for passage in passages] for one, (_, passages) in group.items()}
        vectors: dict[str, tuple[Vectors | None, float]] = dict.fromkeys(group, (None, 0.0))
        if self.encoder is not None:
            cache = EmbeddingCache(self.root, self.encoder.model_hash)
            for one, made, seconds in Embedding(self.encoder, cache, self.on_progress, self.stop).run(texts):
                vectors[one] = (made, seconds)
            cache.trim()
        rows: list[Any] = []
        for one, (entry, passages) in group.items():
            own, seconds = vectors[one]
            tokenised = [terms(text) for text in texts[one]]
            rows.append((one, replace(entry, seconds=entry.seconds + seconds), passages, tokenised, own))
        if rows:
            self.tables.add(rows)
