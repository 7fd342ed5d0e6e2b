"""Passages and indexes of each owner's documents, and search in them."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from pdfqa_core import ingest as ingestion
from pdfqa_core.background import in_background
from pdfqa_core.chunking import chunkers, with_headings
from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.loaded_models import Models
from pdfqa_core.retrieval import (
    Index,
    IndexStats,
    PageRange,
    Searcher,
    forget,
    make_retriever,
    needs_embeddings,
    prepared,
)
from pdfqa_core.services import readings
from pdfqa_core.services.documents import LOCAL_OWNER, DocumentServices
from pdfqa_core.settings import ChunkingSettings, Section, Settings
from pdfqa_core.storage import Reading
from pdfqa_core.storage.documents import Documents
from pdfqa_core.types import Document, DocumentState, Hit, Page, Passage, Progress, Query, StopSignal

PASSAGES_PER_SECOND = 27.0  # MiniLM on two cores; only for the estimate beside "Build index"
OPEN_INDEXES = 8
CACHED_DOCUMENTS = 500  # documents whose passages are kept in memory
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Uncounted:
    """The owner's documents, where what a recipe has read does not change which reading counts, nor adds one.

    A stored PDF that was damaged since has another hash, and so would be a document of its own.
    """

    documents: Documents
    ids: frozenset[str]

    def list(self, owner: str) -> tuple[Document, ...]:
        return self.documents.list(owner)

    def add(self, document: Document, extractor: str = "", read_pages: Sequence[Page] = ()) -> None:
        if document.id in self.ids:
            self.documents.add(document, extractor, read_pages, counts=False)


class IndexServices(DocumentServices):
    """A workspace with the passages and indexes of its documents. Indexes are built when they are asked for."""

    def __init__(self, workspace: Path, settings: Settings, models: Models | None = None) -> None:
        super().__init__(workspace, settings, models)
        self._lock = threading.Lock()
        self._indexes: dict[tuple[str, str], Index] = {}
        self._passages: dict[tuple[str, str], tuple[Passage, ...]] = {}

    # ------------------------------------------------------------ passages

    def _chunker(self, settings: Settings) -> Any:
        strategy = chunkers.get(settings.chunking.chunker)
        parameters = _declared(strategy, settings.chunking)
        if settings.chunking.unit == "tokens":
            parameters["tokenize"] = self.models.encoder(settings.retrieval.embedding_model).token_spans
        return strategy(**parameters)

    def passages(self, owner: str, settings: Settings, document_ids: Sequence[str] = ()) -> list[Passage]:
        """Return the passages that the settings make of the owner's documents (of some of them)."""
        found: list[Passage] = []
        for document, reading in self.readable(owner, settings, document_ids):
            found += self._passages_of(document, reading, settings)
        return found

    def _passages_of(self, document: Document, reading: Reading, settings: Settings) -> tuple[Passage, ...]:
        key = (document.id, _fingerprint(settings, _source(document, reading)))
        cached = self._passages.get(key)
        if cached is None:
            pages = self.store.documents.pages(document.owner, document.id, reading.extractor)
            made = self._chunker(settings).chunk(pages)
            if settings.chunking.headings:
                made = with_headings(made, pages, document.title)
            cached = tuple(made)
            with self._lock:
                if len(self._passages) > CACHED_DOCUMENTS:
                    self._passages.clear()
                self._passages[key] = cached
        return cached

    def passage_counts(self, owner: str, settings: Settings) -> dict[str, int]:
        """Return the number of passages by document id."""
        return {d.id: len(self._passages_of(d, reading, settings)) for d, reading in self.readable(owner, settings)}

    @staticmethod
    def recipe_name(settings: Settings) -> str:
        """Return the name of a recipe as people read it: "hybrid over windows of 120 words, step 60, with headings"."""
        chunking = settings.chunking
        unit = chunking.unit
        match chunking.chunker:
            case "windows":
                passages = f"windows of {chunking.size} {unit}, step {chunking.step}"
            case "snippets" if chunking.min_length:
                passages = f"snippets of {chunking.min_length} to {chunking.max_length} {unit}"
            case "snippets":
                passages = f"snippets of {chunking.length} {unit}"
            case name:
                passages = name
        text = f" as read by {chunking.read_by}" if chunking.read_by else ""
        return f"{settings.retrieval.retriever} over {passages}{', with headings' if chunking.headings else ''}{text}"

    # ------------------------------------------------------------ indexes

    def _owner_folder(self, owner: str) -> Path:
        if owner == LOCAL_OWNER:
            return self.workspace
        return self.workspace / "visitors" / hashlib.sha256(owner.encode()).hexdigest()[:16]

    def _index_root(self, owner: str) -> Path:
        return self._owner_folder(owner) / "indexes"

    def _index_key(self, owner: str, settings: Settings) -> tuple[str, str]:
        documents = sorted((d.id, _source(d, reading)) for d, reading in self.readable(owner, settings))
        model = settings.retrieval.embedding_model if self._needs_embeddings(settings) else "none"
        recipe = _fingerprint(settings, self._wanted_name(settings))
        more = prepared(settings.retrieval.model_dump())
        return owner, hashlib.sha256(json.dumps([recipe, model, more, documents]).encode()).hexdigest()

    @staticmethod
    def _needs_embeddings(settings: Settings) -> bool:
        return needs_embeddings(settings.retrieval.model_dump())

    def index_ready(self, owner: str, settings: Settings) -> bool:
        """Whether the index of these settings and the owner's documents is open, and every document read for it."""
        return not self.unread(owner, settings) and self._index_key(owner, settings) in self._indexes

    def index_seconds(self, owner: str, settings: Settings) -> float:
        """Return a rough estimate of how long building takes on two cores; 0 if the index is open or empty."""
        encoded = self._needs_embeddings(settings) or prepared(settings.retrieval.model_dump())
        if self.index_ready(owner, settings) or not encoded:
            return 0.0
        return sum(self.passage_counts(owner, settings).values()) / PASSAGES_PER_SECOND

    def build_index(self, owner: str, settings: Settings, *, run: str = "") -> Iterator[Progress]:
        """Open the index of these settings, building what is missing; yields progress.

        Documents that have not been read as the recipe wants are read first, once; `reading_notes` tells which could
        not be. Raises StoppedError when the run is stopped; the documents that were finished are kept.
        """
        with self._runs.start(run) as stop:
            yield from self._opened(owner, settings, stop)

    def unread(self, owner: str, settings: Settings) -> tuple[Document, ...]:
        """Return the documents that building the index of a recipe reads first, as the recipe wants them read.

        Encrypted ones are among them while their password is known, and those whose PDF was too large to be kept never.
        """
        name = self._wanted_name(settings)
        if not name:
            return ()

        def locked(state: DocumentState, document_id: str) -> bool:
            return state is DocumentState.ENCRYPTED and self._passwords.get(owner, document_id) is None

        tried = {
            r.document_id
            for r in self.store.documents.readings(owner)
            if r.extractor == name and (r.state is not DocumentState.ENCRYPTED or locked(r.state, r.document_id))
        }
        documents = [d for d in self.store.documents.list(owner) if d.id not in tried]
        return tuple(d for d in documents if not locked(d.state, d.id) and self._kept(d))

    def _kept(self, document: Document) -> bool:
        return self.store.pdf_path(document.id).is_file()

    def _read_missing(self, owner: str, settings: Settings, stop: StopSignal) -> Iterator[Progress]:
        wanted, documents = readings.wanted(settings, self.settings.extraction), self.unread(owner, settings)
        if wanted is None or not documents:
            return
        sources = [ingestion.Source(self.store.pdf_path(d.id), d.filename) for d in documents]
        kept = _Uncounted(self.store.documents, frozenset(document.id for document in documents))
        for event in ingestion.ingest(
            sources, kept, self.store.store_pdf, self._read(wanted, None, stop, owner), owner=owner,
            extractor=readings.name_of(wanted), max_bytes=wanted.max_file_mb * 1_000_000, again=True,
            workers=self._workers(wanted), stop=stop,
        ):  # fmt: skip
            if isinstance(event, Progress):
                yield event
        if stop.is_set():
            raise StoppedError("Reading was stopped; the documents that were finished are kept.")

    def _opened(self, owner: str, settings: Settings, stop: StopSignal) -> Generator[Progress, None, Index]:
        yield from self._read_missing(owner, settings, stop)
        key = self._index_key(owner, settings)
        found = self._indexes.get(key)
        if found is not None:
            return found
        index = yield from in_background(lambda report: self._build(owner, settings, report, stop))
        with self._lock:
            while len(self._indexes) >= OPEN_INDEXES and key not in self._indexes:
                self._indexes.pop(next(iter(self._indexes)))
            self._indexes[key] = index
        return index

    def _build(self, owner: str, settings: Settings, report: Callable[[Progress], None], stop: StopSignal) -> Index:
        documents = self.readable(owner, settings)
        embeddings = self._needs_embeddings(settings)
        providers: dict[str, Callable[[], Sequence[Passage]]] = {
            document.id: partial(self._passages_of, document, reading, settings) for document, reading in documents
        }
        encoder = self.models.encoder(settings.retrieval.embedding_model) if embeddings else None
        index = Index.open_or_build(
            self._index_root(owner), _fingerprint(settings, self._wanted_name(settings)), providers, encoder=encoder,
            embeddings=embeddings, sources={document.id: _source(document, reading) for document, reading in documents},
            on_progress=report, stop=stop,
        )  # fmt: skip
        if index.passages:
            self._retriever(index, settings).prepare(on_progress=report, stop=stop)
        return index

    def index_stats(self, owner: str, settings: Settings) -> IndexStats | None:
        """Return what the open index of these settings holds; None if it is not open."""
        index = self._indexes.get(self._index_key(owner, settings))
        return index.stats if index else None

    def _forget(self, owner: str, document_id: str) -> None:
        with self._lock:
            self._indexes = {key: index for key, index in self._indexes.items() if key[0] != owner}
            self._passages = {key: made for key, made in self._passages.items() if key[0] != document_id}
        root = self._index_root(owner)
        try:
            forget(root, document_id)
        except OSError as error:
            _log.warning("passages of a removed document stay in %s: %s", root, error)

    # ------------------------------------------------------------ search

    def search(
        self, owner: str, question: str, settings: Settings, *, document_ids: Sequence[str] = (), k: int | None = None,
        pages: PageRange | None = None,
    ) -> list[Hit]:  # fmt: skip
        """Return the hits for a question in the open index, of these documents (none given: of all) and pages.

        Raises PdfQAError if the index is not built, UsageError if the question is empty.
        """
        if not question.strip():
            raise UsageError("The question is empty.", "Type a question.")
        index = self._indexes.get(self._index_key(owner, settings))
        if index is None:
            raise PdfQAError("The index of this recipe is not built yet.", "Build it first.")
        return self._search(index, question, settings, document_ids, k or settings.retrieval.k, pages)

    def _retriever(self, index: Index, settings: Settings) -> Searcher:
        return make_retriever(index, settings.retrieval.model_dump(), self.models)

    def _search(
        self, index: Index, question: str | Query, settings: Settings, document_ids: Sequence[str], k: int,
        pages: PageRange | None = None,
    ) -> list[Hit]:  # fmt: skip
        documents = frozenset(document_ids) if document_ids else None
        return self._retriever(index, settings).search(question, k, documents, pages=pages)


def _declared(strategy: Any, section: Section) -> dict[str, Any]:
    """Return the settings of a section that the strategy, a dataclass, has parameters for."""
    known = {field.name for field in fields(strategy)}
    return {name: value for name, value in section.model_dump().items() if name in known}


def _source(document: Document, reading: Reading) -> str:
    """Return a name for what passages are made of: the text of a reading, and the title above them."""
    return json.dumps([reading.extractor, reading.version, document.title])


def _fingerprint(settings: Settings, *others: str) -> str:
    """Return a name for everything that the passages depend on; settings the chunker does not have are left out.

    Lengths in tokens depend on whose tokens they are.
    """
    chunking: ChunkingSettings = settings.chunking
    parts = {
        "chunker": chunking.chunker,
        "headings": chunking.headings,
        **_declared(chunkers.get(chunking.chunker), chunking),
        "others": others,
    }
    if parts.get("unit") == "tokens":
        parts["tokenizer"] = settings.retrieval.embedding_model
    return json.dumps(parts, sort_keys=True)
