"""An index of passages: opened from disk where it is there and whole, built where it is not.

One folder per recipe and embedding model (`indexes/<fingerprint>/`), one segment per document: adding a document builds
one segment, removing one drops it. A damaged or mismatched file means building that segment again, never a wrong
answer; a folder that cannot be written means an index in memory, with a note.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.postings import Ints, Postings, TermCounts
from pdfqa_core.retrieval.store import IndexFolder, Manifest, Segment
from pdfqa_core.text import terms, words
from pdfqa_core.types import Passage, Progress, StopSignal

PassageProvider = Callable[[], Sequence[Passage]]

_locks: dict[Path, threading.Lock] = {}
_locks_lock = threading.Lock()


def index_text(passage: Passage) -> str:
    """Return what of a passage is indexed: its heading, a line break, its text."""
    return f"{passage.heading}\n{passage.text}" if passage.heading else passage.text


def fingerprint(recipe: str, model_hash: str = "") -> str:
    """Return the 16 hex digits that name the folder of an index made by `recipe` with this model ("": none)."""
    return hashlib.sha256(f"{recipe}|{model_hash}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What an index holds. Lengths are words of the passages' texts, without headings."""

    documents: int
    passages: int
    vocabulary: int
    shortest: int
    percentile_5: float
    median: float
    percentile_95: float
    longest: int
    bytes: int
    build_seconds: float


@dataclass(frozen=True, eq=False)
class Index:
    """Passages in the order of their documents, their postings, and (row by row) their embeddings where asked for.

    `folder` is None for an index in memory. `notes` are sentences for the user.
    """

    passages: tuple[Passage, ...]
    postings: Postings
    embeddings: Vectors | None = None
    encoder: TextEncoder | None = None
    folder: Path | None = None
    build_seconds: float = 0.0
    notes: tuple[str, ...] = ()

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
            segment = _with_vectors(segment, encoder, on_progress, stop)
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
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Index:
        """Return the index of exactly these documents, in their order, below `root`.

        `recipe` names everything that the passages depend on (extractor, chunker with parameters, headings). A
        document's provider is called only if its segment is not there; segments of other documents are removed.
        Embeddings are made only if `embeddings`, and then only the missing ones. Raises StoppedError when `stop` is set
        (finished documents are kept), ModelError if the encoder fails, UsageError for embeddings without an encoder.
        """
        if embeddings and encoder is None:
            raise UsageError("Embeddings need an encoder.", "Give one, or open the index without embeddings.")
        model, model_hash = (encoder.name, encoder.model_hash) if encoder else ("", "")
        path = root / fingerprint(recipe, model_hash)
        with _locked(path, stop):
            build = _Build(
                IndexFolder(path),
                Manifest(recipe, model, model_hash),
                encoder if embeddings else None,
                on_progress,
                stop,
            )
            segments = build.run(documents)
        return _joined(segments, encoder, None if build.notes else path, tuple(build.notes))

    @cached_property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that have passages, in order."""
        return tuple(dict.fromkeys(passage.document_id for passage in self.passages))

    @cached_property
    def _document_numbers(self) -> Ints:
        numbers = {document_id: number for number, document_id in enumerate(self.document_ids)}
        return np.asarray([numbers[passage.document_id] for passage in self.passages], dtype=np.int64)

    def rows(self, document_ids: frozenset[str] | None = None) -> Ints:
        """Return the rows of the passages of these documents (None: all), ascending."""
        if document_ids is None:
            return np.arange(len(self.passages))
        wanted = [number for number, document_id in enumerate(self.document_ids) if document_id in document_ids]
        return np.flatnonzero(np.isin(self._document_numbers, wanted))

    @cached_property
    def stats(self) -> IndexStats:
        """Counts, lengths and size of the index."""
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


class _Build:
    """One opening of an index folder: what is there is loaded, what is not is built and saved."""

    def __init__(
        self,
        folder: IndexFolder,
        empty: Manifest,
        encoder: TextEncoder | None,
        on_progress: OnProgress | None,
        stop: StopSignal | None,
    ) -> None:
        self.folder = folder
        self.manifest = folder.read_manifest(empty)
        self.encoder = encoder
        self.on_progress = on_progress
        self.stop = stop
        self.notes: list[str] = []

    def run(self, documents: Mapping[str, PassageProvider]) -> list[Segment]:
        before = self.manifest
        found = {i: self.folder.load(i, self.manifest, vectors=self.encoder is not None) for i in documents}
        lost = [i for i, segment in found.items() if segment is None]
        self.manifest = self.manifest.only([i for i, segment in found.items() if segment is not None])
        for done, document_id in enumerate(lost):
            self._check_stop()
            self._report(Progress("Splitting into passages", done, len(lost)))
            started = time.perf_counter()
            segment = _without_vectors(documents[document_id]())
            segment = replace(segment, seconds=time.perf_counter() - started)
            found[document_id] = segment
            if self.encoder is None:
                self._save(document_id, segment)
        segments = {i: segment for i, segment in found.items() if segment is not None}
        if self.encoder is not None:
            self._embed(segments, self.encoder)
        if self.manifest != before:
            self._write(self.manifest)
        self.folder.clean(self.manifest)
        return list(segments.values())

    def _embed(self, segments: dict[str, Segment], encoder: TextEncoder) -> None:
        missing = [i for i, segment in segments.items() if segment.vectors is None]
        total = sum(len(segments[i].passages) for i in missing)
        done = 0
        for document_id in missing:
            self._check_stop()

            def report(progress: Progress, before: int = done) -> None:
                self._report(Progress(progress.phase, before + progress.done, total))

            segments[document_id] = _with_vectors(segments[document_id], encoder, report, self.stop)
            done += len(segments[document_id].passages)
            self._save(document_id, segments[document_id])

    def _save(self, document_id: str, segment: Segment) -> None:
        if self.notes:
            return
        try:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            entry = self.folder.save(document_id, segment, self.manifest.documents.get(document_id))
        except OSError as error:
            self._cannot_write(error)
            return
        dimension = 0 if segment.vectors is None else segment.vectors.shape[1]
        self._write(self.manifest.with_document(document_id, entry, dimension))

    def _write(self, manifest: Manifest) -> None:
        self.manifest = manifest
        if self.notes:
            return
        try:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            self.folder.write_manifest(manifest)
        except OSError as error:
            self._cannot_write(error)

    def _cannot_write(self, error: OSError) -> None:
        self.notes.append(
            f"The index could not be stored in {self.folder.path} ({error.strerror or error}): "
            "it works, but will be built again next time."
        )

    def _check_stop(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise StoppedError("Indexing was stopped; the documents that were finished are kept.")

    def _report(self, progress: Progress) -> None:
        if self.on_progress is not None:
            self.on_progress(progress)


def _without_vectors(passages: Sequence[Passage]) -> Segment:
    return Segment(tuple(passages), TermCounts.of(terms(index_text(passage)) for passage in passages))


def _with_vectors(
    segment: Segment, encoder: TextEncoder, on_progress: OnProgress | None, stop: StopSignal | None
) -> Segment:
    started = time.perf_counter()
    vectors = encoder.encode([index_text(p) for p in segment.passages], on_progress=on_progress, stop=stop)
    return replace(segment, vectors=vectors, seconds=segment.seconds + time.perf_counter() - started)


def _joined(
    segments: Sequence[Segment], encoder: TextEncoder | None, folder: Path | None, notes: tuple[str, ...]
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
def _locked(path: Path, stop: StopSignal | None) -> Iterator[None]:
    """Let one thread at a time build in `path`; those who wait notice a stop."""
    with _locks_lock:
        lock = _locks.setdefault(path.resolve(), threading.Lock())
    while not lock.acquire(timeout=0.2):
        if stop is not None and stop.is_set():
            raise StoppedError("Indexing was stopped.")
    try:
        yield
    finally:
        lock.release()
