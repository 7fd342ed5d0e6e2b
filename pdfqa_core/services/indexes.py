"""Passages and indexes of each owner's documents, and search in them."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from pdfqa_core.background import in_background
from pdfqa_core.chunking import chunkers, with_headings
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.loaded_models import Models
from pdfqa_core.retrieval import Index, IndexRetriever, IndexStats, retrievers
from pdfqa_core.retrieval.store import IndexFolder
from pdfqa_core.services.documents import LOCAL_OWNER, DocumentServices
from pdfqa_core.settings import ChunkingSettings, Section, Settings
from pdfqa_core.types import Document, Hit, Passage, Progress, StopSignal

PASSAGES_PER_SECOND = 27.0  # MiniLM on two cores; only for the estimate beside "Build index"
OPEN_INDEXES = 8
CACHED_DOCUMENTS = 500  # documents whose passages are kept in memory
_log = logging.getLogger(__name__)


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
        for document in self.store.documents.list(owner):
            if document.state.usable and (not document_ids or document.id in document_ids):
                found += self._passages_of(document, settings)
        return found

    def _passages_of(self, document: Document, settings: Settings) -> tuple[Passage, ...]:
        key = (document.id, _fingerprint(settings, document.title))
        cached = self._passages.get(key)
        if cached is None:
            pages = self.store.documents.pages(document.owner, document.id, settings.extraction.extractor)
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
        documents = self.store.documents.list(owner)
        return {d.id: len(self._passages_of(d, settings)) for d in documents if d.state.usable}

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
        return f"{settings.retrieval.retriever} over {passages}{', with headings' if chunking.headings else ''}"

    # ------------------------------------------------------------ indexes

    def _owner_folder(self, owner: str) -> Path:
        if owner == LOCAL_OWNER:
            return self.workspace
        return self.workspace / "visitors" / hashlib.sha256(owner.encode()).hexdigest()[:16]

    def _index_root(self, owner: str) -> Path:
        return self._owner_folder(owner) / "indexes"

    def _index_key(self, owner: str, settings: Settings) -> tuple[str, str]:
        documents = sorted((d.id, d.title) for d in self.store.documents.list(owner) if d.state.usable)
        model = settings.retrieval.embedding_model if self._needs_embeddings(settings) else "none"
        return owner, hashlib.sha256(json.dumps([_fingerprint(settings), model, documents]).encode()).hexdigest()

    @staticmethod
    def _needs_embeddings(settings: Settings) -> bool:
        return bool(retrievers.get(settings.retrieval.retriever).needs_embeddings)

    def index_ready(self, owner: str, settings: Settings) -> bool:
        """Whether the index of these settings and the owner's documents is open."""
        return self._index_key(owner, settings) in self._indexes

    def index_seconds(self, owner: str, settings: Settings) -> float:
        """Return a rough estimate of how long building takes on two cores; 0 if the index is open or empty."""
        if self.index_ready(owner, settings) or not self._needs_embeddings(settings):
            return 0.0
        return sum(self.passage_counts(owner, settings).values()) / PASSAGES_PER_SECOND

    def build_index(self, owner: str, settings: Settings, *, run: str = "") -> Iterator[Progress]:
        """Open the index of these settings, building what is missing; yields progress.

        Raises StoppedError when the run is stopped; the documents that were finished are kept.
        """
        with self._runs.start(run) as stop:
            yield from self._opened(owner, settings, stop)

    def _opened(self, owner: str, settings: Settings, stop: StopSignal) -> Generator[Progress, None, Index]:
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
        documents = [d for d in self.store.documents.list(owner) if d.state.usable]
        embeddings = self._needs_embeddings(settings)
        providers: dict[str, Callable[[], Sequence[Passage]]] = {
            document.id: partial(self._passages_of, document, settings) for document in documents
        }
        encoder = self.models.encoder(settings.retrieval.embedding_model) if embeddings else None
        return Index.open_or_build(
            self._index_root(owner), _fingerprint(settings), providers, encoder=encoder, embeddings=embeddings,
            on_progress=report, stop=stop,
        )  # fmt: skip

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
            for path in root.iterdir() if root.is_dir() else ():
                folder = IndexFolder(path)
                folder.segment_file(document_id).unlink(missing_ok=True)
                folder.vectors_file(document_id).unlink(missing_ok=True)
        except OSError as error:
            _log.warning("passages of a removed document stay in %s: %s", root, error)

    # ------------------------------------------------------------ search

    def search(
        self, owner: str, question: str, settings: Settings, *, document_ids: Sequence[str] = (), k: int | None = None
    ) -> list[Hit]:
        """Return the hits for a question in the open index, of these documents (none given: of all).

        Raises PdfQAError if the index is not built, UsageError if the question is empty.
        """
        if not question.strip():
            raise UsageError("The question is empty.", "Type a question.")
        index = self._indexes.get(self._index_key(owner, settings))
        if index is None:
            raise PdfQAError("The index of this recipe is not built yet.", "Build it first.")
        return self._search(index, question, settings, document_ids, k or settings.retrieval.k)

    @staticmethod
    def _search(index: Index, question: str, settings: Settings, document_ids: Sequence[str], k: int) -> list[Hit]:
        strategy = retrievers.get(settings.retrieval.retriever)
        retriever: IndexRetriever = strategy(index, **_declared(strategy, settings.retrieval))
        return retriever.search(question, k, frozenset(document_ids) if document_ids else None)


def _declared(strategy: Any, section: Section) -> dict[str, Any]:
    """Return the settings of a section that the strategy, a dataclass, has parameters for."""
    known = {field.name for field in fields(strategy)}
    return {name: value for name, value in section.model_dump().items() if name in known}


def _fingerprint(settings: Settings, *others: str) -> str:
    """Return a name for everything that the passages depend on; settings the chunker does not have are left out.

    Lengths in tokens depend on whose tokens they are.
    """
    chunking: ChunkingSettings = settings.chunking
    parts = {
        "chunker": chunking.chunker,
        "headings": chunking.headings,
        **_declared(chunkers.get(chunking.chunker), chunking),
        "others": (settings.extraction.extractor, *others),
    }
    if parts.get("unit") == "tokens":
        parts["tokenizer"] = settings.retrieval.embedding_model
    return json.dumps(parts, sort_keys=True)
