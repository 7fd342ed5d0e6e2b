"""An index of passages: loaded from disk if it is complete there, else built.

One folder per recipe and embedding model (`indexes/<fingerprint>/`), one segment per document: adding a document builds
one segment, removing one drops it. A damaged or mismatched file means building that segment again, never a wrong
answer; a folder that cannot be written means an index in memory, with a note.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import IndexStats, Once, Shared, WordRules
from pdfqa_core.retrieval.bm25 import Analysis, Floats, Ints, Mask, Postings, TermCounts, Weighted, top
from pdfqa_core.retrieval.embedding_cache import Embedding, EmbeddingCache, text_key
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.store import IndexFolder, IndexSegment, Manifest
from pdfqa_core.retrieval.strategies import RECALL, Semantic
from pdfqa_core.streaming import is_set
from pdfqa_core.text import terms, words
from pdfqa_core.types import Passage, Progress, Query
from pdfqa_core.whole_files import cannot_write

# ----------------------------------------------------------------------------------------------------
# BM25 in memory: the scores of all passages from their postings.


@dataclass(frozen=True, eq=False)
class Lexical:
    """BM25 scores of a whole index for given `k1` (term saturation), `b` (length normalisation), `analysis` and `idf`.

    What all questions share is kept with the index by `shared`. Raises UsageError if k1 is negative or b outside 0..1.
    """

    postings: Postings
    passages: Sequence[Passage]
    analysis: Analysis
    k1: float
    b: float
    idf: str
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
            return Weighted(postings, postings.weights(self.k1, self.b, self.idf))

        weighted: Weighted = self.shared(("bm25", self.analysis.key, self.k1, self.b, self.idf), weigh)
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


# ----------------------------------------------------------------------------------------------------
# An index of passages: loaded from disk if it is complete there, else built.

T = TypeVar("T")
PassageProvider = Callable[[], Sequence[Passage]]

WRITE_SECONDS = 1.0

_locks: dict[Path, threading.Lock] = {}
_locks_lock = threading.Lock()


def index_text(passage: Passage) -> str:
    """Return what of a passage is indexed: its heading, a line break, its text."""
    return f"{passage.heading}\n{passage.text}" if passage.heading else passage.text


def fingerprint(recipe: str, model_hash: str = "") -> str:
    """Return the 16 hex digits that name the folder of an index made by `recipe` with this model ("": none)."""
    return hashlib.sha256(f"{recipe}|{model_hash}".encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Index:
    """Passages in the order of their documents, their postings and, if asked for, their embeddings row by row.

    `folder` is None for an index in memory. `notes` are sentences for the user. `waiting` marks the passages whose
    vectors have not been made yet and are zeros so far; None: there are none.
    """

    passages: tuple[Passage, ...]
    postings: Postings
    embeddings: Vectors | None = None
    waiting: Mask | None = None
    encoder: TextEncoder | None = None
    folder: Path | None = None
    build_seconds: float = 0.0
    notes: tuple[str, ...] = ()
    _once: Once = field(default_factory=Once, init=False, repr=False)

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time for this key: derived data that retrievers share.

        Threads that ask for the same key wait for the first; nothing is kept where `make` raises.
        """
        return self._once.get(key, make)

    @classmethod
    def in_memory(
        cls,
        passages: Sequence[Passage],
        encoder: TextEncoder | None = None,
        *,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Index:
        """Return an index that is kept nowhere; with embeddings if an encoder is given."""
        segment = _without_vectors(passages)
        if encoder is not None:
            ((_, vectors, seconds),) = Embedding(encoder, None, on_progress, stop).run({"": _texts(segment)})
            segment = replace(segment, vectors=vectors, seconds=seconds)
        return _joined([segment], encoder if segment.vectors is not None else None, None, ())

    @classmethod
    def open_or_build(
        cls,
        root: Path,
        recipe: str,
        documents: Mapping[str, PassageProvider],
        *,
        encoder: TextEncoder | None = None,
        embeddings: bool = False,
        so_far: bool = False,
        sources: Mapping[str, str] | None = None,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Index:
        """Return the index of exactly these documents, in their order, below `root`.

        `recipe` names everything that the passages depend on (extractor, chunker with parameters, headings). A
        document's provider is called only if its segment is missing, or was made of another text than the one that
        `sources` names for the document; segments of other documents are removed.
        Embeddings are made only if `embeddings`, and then only of texts that this model has not seen yet under `root`;
        with `so_far` none are made, and passages without one are `waiting`.
        Raises StoppedError when `stop` is set (passages and vectors that were finished are kept), ModelError if the
        encoder fails, UsageError for embeddings without an encoder.
        """
        if embeddings and encoder is None:
            raise UsageError("Embeddings need an encoder.", "Give one, or open the index without embeddings.")
        model, model_hash = (encoder.name, encoder.model_hash) if encoder else ("", "")
        path = root / fingerprint(recipe, model_hash)
        with locked(path, stop):
            build = _Build(
                IndexFolder(path),
                Manifest(recipe, model, model_hash),
                encoder if embeddings else None,
                EmbeddingCache(root, model_hash),
                sources or {},
                on_progress,
                stop,
                so_far,
            )
            segments = build.run(documents)
        joined = _joined(segments, encoder, None if build.notes else path, tuple(build.notes))
        return replace(joined, waiting=build.waiting) if build.waiting is not None else joined

    resident: ClassVar[bool] = True

    @property
    def has_embeddings(self) -> bool:
        """Whether passages have vectors."""
        return self.embeddings is not None

    @cached_property
    def passages_by_term(self) -> Mapping[str, int]:
        """In how many passages each term stands."""
        return dict(zip(self.postings.vocabulary, np.diff(self.postings.starts).tolist(), strict=True))

    def at(self, rows: Sequence[int]) -> list[Passage]:
        """Return the passages of these rows."""
        return [self.passages[row] for row in rows]

    def lexical(self, rules: WordRules) -> Lexical:
        """Return BM25 by these rules. Raises UsageError."""
        analysis = rules.analysis(self.languages)
        return Lexical(self.postings, self.passages, analysis, rules.k1, rules.b, rules.idf, self.shared)

    def semantic(self, exact_below: int) -> Semantic:
        """Return search by meaning, exact in fewer than `exact_below` passages."""
        assert self.embeddings is not None
        assert self.encoder is not None
        return Semantic(self.embeddings, self.encoder, exact_below, self.waiting, self.folder, self.shared)

    @cached_property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that have passages, in order."""
        return tuple(dict.fromkeys(passage.document_id for passage in self.passages))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages by whose rules the passages are compared, in order."""
        return tuple(dict.fromkeys(passage.language for passage in self.passages))

    def languages_of(self, document_ids: frozenset[str] | None = None) -> frozenset[str]:
        """Return the languages of these documents (None: of all)."""
        by_document = self.shared("languages", lambda: {p.document_id: p.language for p in self.passages})
        return frozenset(
            language for one, language in by_document.items() if document_ids is None or one in document_ids
        )

    @cached_property
    def _document_numbers(self) -> Ints:
        numbers = {document_id: number for number, document_id in enumerate(self.document_ids)}
        return np.asarray([numbers[passage.document_id] for passage in self.passages], dtype=np.int64)

    @cached_property
    def _page_ranges(self) -> Ints:
        ranges = [(passage.pages[0], passage.pages[-1]) for passage in self.passages]
        return np.asarray(ranges, dtype=np.int64).reshape(len(ranges), 2)

    def rows(self, document_ids: frozenset[str] | None = None, pages: tuple[int, int] | None = None) -> Ints:
        """Return the rows of the passages of these documents (None: all) on pages from first to last, ascending."""
        if document_ids is None and pages is None:
            return np.arange(len(self.passages))
        chosen = np.ones(len(self.passages), dtype=np.bool_)
        if document_ids is not None:
            wanted = [number for number, document_id in enumerate(self.document_ids) if document_id in document_ids]
            chosen &= np.isin(self._document_numbers, wanted)
        if pages is not None:
            chosen &= (self._page_ranges[:, 0] <= pages[1]) & (self._page_ranges[:, 1] >= pages[0])
        return np.flatnonzero(chosen)

    @property
    def stats(self) -> IndexStats:
        """Counts, lengths and size of the index."""
        return replace(self._counts, recall=self._once.known(RECALL))

    @cached_property
    def _counts(self) -> IndexStats:
        lengths = np.asarray([len(words(passage.text)) for passage in self.passages] or [0])
        low, middle, high = (float(value) for value in np.percentile(lengths, (5, 50, 95)))
        if self.folder is not None:
            size = IndexFolder(self.folder).size()
        else:
            size = sum(len(p.text.encode("utf-8", "replace")) for p in self.passages)
            size += self.embeddings.nbytes if self.embeddings is not None else 0
        return IndexStats(
            documents=len(self.document_ids),
            passages=len(self.passages),
            vocabulary=len(self.postings.vocabulary),
            shortest=int(lengths.min()),
            percentile_5=low,
            median=middle,
            percentile_95=high,
            longest=int(lengths.max()),
            bytes=size,
            build_seconds=self.build_seconds,
        )


@dataclass
class _Build:
    """One opening of an index folder: loads what is there, builds and saves the rest."""

    folder: IndexFolder
    empty: Manifest
    encoder: TextEncoder | None
    cache: EmbeddingCache
    sources: Mapping[str, str]
    on_progress: OnProgress | None
    stop: StopSignal | None
    so_far: bool = False
    waiting: Mask | None = None
    notes: list[str] = field(default_factory=list)
    written_at: float = 0.0

    def __post_init__(self) -> None:
        self.written = self.folder.read_manifest(self.empty)
        entries = self.written.documents
        self.manifest = self.written.only([i for i, e in entries.items() if e.source == self.sources.get(i, "")])

    def run(self, documents: Mapping[str, PassageProvider]) -> list[IndexSegment]:
        vectors = self.encoder is not None
        found = {i: self.folder.load(i, self.manifest, vectors=vectors) for i in documents}
        lost = [i for i, segment in found.items() if segment is None]
        self.manifest = self.manifest.only([i for i, segment in found.items() if segment is not None])
        try:
            for done, document_id in enumerate(lost):
                if is_set(self.stop):
                    raise StoppedError("Indexing was stopped; what was finished is kept.")
                if self.on_progress is not None:
                    self.on_progress(Progress("Splitting into passages", done, len(lost)))
                started = time.perf_counter()
                segment = _without_vectors(documents[document_id]())
                segment = replace(segment, seconds=time.perf_counter() - started)
                found[document_id] = segment
                self._save(document_id, segment)
            segments = {i: segment for i, segment in found.items() if segment is not None}
            if self.encoder is not None and self.so_far:
                self._take_known(segments, self.encoder)
            elif self.encoder is not None:
                self._embed(segments, self.encoder)
        finally:
            self._write()
        self.folder.clean(self.manifest)
        return list(segments.values())

    def _embed(self, segments: dict[str, IndexSegment], encoder: TextEncoder) -> None:
        missing = {i: _texts(segment) for i, segment in segments.items() if segment.vectors is None}
        embedding = Embedding(encoder, self.cache, self.on_progress, self.stop)
        for document_id, vectors, seconds in embedding.run(missing):
            segment = segments[document_id]
            segments[document_id] = replace(segment, vectors=vectors, seconds=segment.seconds + seconds)
            self._save(document_id, segments[document_id])
        if missing:
            self.cache.trim()

    def _take_known(self, segments: dict[str, IndexSegment], encoder: TextEncoder) -> None:
        """Give segments the vectors that are known already, and zeros where there is none."""
        waiting, size = [], encoder.encode(["dimension"]).shape[1]
        for document_id, segment in segments.items():
            if segment.vectors is not None:
                waiting.append(np.zeros(len(segment.passages), dtype=np.bool_))
                continue
            known = self.cache.load(document_id)
            keys = [text_key(text) for text in _texts(segment)]
            zeros = np.zeros(size, dtype=np.float32)
            vectors = [known.get(key, zeros) for key in keys]
            segments[document_id] = replace(
                segment, vectors=np.reshape(np.asarray(vectors, dtype=np.float32), (len(keys), size))
            )
            waiting.append(np.asarray([key not in known for key in keys], dtype=np.bool_))
        whole = np.concatenate(waiting) if waiting else np.zeros(0, dtype=np.bool_)
        self.waiting = whole if whole.any() else None

    def _save(self, document_id: str, segment: IndexSegment) -> None:
        if self.notes:
            return
        try:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            known = self.manifest.documents.get(document_id)
            entry = self.folder.save(document_id, segment, known)
            entry = replace(entry, source=self.sources.get(document_id, ""))
        except OSError as error:
            self._cannot_write(error)
            return
        documents = {**self.manifest.documents, document_id: entry}
        dimension = self.manifest.dimension if segment.vectors is None else segment.vectors.shape[1]
        self.manifest = replace(self.manifest, documents=documents, dimension=dimension)
        if time.monotonic() - self.written_at > WRITE_SECONDS:
            self._write()

    def _write(self) -> None:
        if self.notes or self.manifest == self.written:
            return
        try:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            self.folder.write_manifest(self.manifest)
            self.written, self.written_at = self.manifest, time.monotonic()
        except OSError as error:
            self._cannot_write(error)

    def _cannot_write(self, error: OSError) -> None:
        self.notes.append(
            f"{cannot_write(f'the index in {self.folder.path}', error).what} "
            "It works, but will be built again next time."
        )


def _without_vectors(passages: Sequence[Passage]) -> IndexSegment:
    return IndexSegment(tuple(passages), TermCounts.of(terms(index_text(passage)) for passage in passages))


def _texts(segment: IndexSegment) -> list[str]:
    return [index_text(passage) for passage in segment.passages]


def _joined(
    segments: Sequence[IndexSegment], encoder: TextEncoder | None, folder: Path | None, notes: tuple[str, ...]
) -> Index:
    vectors = [segment.vectors for segment in segments if segment.vectors is not None]
    whole = len(vectors) == len(segments) and encoder is not None
    filled = [part for part in vectors if len(part)]
    return Index(
        passages=tuple(passage for segment in segments for passage in segment.passages),
        postings=Postings.merged([segment.terms for segment in segments]),
        embeddings=(np.concatenate(filled) if filled else np.zeros((0, 0), np.float32)) if whole else None,
        encoder=encoder,
        folder=folder,
        build_seconds=sum(segment.seconds for segment in segments),
        notes=notes,
    )


@contextmanager
def locked(path: Path, stop: StopSignal | None) -> Iterator[None]:
    """Let one thread at a time build in `path`; those who wait notice a stop."""
    with _locks_lock:
        lock = _locks.setdefault(path.resolve(), threading.Lock())
    while not lock.acquire(timeout=0.2):
        if is_set(stop):
            raise StoppedError("Indexing was stopped.")
    try:
        yield
    finally:
        lock.release()
