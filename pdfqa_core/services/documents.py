"""Documents of a workspace: PDFs in, and which reading of each is used."""

from __future__ import annotations

import json
import logging
import math
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from joblib import cpu_count

from pdfqa_core import ingest as ingestion
from pdfqa_core import languages
from pdfqa_core.cluster import Cluster, LostError
from pdfqa_core.errors import DocumentError, PdfQAError, StoppedError, StorageError, UsageError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process.properties import FileProperties, read_properties
from pdfqa_core.extraction.process.worker import Limits, ReadResult, Slots, crashed, read_document
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.services.room import Room
from pdfqa_core.services.secret_words import Passwords
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import ExtractionSettings, Settings
from pdfqa_core.storage import Reading, Store
from pdfqa_core.storage.document_copies import copied
from pdfqa_core.storage.documents import Documents
from pdfqa_core.text import terms
from pdfqa_core.types import Document, DocumentState, Page, Progress, Span
from pdfqa_core.whole_files import temporary_folder

# ----------------------------------------------------------------------------------------------------
# The document that comes with the program, and the questions made for it.

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"


def sample_pdf() -> Path:
    """Return where the sample document lies. Raises PdfQAError if it is missing."""
    found = sorted(SAMPLE.glob("*.pdf"))
    if not found:
        raise PdfQAError("The sample document is missing.", f"It belongs into {SAMPLE}.")
    return found[0]


def sample_questions() -> list[dict[str, Any]]:
    """Return the rows of the sample's questions, in their order."""
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


# ----------------------------------------------------------------------------------------------------
# Which reading of a document is used: names of readings, the one a recipe wants, and whether text stands in it.

_ENOUGH = 0.8  # of a span's words: from this share on its text is the passage's; tables are written in several ways


@dataclass(frozen=True, slots=True)
class Claim:
    """A place where `text`, or the part of it that `span` has room for, is said to stand."""

    span: Span
    text: str


def name_of(extraction: ExtractionSettings) -> str:
    """Return the name of a reading: the extractor, with what is asked of it beyond the default.

    Settings that do not change its text are no part of the name.
    """
    parts = [extraction.extractor]
    if not extraction.tables:
        parts.append("no tables")
    if extraction.visual_pages == "all" and "visual_pages" in extractors.parameters(extraction.extractor):
        parts.append("all pages")
    return ", ".join(parts)


def wanted_reading(settings: Settings, own: ExtractionSettings) -> ExtractionSettings | None:
    """Return how a recipe wants documents to have been read; None: as each of them was.

    It wants what `read_by` names, or its own way of reading where that is not the workspace's (`own`), in which new
    PDFs are read.
    """
    if settings.chunking.read_by:
        return settings.extraction.model_copy(update={"extractor": settings.chunking.read_by})
    return settings.extraction if name_of(settings.extraction) != name_of(own) else None


def used_reading(document: Document, readings: Iterable[Reading], name: str) -> Reading | None:
    """Return the document's usable reading of this name, else the one that counts for it; None: it has no text."""
    usable = {reading.extractor: reading for reading in readings if reading.state.usable}
    return usable.get(name) or usable.get(document.extractor)


def stands(page: Page, claim: Claim) -> bool:
    """Whether the page has the text where the claim says so; readings differ in their text, and so in its places."""
    span = claim.span
    if (span.document_id, span.page) != (page.document_id, page.number) or span.end > len(page.text):
        return False
    there = Counter(terms(page.text[span.start : span.end]))
    total = sum(there.values())
    if not total:
        return page.text[span.start : span.end].strip() in claim.text
    return sum((there & Counter(terms(claim.text))).values()) >= _ENOUGH * total


# ----------------------------------------------------------------------------------------------------
# PDFs read by the workers of a cluster: the file's bytes go there, its pages come back.


@dataclass(frozen=True)
class ReadingTask:
    """A task: a PDF to read, and how (arguments of `read_document`). The password is not shown where this is."""

    content: bytes = field(repr=False)
    filename: str
    document_id: str
    password: str | None = field(repr=False)
    limits: Limits
    options: dict[str, Any]


def read_bytes(task: ReadingTask) -> ReadResult:
    """Read a PDF on a worker, in a child process as anywhere."""
    with temporary_folder() as folder:
        path = folder / "file.pdf"
        path.write_bytes(task.content)
        return read_document(
            path,
            task.document_id,
            filename=task.filename,
            password=task.password,
            limits=task.limits,
            workers=1,
            **task.options,
        )


def read_elsewhere(
    cluster: Cluster,
    path: Path,
    document_id: str,
    *,
    filename: str,
    password: str | None,
    limits: Limits,
    on_progress: Callable[[Progress], None],
    stop: StopSignal | None,
    **options: Any,
) -> ReadResult:
    """Return what `read_document` returns, of a PDF that a worker reads.

    A file over which one worker after the other dies is as damaged as one that ends its process here. Raises
    StoppedError, ClusterError, and what `read_document` raises.
    """
    name = filename or path.name
    try:
        check_file(path, name, limits.max_file_mb * 1_000_000)
        content = path.read_bytes()
    except DocumentError as error:
        return ReadResult(error.state, str(error), Path(name).stem)
    except OSError as error:
        raise PdfQAError(f"{name} cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    on_progress(Progress(f"Reading {name}"))
    task = ReadingTask(content, name, document_id, password, limits, options)
    try:
        [(_, result)] = cluster.map(read_bytes, [task], stop)
    except StoppedError:
        raise StoppedError(f"Reading {name} was stopped.") from None
    except LostError:
        failed = crashed(name)
        return ReadResult(failed.state, str(failed), Path(name).stem)
    return result


# ----------------------------------------------------------------------------------------------------
# Documents of a workspace: PDFs in, and which reading of each is used.

_log = logging.getLogger(__name__)


def read_pdf(
    path: Path,
    chosen: ExtractionSettings,
    password: str | None,
    on_progress: Callable[[Progress], None],
    *,
    document_id: str = "",
    filename: str = "",
    workers: int = 0,
    stop: StopSignal | None = None,
    numbers: Sequence[int] = (),
    visual_pages: str = "",
    most_seconds: float | None = None,
    cluster: Cluster | None = None,
) -> ReadResult:
    """Return the pages of a PDF read in this way and within its limits; nothing is stored. As `read_document`.

    `most_seconds` is how long it may take in all, OCR included. With a `cluster` one of its workers reads.
    """
    limits = Limits(
        max_file_mb=chosen.max_file_mb,
        max_pages=chosen.max_pages,
        max_characters=chosen.max_characters,
        memory_mb=chosen.memory_mb,
        seconds=chosen.seconds,
        page_seconds=chosen.page_seconds,
        most_seconds=math.inf if most_seconds is None else most_seconds,
    )
    if cluster is not None:
        return read_elsewhere(
            cluster,
            path,
            document_id,
            filename=filename,
            password=password,
            limits=limits,
            on_progress=on_progress,
            stop=stop,
            extractor=chosen.extractor,
            tables=chosen.tables,
            numbers=numbers,
            visual_pages=visual_pages or chosen.visual_pages,
        )
    return read_document(
        path,
        document_id,
        filename=filename,
        extractor=chosen.extractor,
        password=password,
        tables=chosen.tables,
        visual_pages=visual_pages or chosen.visual_pages,
        numbers=numbers,
        workers=workers or chosen.workers or cpu_count(),
        limits=limits,
        on_progress=on_progress,
        stop=stop,
    )


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


class DocumentService:
    """The documents of each owner. `settings` say how new PDFs are read, `room` how much a visitor may keep."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        passwords: Passwords,
        tasks: Tasks,
        room: Room,
        cluster: Cluster | None = None,
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._kept = store.documents
        self._extraction = settings.extraction
        self.room = room
        self._passwords = passwords
        self._tasks = tasks
        self._looking = threading.Lock()
        count = settings.extraction.workers or cpu_count()
        demo = settings.server.demo  # there one place is always kept for the others
        self._slots = Slots(max(2, count), max(2, count) - 1) if demo else Slots(count)
        self._still_whole: list[Callable[[str, str], None]] = []
        self._before_removal: list[Callable[[Path], None]] = []
        self._when_removed: list[Callable[[str, str], None]] = []
        try:
            store.files.tidy()
        except StorageError as error:
            _log.warning("left-over files stay where they are: %s", error)

    def list(self, owner: str) -> tuple[Document, ...]:
        """Return the owner's documents."""
        return self._kept.list(owner)

    def get(self, owner: str, document_id: str) -> Document:
        """Return one document. Raises UsageError if the owner has no such document."""
        return self._kept.get(owner, document_id)

    def still_there(self, owner: str, document_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of these documents that have not been removed."""
        known = {document.id for document in self._kept.list(owner)}
        return tuple(i for i in document_ids if i in known)

    def owned(self) -> dict[str, frozenset[str]]:
        """Return the ids of the documents of each owner who has any."""
        return self._kept.owned()

    def filenames(self, owner: str) -> dict[str, str]:
        """Return the file name of each of the owner's documents by its id."""
        return {document.id: document.filename for document in self._kept.list(owner)}

    def names(self, owner: str, *conversation_ids: str) -> dict[str, str]:
        """Return what documents are called where these conversations cite them, by id: the file names.

        Those of removed documents come from the turns, with a word that says so.
        """
        known, kept = self.filenames(owner), dict[str, str]()
        for conversation_id in conversation_ids:
            kept |= self._store.conversations.filenames(owner, conversation_id)
        return {document_id: f"{name} (removed)" for document_id, name in kept.items()} | known

    def readings(self, owner: str, document_id: str = "") -> tuple[Reading, ...]:
        """Return how the owner's documents (one of them) have been read."""
        return self._kept.readings(owner, document_id)

    # ------------------------------------------------------------ PDFs in

    def ingest(
        self,
        owner: str,
        files: Sequence[Path | ingestion.Source],
        *,
        password: str | None = None,
        again: bool = False,
        extraction: ExtractionSettings | None = None,
        task: str = "",
        reserved: bool = False,
    ) -> Iterator[Progress | Document]:
        """Read PDFs into the workspace, several side by side; yields progress, and a Document for each file.

        `extraction` says how, the workspace's settings where None is given. A file that can be searched already and has
        been read in this way is not read again unless `again` is set; what cannot be read in this way keeps the reading
        it had. `reserved`: the caller has reserved the room for them. A password that opens a file is kept in memory
        for the images of its pages. Raises StoppedError when the task is stopped within a file; nothing is kept of such
        files. Raises UsageError without an owner, PdfQAError where a visitor of a demo has no room for them.
        """
        if not owner:
            raise UsageError("This page does not know whose documents these are.", "Open it again.")
        chosen = extraction or self._extraction
        sources = [f if isinstance(f, ingestion.Source) else ingestion.Source(f, f.name) for f in files]
        name = name_of(chosen)
        tried = {reading.document_id for reading in self._kept.readings(owner) if reading.extractor == name}
        reservation = "" if reserved else uuid.uuid4().hex
        with self._tasks.start(task) as stop:
            if reservation:
                self.room.reserve(reservation, owner, sources)
            try:
                yield from ingestion.ingest(
                    sources,
                    self._kept,
                    self._store.files.store,
                    self._read(chosen, password, stop, owner),
                    owner=owner,
                    extractor=name,
                    max_bytes=chosen.max_file_mb * 1_000_000,
                    again=again,
                    tried=tried,
                    workers=self._workers(chosen),
                    stop=stop,
                )
            finally:
                self.room.release(reservation)

    @property
    def slots(self) -> Slots:
        """The processes that may read at the same time, shared by all that reads."""
        return self._slots

    def _workers(self, chosen: ExtractionSettings) -> int:
        """Return how many processes may read for one call: as many as are wanted, and as the program may have."""
        return min(chosen.workers or self._slots.count, self._slots.count)

    def _read(
        self, chosen: ExtractionSettings, password: str | None, stop: StopSignal, owner: str = ""
    ) -> ingestion.Read:
        """Return what reads a PDF in this way, in child processes; a password that opens it is kept for `owner`."""

        def read(
            source: ingestion.Source, document_id: str, unfinished: int, on_progress: Callable[[Progress], None]
        ) -> ReadResult:
            secret = password or self._passwords.get(owner, document_id)
            if not self._slots.free:
                on_progress(Progress(f"queueing {source.filename}"))
            with self._slots.take(self._workers(chosen) // unfinished, stop, owner) as workers:
                try:
                    allowed = self.room.allowed(owner, document_id, chosen)
                except DocumentError as none_left:
                    return ReadResult(none_left.state, str(none_left), Path(source.filename).stem)
                with self.room.reading(owner):
                    result = read_pdf(
                        source.path,
                        allowed,
                        secret,
                        on_progress,
                        document_id=document_id,
                        filename=source.filename,
                        workers=workers,
                        stop=stop,
                        most_seconds=self.room.seconds_left(owner),
                        cluster=self._cluster,
                    )
            if secret and owner and result.state.usable:
                self._passwords.keep(owner, document_id, secret)
            return result

        return read

    def remove(self, owner: str, document_id: str) -> None:
        """Remove a document, its pages and what was derived from it."""
        for keep in self._still_whole:
            keep(owner, document_id)
        for release in self._before_removal:
            release(self._store.files.path(document_id))
        self._kept.remove(owner, document_id)
        self._passwords.forget(owner, document_id)
        for forget in self._when_removed:
            try:
                forget(owner, document_id)
            except (PdfQAError, OSError) as error:
                _log.warning("something of a removed document stays until it is tried again: %s", error)

    def before_removal(self, release: Callable[[Path], None]) -> None:
        """Have `release(path of the PDF)` called before each removal, to close the file."""
        self._before_removal.append(release)

    def while_whole(self, keep: Callable[[str, str], None]) -> None:
        """Have `keep(owner, document_id)` called before anything of a document is removed."""
        self._still_whole.append(keep)

    def when_removed(self, forget: Callable[[str, str], None]) -> None:
        """Have `forget(owner, document_id)` called after each removal."""
        self._when_removed.append(forget)

    # ------------------------------------------------------------ the sample

    def add_sample(self, owner: str) -> Iterator[Progress | Document]:
        """Add the document that comes with the program."""
        yield from self.ingest(owner, [sample_pdf()])

    def has_sample(self, owner: str) -> bool:
        """Whether the owner has the sample document."""
        return any(d.filename == sample_pdf().name for d in self._kept.list(owner))

    def suggestions(self, owner: str) -> tuple[str, ...]:
        """Return questions to begin with, if the owner's only document is the sample."""
        usable = [document for document in self._kept.list(owner) if document.state.usable]
        if [document.filename for document in usable] != [sample_pdf().name]:
            return ()
        items = sample_questions()
        first = [i["question"] for i in items if i["answerable"] and not i.get("follow_up_of")][:2]
        return (*first, *[i["question"] for i in items if not i["answerable"]][:1])

    # ------------------------------------------------------------ documents and pages out

    def document_ids(self, owner: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the documents with these file names, titles or ids. Raises UsageError for another name."""
        known = self._kept.list(owner)
        found: list[str] = []
        for name in names:
            ids = [d.id for d in known if name in (d.filename, d.title, d.id)]
            if not ids:
                there = ", ".join(document.filename for document in known) or "none"
                raise UsageError(f"There is no document {name!r}.", f"Known: {there}.")
            found += ids
        return tuple(dict.fromkeys(found))

    def require_documents(self, owner: str) -> None:
        """Raise PdfQAError if the owner has no document that can be searched."""
        if not any(document.state.usable for document in self._kept.list(owner)):
            raise PdfQAError("There are no documents to ask about.", "Add PDFs first, or try the sample.")

    def original(self, owner: str, document_id: str) -> ingestion.Source:
        """Return the stored PDF of a document with the name it was added under."""
        document = self._kept.get(owner, document_id)
        return ingestion.Source(self._store.files.path(document_id), document.filename)

    def properties(self, owner: str, document_id: str) -> FileProperties:
        """Return what a document's file says of itself. Raises DocumentError where it cannot be opened (a password)."""
        pdf = self.original(owner, document_id)
        return read_properties(pdf.path, filename=pdf.filename, password=self._passwords.get(owner, document_id))

    # ------------------------------------------------------------ readings

    def readable(
        self, owner: str, settings: Settings, document_ids: Sequence[str] = ()
    ) -> tuple[tuple[Document, Reading], ...]:
        """Return the owner's documents that can be searched (of these), each with the reading that a recipe uses.

        That is the one the recipe wants where it is usable, else the one that counts for the document.
        """
        made: dict[str, list[Reading]] = {}
        for reading in self._kept.readings(owner):
            made.setdefault(reading.document_id, []).append(reading)
        name = self.wanted_reading(settings)
        found = []
        for document in self._kept.list(owner):
            used = used_reading(document, made.get(document.id, ()), name)
            if used is not None and (not document_ids or document.id in document_ids):
                found.append((document, self._with_language(owner, used)))
        return tuple(found)

    def _with_language(self, owner: str, reading: Reading) -> Reading:
        """Return the reading with its language, which is looked up in its text once and noted."""
        if reading.language:
            return reading
        with self._looking:
            numbers = [number + 1 for number in languages.spread(reading.page_count)]
            try:
                pages = self._kept.some_pages(owner, reading.document_id, reading.extractor, numbers)
            except UsageError:  # removed meanwhile
                return reading
            language = languages.of_document([page.text for page in pages])
            try:
                self._kept.note_language(reading, language)
            except StorageError as error:
                _log.warning("the language of a document is looked up again next time: %s", error)
        return replace(reading, language=language)

    def wanted_reading(self, settings: Settings) -> str:
        """Return the name of the reading that a recipe wants of each document; "": the one that counts for it."""
        wanted = wanted_reading(settings, self._extraction)
        return name_of(wanted) if wanted is not None else ""

    def pages(self, owner: str, document_id: str, settings: Settings) -> tuple[Page, ...]:
        """Return the pages of a document in the reading that a recipe uses; empty if it has no text."""
        found = self.readable(owner, settings, (document_id,))
        return self._kept.pages(owner, document_id, found[0][1].extractor) if found else ()

    def copy(self, owner: str, used: Mapping[str, str]) -> bytes:
        """Return a database with these documents, each in the reading that is named, for another computer."""
        return copied(self._store.database, owner, used)

    @property
    def extraction(self) -> ExtractionSettings:
        """How new PDFs are read."""
        return self._extraction

    def pages_of(self, document: Document, reading: Reading) -> tuple[Page, ...]:
        """Return all pages of one reading of a document."""
        return self._kept.pages(document.owner, document.id, reading.extractor)

    def page(self, owner: str, document_id: str, reading: str, number: int) -> Page:
        """Return one page of the reading of this name by its 1-based number. Raises UsageError if it was not read."""
        return self._kept.page(owner, document_id, reading, number)

    def reading_notes(self, owner: str, settings: Settings) -> tuple[str, ...]:
        """Return a sentence on each document that a recipe uses in another reading than the one it wants, and why."""
        name = self.wanted_reading(settings)
        if not name:
            return ()
        tried = {r.document_id: r for r in self._kept.readings(owner) if r.extractor == name}
        notes = []
        for document, reading in self.readable(owner, settings):
            outcome = tried.get(document.id)
            if reading.extractor == name:
                continue
            why = outcome.reason or f"it ended as {outcome.state}." if outcome else "it has not been read so yet."
            notes.append(f"{document.filename} is used as read by {reading.extractor}, not by {name}: {why}")
        return tuple(notes)

    def choose_reading(self, owner: str, document_id: str, name: str) -> Document:
        """Let the reading of this name count for the document. Raises UsageError if there is none that is usable."""
        return self._kept.choose(owner, document_id, name)

    def unread(self, owner: str, settings: Settings) -> tuple[Document, ...]:
        """Return the documents that building the index of a recipe reads first, as the recipe wants them read.

        Encrypted ones are among them while their password is known, and those whose PDF was too large to be kept never.
        """
        name = self.wanted_reading(settings)
        if not name:
            return ()

        def locked(state: DocumentState, document_id: str) -> bool:
            return state is DocumentState.ENCRYPTED and self._passwords.get(owner, document_id) is None

        tried = {
            r.document_id
            for r in self._kept.readings(owner)
            if r.extractor == name and (r.state is not DocumentState.ENCRYPTED or locked(r.state, r.document_id))
        }
        documents = [d for d in self._kept.list(owner) if d.id not in tried]
        return tuple(d for d in documents if not locked(d.state, d.id) and self._store.files.path(d.id).is_file())

    def read_missing(self, owner: str, settings: Settings, stop: StopSignal) -> Iterator[Progress]:
        """Read the documents that `unread` returns. Raises StoppedError when stopped; those finished are kept."""
        wanted, documents = wanted_reading(settings, self._extraction), self.unread(owner, settings)
        if wanted is None or not documents:
            return
        sources = [self.original(owner, document.id) for document in documents]
        kept = _Uncounted(self._kept, frozenset(document.id for document in documents))
        for event in ingestion.ingest(
            sources,
            kept,
            self._store.files.store,
            self._read(wanted, None, stop, owner),
            owner=owner,
            extractor=name_of(wanted),
            max_bytes=wanted.max_file_mb * 1_000_000,
            again=True,
            workers=self._workers(wanted),
            stop=stop,
        ):
            if isinstance(event, Progress):
                yield event
        if stop.is_set():
            raise StoppedError("Reading was stopped; the documents that were finished are kept.")
