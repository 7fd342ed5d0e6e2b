"""The one place that builds concrete objects from Settings, and what the page and the command line call."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdfqa_core import ingest as ingestion
from pdfqa_core.background import in_background
from pdfqa_core.chunking import chunkers, with_headings
from pdfqa_core.conversation import rewriters
from pdfqa_core.errors import ModelError, PdfQAError, UsageError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.render import PageRenderer
from pdfqa_core.extraction.worker import Limits, read_document
from pdfqa_core.loaded_models import LoadedModels
from pdfqa_core.pipeline import ask
from pdfqa_core.reading import readers
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import Index, IndexRetriever, IndexStats, confidence, retrievers
from pdfqa_core.settings import ChunkingSettings, Section, Settings
from pdfqa_core.storage import Store
from pdfqa_core.types import (
    Answer,
    Document,
    Done,
    Event,
    Hit,
    Page,
    Passage,
    Progress,
    Retrieved,
    Rewritten,
    StopSignal,
    Stored,
    Study,
    Token,
    Turn,
)

LOCAL_OWNER = "local"
SAMPLE = Path(__file__).resolve().parent.parent / "data" / "sample"
PASSAGES_PER_SECOND = 27.0  # MiniLM on two cores; only for the estimate beside "Build index"
OPEN_INDEXES = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a page."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class PageView:
    """A page with its image; `message` says why there is no image."""

    document: Document
    page: Page
    image: bytes
    mime: str
    message: str = ""


class Services:
    """Everything the program can do, for one workspace. Close it when done."""

    def __init__(self, workspace: Path, settings: Settings) -> None:
        self.workspace = workspace
        self.settings = settings
        self.store = Store.open(workspace, os.environ.get("PDFQA_DATABASE_URL", ""))
        self.models = LoadedModels(settings, workspace / "models")
        self._renderer = PageRenderer()
        self._runs: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._indexes: dict[tuple[str, str], Index] = {}
        self._passages: dict[tuple[str, str], tuple[Passage, ...]] = {}

    def close(self) -> None:
        """Stop what runs, end the child processes and close the database."""
        for run in list(self._runs):
            self.stop(run)
        self.models.close()
        self._renderer.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ runs that can be stopped

    @contextlib.contextmanager
    def _run(self, run: str) -> Iterator[threading.Event]:
        stop = threading.Event()
        with self._lock:
            if run and run in self._runs:
                raise PdfQAError("This page is still busy with the last request.", "Wait for it, or press Stop.")
            key = run or uuid.uuid4().hex
            self._runs[key] = stop
        try:
            yield stop
        finally:
            with self._lock:
                self._runs.pop(key, None)

    def stop(self, run: str = "") -> None:
        """Stop the run with this name; no name: all of them."""
        with self._lock:
            for name, stop in self._runs.items():
                if not run or name == run:
                    stop.set()

    # ------------------------------------------------------------ documents

    @staticmethod
    def names(kind: str) -> tuple[str, ...]:
        """Return the names of the strategies of a kind ("extractor", "chunker", "retriever", "reader", "rewriter")."""
        registries: tuple[Registry[Any], ...] = (extractors, chunkers, retrievers, readers, rewriters)
        return next(registry.names() for registry in registries if registry.kind == kind)

    def ingest(
        self, owner: str, files: Sequence[Path | ingestion.Source], *, password: str | None = None, again: bool = False,
        run: str = "",
    ) -> Iterator[Progress | Document]:  # fmt: skip
        """Read PDFs into the workspace; yields progress, and a Document for each file."""
        chosen = self.settings.extraction
        limits = Limits(
            max_file_mb=chosen.max_file_mb, max_pages=chosen.max_pages, max_characters=chosen.max_characters,
            memory_mb=chosen.memory_mb, seconds=chosen.seconds,
        )  # fmt: skip
        sources = [f if isinstance(f, ingestion.Source) else ingestion.Source(f, f.name) for f in files]
        self._check_room(owner, sources)
        with self._run(run) as stop:

            def read(
                source: ingestion.Source, document_id: str, on_progress: Callable[[Progress], None]
            ) -> ingestion.ReadResult:
                return read_document(
                    source.path, document_id, filename=source.filename, extractor=chosen.extractor, password=password,
                    limits=limits, on_progress=on_progress, stop=stop,
                )  # fmt: skip

            yield from ingestion.ingest(
                sources, self.store.documents, self.store.store_pdf, read, owner=owner, extractor=chosen.extractor,
                max_bytes=chosen.max_file_mb * 1_000_000, again=again, stop=stop,
            )  # fmt: skip
        with self._lock:
            self._indexes = {key: index for key, index in self._indexes.items() if key[0] != owner}
            self._passages.clear()

    def _check_room(self, owner: str, sources: Sequence[ingestion.Source]) -> None:
        server = self.settings.server
        if not server.demo:
            return
        wanted = sum(source.path.stat().st_size for source in sources) + self.store.owners.pdf_bytes(owner)
        if wanted > server.visitor_mb * 1_000_000:
            raise PdfQAError(
                f"This would be {wanted / 1e6:.0f} MB of PDFs; a visitor of this demo may keep {server.visitor_mb} MB.",
                "Remove a document first, or run the app on your own computer.",
            )

    def add_sample(self, owner: str) -> Iterator[Progress | Document]:
        """Add the document that comes with the program."""
        yield from self.ingest(owner, [self._sample_pdf()])

    @staticmethod
    def _sample_pdf() -> Path:
        found = sorted(SAMPLE.glob("*.pdf"))
        if not found:
            raise PdfQAError("The sample document is missing.", f"It belongs into {SAMPLE}.")
        return found[0]

    def has_sample(self, owner: str) -> bool:
        """Whether the owner has the sample document."""
        return any(d.filename == self._sample_pdf().name for d in self.store.documents.list(owner))

    def suggestions(self, owner: str) -> tuple[str, ...]:
        """Return questions to begin with, if the owner's only document is the sample."""
        usable = [document for document in self.store.documents.list(owner) if document.state.usable]
        if [document.filename for document in usable] != [self._sample_pdf().name]:
            return ()
        lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        items = [json.loads(line) for line in lines]
        first = [i["question"] for i in items if i["answerable"] and not i.get("follow_up_of")][:2]
        return (*first, *[i["question"] for i in items if not i["answerable"]][:1])

    def document_ids(self, owner: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the documents with these file names, titles or ids. Raises UsageError for another name."""
        known = self.store.documents.list(owner)
        found = []
        for name in names:
            ids = [d.id for d in known if name in (d.filename, d.title, d.id)]
            if not ids:
                raise UsageError(f"There is no document {name!r}.", f"Known: {', '.join(d.filename for d in known)}.")
            found += ids
        return tuple(found)

    def remove_document(self, owner: str, document_id: str) -> None:
        """Remove a document, its pages and its passages."""
        self.store.documents.remove(owner, document_id)
        with self._lock:
            self._indexes = {key: index for key, index in self._indexes.items() if key[0] != owner}

    def original(self, owner: str, document_id: str) -> ingestion.Source:
        """Return the stored PDF of a document with the name it was added under."""
        document = self.store.documents.get(owner, document_id)
        return ingestion.Source(self.store.pdf_path(document_id), document.filename)

    def page_view(self, owner: str, document_id: str, number: int, *, width: int = 1400) -> PageView:
        """Return a page with its image, `width` pixels wide. Raises UsageError if the owner has no such page."""
        document = self.store.documents.get(owner, document_id)
        page = self.store.documents.page(owner, document_id, self.settings.extraction.extractor, number)
        try:
            image = self._renderer.render(
                self.store.pdf_path(document_id), number, width_px=width, filename=document.filename
            )
        except PdfQAError as error:
            return PageView(document, page, b"", "", str(error))
        return PageView(document, page, image, self._renderer.mime)

    def thumbnail(self, owner: str, document_id: str, number: int) -> Picture:
        """Return a small image of a page; empty where it cannot be drawn."""
        self.store.documents.get(owner, document_id)
        try:
            return Picture(
                self._renderer.render(self.store.pdf_path(document_id), number, width_px=168), self._renderer.mime
            )
        except PdfQAError:
            _log.warning("no thumbnail of page %d of %s", number, document_id[:12])
            return Picture(b"", "")

    # ------------------------------------------------------------ passages and indexes

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
        key = (document.id, _fingerprint(settings.chunking, settings.extraction.extractor, document.title))
        cached = self._passages.get(key)
        if cached is None:
            pages = self.store.documents.pages(document.owner, document.id, settings.extraction.extractor)
            made = self._chunker(settings).chunk(pages)
            if settings.chunking.headings:
                made = with_headings(made, pages, document.title)
            cached = tuple(made)
            with self._lock:
                if len(self._passages) > 500:
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

    def _index_root(self, owner: str) -> Path:
        if owner == LOCAL_OWNER:
            return self.workspace / "indexes"
        return self.workspace / "visitors" / hashlib.sha256(owner.encode()).hexdigest()[:16] / "indexes"

    def _index_key(self, owner: str, settings: Settings) -> tuple[str, str]:
        documents = sorted(d.id for d in self.store.documents.list(owner) if d.state.usable)
        recipe = self._recipe(settings)
        model = settings.retrieval.embedding_model if self._needs_embeddings(settings) else "none"
        return owner, hashlib.sha256(json.dumps([recipe, model, documents]).encode()).hexdigest()

    @staticmethod
    def _recipe(settings: Settings) -> str:
        return _fingerprint(settings.chunking, settings.extraction.extractor)

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
        """Open the index of these settings, building what is missing; yields progress. Stopping keeps what is done."""
        key = self._index_key(owner, settings)
        if key in self._indexes:
            return
        with self._run(run) as stop:
            index = yield from in_background(lambda report: self._open_index(owner, settings, report, stop))
        with self._lock:
            while len(self._indexes) >= OPEN_INDEXES:
                self._indexes.pop(next(iter(self._indexes)))
            self._indexes[key] = index

    def _open_index(
        self, owner: str, settings: Settings, report: Callable[[Progress], None], stop: StopSignal
    ) -> Index:
        documents = [d for d in self.store.documents.list(owner) if d.state.usable]
        embeddings = self._needs_embeddings(settings)
        providers: dict[str, Callable[[], Sequence[Passage]]] = {
            document.id: partial(self._passages_of, document, settings) for document in documents
        }
        encoder = self.models.encoder(settings.retrieval.embedding_model) if embeddings else None
        return Index.open_or_build(
            self._index_root(owner), self._recipe(settings), providers, encoder=encoder, embeddings=embeddings,
            on_progress=report, stop=stop,
        )  # fmt: skip

    def index_stats(self, owner: str, settings: Settings) -> IndexStats | None:
        """Return what the open index of these settings holds; None if it is not open."""
        index = self._indexes.get(self._index_key(owner, settings))
        return index.stats if index else None

    def _retriever(self, owner: str, settings: Settings) -> IndexRetriever:
        index = self._indexes.get(self._index_key(owner, settings))
        if index is None:
            raise PdfQAError("The index of this recipe is not built yet.", "Build it first.")
        strategy = retrievers.get(settings.retrieval.retriever)
        retriever: IndexRetriever = strategy(index, **_declared(strategy, settings.retrieval))
        return retriever

    def search(
        self, owner: str, question: str, settings: Settings, *, document_ids: Sequence[str] = (), k: int | None = None
    ) -> list[Hit]:
        """Return the hits for a question in the open index. Raises PdfQAError if it is not built."""
        scope = frozenset(document_ids) if document_ids else None
        return self._retriever(owner, settings).search(question, k or settings.retrieval.k, scope)

    # ------------------------------------------------------------ questions

    def _reader(self, settings: Settings) -> tuple[Any, tuple[str, ...]]:
        """Return the reader of the settings, or the extractive one with a note where there is no language model."""
        reading, llm = settings.reading, settings.llm
        strategy: Any = readers.get(reading.reader)
        if not strategy.needs_llm:
            return strategy(passages=reading.passages, threshold=reading.citation_threshold), ()
        try:
            if self.models.status.state == "missing":
                raise ModelError("The language model is not available.", self.models.status.detail)
            return strategy(
                self.models.llm(), passages=reading.passages, max_tokens=llm.max_tokens, temperature=llm.temperature,
                seed=llm.seed, threshold=reading.citation_threshold,
            ), ()  # fmt: skip
        except ModelError as error:
            fallback: Any = readers.get("extractive")
            note = f"Answered word for word from the passages, because there is no language model: {error}"
            return fallback(passages=reading.passages, threshold=reading.citation_threshold), (note,)

    def _rewriter(self, settings: Settings) -> Any:
        conversation = settings.conversation
        strategy: Any = rewriters.get(conversation.rewriter)
        if not strategy.needs_llm:
            return strategy(turns=conversation.turns)
        try:
            return strategy(self.models.llm(), turns=conversation.turns)
        except ModelError:
            fallback: Any = rewriters.get("concatenation")
            return fallback(turns=conversation.turns)

    def answer(
        self, owner: str, question: str, settings: Settings, *, conversation_id: str = "",
        document_ids: Sequence[str] = (), replace_turn: str = "", run: str = "",
    ) -> Iterator[Event]:  # fmt: skip
        """Answer a question in a conversation (a new one if no id is given) and store the turn.

        Yields the events of `pipeline.ask`, before them the progress of indexing, and last Stored. With `replace_turn`,
        the last turn, the new one takes its place. A stopped or abandoned answer is stored as far as it was written.
        """
        question = question.strip()
        if not question:
            raise UsageError("The question is empty.", "Type a question.")
        turns = self.store.conversations.get(owner, conversation_id).turns if conversation_id else ()
        if replace_turn and (not turns or turns[-1].id != replace_turn):
            raise UsageError("Only the last question of a conversation can be asked again.", "Ask a new one.")
        earlier = turns[:-1] if replace_turn else turns
        keep = settings.conversation.turns
        history = [(turn.question, turn.answer.text) for turn in earlier[len(earlier) - keep :]] if keep else []
        if not any(document.state.usable for document in self.store.documents.list(owner)):
            raise PdfQAError("There are no documents to ask about.", "Add PDFs first, or try the sample.")
        yield from self.build_index(owner, settings)
        reader, notes = self._reader(settings)
        searched, text, stored = question, "", False
        hits: tuple[Hit, ...] = ()

        def store(answer: Answer, standalone: str) -> Stored:
            nonlocal conversation_id, stored
            stored = True
            turn = Turn(uuid.uuid4().hex, 0, question, standalone, replace(answer, notes=(*notes, *answer.notes)))
            if not conversation_id:
                title = question if len(question) <= 60 else question[:57] + "…"
                conversation_id = self.store.conversations.create(owner, title, document_ids).id
            keep_turn = (
                self.store.conversations.replace_last_turn if replace_turn else self.store.conversations.append_turn
            )
            return Stored(conversation_id, keep_turn(owner, conversation_id, turn))

        with self._run(run) as stop:
            events = ask(
                question, history, rewriter=self._rewriter(settings),
                retrieve=lambda q, k: self.search(owner, q, settings, document_ids=document_ids, k=k),
                reader=reader, confidence=confidence, threshold=settings.reading.confidence_threshold,
                k=settings.retrieval.k, settings_fingerprint=settings.fingerprint(), stop=stop,
            )  # fmt: skip
            try:
                for event in events:
                    match event:
                        case Rewritten(question=searched):
                            pass
                        case Retrieved(hits=hits):
                            pass
                        case Token(text=piece):
                            text += piece
                    if isinstance(event, Done):
                        saved = store(event.answer, searched)
                        yield event
                        yield saved
                    else:
                        yield event
            finally:
                if text and not stored:
                    left = Answer(text, hits=hits, stopped=True, settings_fingerprint=settings.fingerprint())
                    store(left, searched)

    def study_of(self, owner: str, conversation_id: str, turn_id: str) -> Study:
        """Return a study that holds the turn; one of its whole conversation is made if there is none."""
        studies = self.store.studies.list(owner)
        for study in studies:
            if turn_id in study.turn_ids:
                return study
        title = self.store.conversations.get(owner, conversation_id).title
        taken = {study.name for study in studies}
        name = next(name for n in count(1) if (name := title if n == 1 else f"{title} ({n})") not in taken)
        return self.store.studies.create(owner, name, [conversation_id], len(studies))

    # ------------------------------------------------------------ housekeeping

    def purge_visitors(self) -> tuple[str, ...]:
        """Remove the data of demo visitors who were not seen for the time the settings give; return who went."""
        if not self.settings.server.demo:
            return ()
        gone = self.store.owners.purge(self.settings.server.visitor_hours, keep=(LOCAL_OWNER,))
        for owner in gone:
            shutil.rmtree(self._index_root(owner).parent, ignore_errors=True)
        return gone


def _declared(strategy: Any, section: Section) -> dict[str, Any]:
    """Return the settings of a section that the strategy, a dataclass, has parameters for."""
    known = {field.name for field in fields(strategy)}
    return {name: value for name, value in section.model_dump().items() if name in known}


def _fingerprint(chunking: ChunkingSettings, *others: str) -> str:
    """Return a name for everything that the passages depend on; settings the chunker does not have are left out."""
    declared = _declared(chunkers.get(chunking.chunker), chunking)
    parts = {"chunker": chunking.chunker, "headings": chunking.headings, **declared, "others": others}
    return json.dumps(parts, sort_keys=True)
