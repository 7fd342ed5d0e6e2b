"""Documents of a workspace: PDFs in, and which reading of each is used."""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joblib import cpu_count

from pdfqa_core import ingest as ingestion
from pdfqa_core import languages
from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import DocumentError, PdfQAError, StoppedError, StorageError, UsageError
from pdfqa_core.extraction.process.properties import FileProperties, read_properties, take_attached
from pdfqa_core.extraction.process.worker import ReadResult, Slots
from pdfqa_core.ingest import Source
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import composed
from pdfqa_core.services.collections import CollectionService
from pdfqa_core.services.pages import PageService
from pdfqa_core.services.reading_jobs import ReadingJobs
from pdfqa_core.services.readings import name_of, read_pdf, used_reading, wanted_reading
from pdfqa_core.services.secret_words import Passwords
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import ExtractionSettings, ServerSettings, Settings
from pdfqa_core.shipped import SHIPPED
from pdfqa_core.storage import Reading, Store
from pdfqa_core.storage.document_copies import copied
from pdfqa_core.storage.documents import Documents
from pdfqa_core.types import Document, DocumentState, Page, Progress
from pdfqa_core.whole_files import file_sha256, temporary_folder

# ----------------------------------------------------------------------------------------------------
# How much visitors of a demo may keep and have read: megabytes, pages and seconds, for each and for all together.

HOUR = 3600.0  # seconds, in which `visitor_seconds` of reading may be used
LEAST = 5.0  # seconds of reading; with less left nothing is begun
OWN_COMPUTER = "Remove a document first, or run the app on your own computer."


class Room:
    """The room of a demo, without limits elsewhere. What is being read has its place reserved. Safe to use in threads.

    A PDF counts once for a visitor, and once among all, however often it is added or being read.
    """

    def __init__(self, store: Store, server: ServerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._server = server
        self._clock = clock
        self._reserved: dict[str, tuple[str, dict[str, int]]] = {}  # owner, and bytes by hash, of each reservation
        self._read: dict[str, deque[tuple[float, float]]] = defaultdict(deque)  # when, and for how many seconds
        self._lock = threading.Lock()

    # ------------------------------------------------------------ megabytes

    def reserve(self, name: str, owner: str, sources: Sequence[Source]) -> None:
        """Set room aside for files under a name until `release`. Raises PdfQAError where there is none."""
        if not self._server.demo:
            return
        files = {file_sha256(one.path): one.path.stat().st_size for one in sources if one.path.is_file()}
        with self._lock:
            mine, all_of_them = dict(self._store.documents.sizes(owner)), dict(self._store.documents.sizes())
            new = {key: size for key, size in files.items() if key not in mine}
            for other, reserved in self._reserved.values():
                all_of_them |= reserved
                mine |= reserved if other == owner else {}
            self._check(sum((mine | new).values()), sum((all_of_them | new).values()), bool(new))
            self._reserved[name] = (owner, files)

    def _check(self, mine: int, all_of_them: int, new: bool) -> None:
        server = self._server
        if new and mine > server.visitor_mb * 1_000_000:
            raise PdfQAError(
                f"This would be {mine / 1e6:.1f} MB of PDFs; a visitor of this demo may keep {server.visitor_mb} MB.",
                OWN_COMPUTER,
            )
        if new and all_of_them > server.total_mb * 1_000_000:
            raise PdfQAError(
                "This demo is full: its visitors keep as many PDFs as it has room for.",
                "Try again later, with smaller files, or run the app on your own computer.",
            )

    def release(self, name: str) -> None:
        """Give back what is reserved under a name."""
        with self._lock:
            self._reserved.pop(name, None)

    # ------------------------------------------------------------ pages and seconds

    def allowed(self, owner: str, document_id: str, chosen: ExtractionSettings) -> ExtractionSettings:
        """Return how a file may be read for an owner: within the pages that are left (see `seconds_left`).

        Raises DocumentError where nothing is left.
        """
        server = self._server
        if not server.demo:
            return chosen
        kept = sum(one.page_count for one in self._store.documents.list(owner) if one.id != document_id)
        if kept >= server.visitor_pages:
            raise DocumentError(
                DocumentState.TOO_LARGE,
                f"Your documents have {kept:,} pages; a visitor of this demo may keep {server.visitor_pages:,}.",
                OWN_COMPUTER,
            )
        left = self._seconds_left(owner)
        if left < LEAST:
            raise DocumentError(
                DocumentState.TOO_SLOW,
                f"You have used the {server.visitor_seconds / 60:.0f} minutes of reading that a visitor of this demo "
                "has in an hour.",
                "Go on later, or run the app on your own computer.",
            )
        return chosen.model_copy(update={"max_pages": min(chosen.max_pages, server.visitor_pages - kept)})

    def seconds_left(self, owner: str) -> float | None:
        """Return for how many seconds may still be read for an owner now; None: there is no limit."""
        return self._seconds_left(owner) if self._server.demo else None

    def _seconds_left(self, owner: str) -> float:
        limit = self._clock() - HOUR
        with self._lock:
            used = self._read[owner]
            while used and used[0][0] < limit:
                used.popleft()
            return self._server.visitor_seconds - sum(seconds for _, seconds in used)

    @contextmanager
    def reading(self, owner: str) -> Iterator[None]:
        """Count the seconds that the block takes as those of an owner."""
        began = self._clock()
        try:
            yield
        finally:
            if self._server.demo:
                with self._lock:
                    self._read[owner].append((self._clock(), self._clock() - began))

    def forget(self, owners: Sequence[str]) -> None:
        """Forget what these owners have read."""
        with self._lock:
            for owner in owners:
                self._read.pop(owner, None)


# ----------------------------------------------------------------------------------------------------

# ----------------------------------------------------------------------------------------------------
# The document that comes with the program, and the questions made for it.

SAMPLE = SHIPPED / "data" / "sample"


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
# Documents of a workspace: PDFs in, and which reading of each is used.


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


# ----------------------------------------------------------------------------------------------------
# What is to be removed goes a moment later, so that it can be undone.

UNDO = 10.0  # seconds
_log = logging.getLogger(__name__)


class Leaving:
    """Documents that go in UNDO seconds unless that is undone, and at once when the program ends.

    They go in a thread that no longer knows who asked, so `check` is asked at once: it raises for whoever may not.
    """

    def __init__(self, remove: Callable[[str, str], None], check: Callable[[str, str], object]) -> None:
        self._remove = remove
        self._check = check
        self._leaving: dict[tuple[str, str], object] = {}  # by owner and document, the call that has it removed
        self._lock = threading.Lock()

    def begin(self, owner: str, document_ids: Iterable[str]) -> None:
        """Have documents removed in a moment. Raises UsageError where one is not the owner's, or may not be removed."""
        keys, call = [(owner, one) for one in document_ids], object()
        for key in keys:
            self._check(*key)
        with self._lock:
            self._leaving |= dict.fromkeys((key for key in keys if key not in self._leaving), call)
        timer = threading.Timer(UNDO, self._go, [call])
        timer.daemon = True
        timer.start()

    def undo(self, owner: str, document_ids: Iterable[str]) -> None:
        """Keep documents that were to be removed. Raises UsageError for whoever may not change that."""
        for one in self.of(owner).intersection(document_ids):
            self._check(owner, one)
            with self._lock:
                self._leaving.pop((owner, one), None)

    def of(self, owner: str) -> frozenset[str]:
        """Return the ids of the owner's documents that are about to go."""
        with self._lock:
            return frozenset(one for whose, one in self._leaving if whose == owner)

    def close(self) -> None:
        """Remove at once what is about to go."""
        with self._lock:
            calls = set(self._leaving.values())
        for call in calls:
            self._go(call)

    def _go(self, call: object) -> None:
        with self._lock:
            gone = [key for key, one in self._leaving.items() if one is call]
            for key in gone:
                del self._leaving[key]
        for key in gone:
            try:
                self._remove(*key)
            except PdfQAError as error:
                _log.warning("a document that was to be removed is still there: %s", error)


class DocumentService:
    """The documents of each owner. `settings` say how new PDFs are read, `room` how much a visitor may keep."""

    def __init__(self, store: Store, settings: Settings, tasks: Tasks, cluster: Cluster | None = None) -> None:
        self.kept = store.documents
        self.extraction = settings.extraction
        self.cluster = cluster
        self.room = Room(store, settings.server)
        self.passwords = Passwords()
        self.while_whole: list[Callable[[str, str], None]] = []
        self.when_read: list[Callable[[str, Document], None]] = []
        self.when_removed: list[Callable[[str, str], None]] = []
        self.leaving = Leaving(self.remove, self._may_remove)
        self._store = store
        self._tasks = tasks
        self._looking = threading.Lock()
        count = settings.extraction.workers or cpu_count()
        demo = settings.server.demo  # there one place is always kept for the others
        self.slots = Slots(max(2, count), max(2, count) - 1) if demo else Slots(count)
        self.collections = CollectionService(store)
        self.pages = PageService(self, settings, tasks)
        self.jobs = ReadingJobs(store.workspace / "incoming", self, tasks)
        try:
            store.files.tidy()
        except StorageError as error:
            _log.warning("left-over files stay where they are: %s", error)

    def still_there(self, owner: str, document_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of these documents that have not been removed."""
        known = {document.id for document in self.kept.list(owner)}
        return tuple(i for i in document_ids if i in known)

    def filenames(self, owner: str) -> dict[str, str]:
        """Return the file name of each of the owner's documents by its id."""
        return {document.id: document.filename for document in self.kept.list(owner)}

    def names(self, owner: str, *conversation_ids: str) -> dict[str, str]:
        """Return what documents are called where these conversations cite them, by id: the file names.

        Those of removed documents come from the turns, with a word that says so.
        """
        known, kept = self.filenames(owner), dict[str, str]()
        for conversation_id in conversation_ids:
            kept |= self._store.conversations.filenames(owner, conversation_id)
        return {document_id: f"{name} (removed)" for document_id, name in kept.items()} | known

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
        chosen = extraction or self.extraction
        sources = [f if isinstance(f, ingestion.Source) else ingestion.Source(f, f.name) for f in files]
        name = name_of(chosen)
        tried = {reading.document_id for reading in self.kept.readings(owner) if reading.extractor == name}
        reservation = "" if reserved else uuid.uuid4().hex
        with self._tasks.start(task) as stop:
            if reservation:
                self.room.reserve(reservation, owner, sources)
            try:
                for event in ingestion.ingest(
                    sources,
                    self.kept,
                    self._store.files.store,
                    self._read(chosen, password, stop, owner),
                    owner=owner,
                    extractor=name,
                    max_bytes=chosen.max_file_mb * 1_000_000,
                    again=again,
                    tried=tried,
                    workers=self._workers(chosen),
                    stop=stop,
                ):
                    if isinstance(event, Document):
                        self.leaving.undo(owner, (event.id,))
                    yield event
            finally:
                self.room.release(reservation)

    def _workers(self, chosen: ExtractionSettings) -> int:
        """Return how many processes may read for one call: as many as are wanted, and as the program may have."""
        return min(chosen.workers or self.slots.count, self.slots.count)

    def _read(
        self, chosen: ExtractionSettings, password: str | None, stop: StopSignal, owner: str = ""
    ) -> ingestion.Read:
        """Return what reads a PDF in this way, in child processes; a password that opens it is kept for `owner`."""

        def read(
            source: ingestion.Source, document_id: str, unfinished: int, on_progress: Callable[[Progress], None]
        ) -> ReadResult:
            secret = password or self.passwords.get(owner, document_id)
            if not self.slots.free:
                on_progress(Progress(f"queueing {source.filename}"))
            with self.slots.take(self._workers(chosen) // unfinished, stop, owner) as workers:
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
                        cluster=self.cluster,
                    )
            if secret and owner and result.state.usable:
                self.passwords.keep(owner, document_id, secret)
            return result

        return read

    def _may_remove(self, owner: str, document_id: str) -> None:
        if self._store.database.may_write is not None:
            self._store.database.may_write()
        self.kept.get(owner, document_id)

    def remove(self, owner: str, document_id: str) -> None:
        """Remove a document, its pages and what was derived from it."""
        for keep in self.while_whole:
            keep(owner, document_id)
        self.pages.renderer.release(self._store.files.path(document_id))
        self.kept.remove(owner, document_id)
        self.passwords.forget(owner, document_id)
        for forget in self.when_removed:
            try:
                forget(owner, document_id)
            except (PdfQAError, OSError) as error:
                _log.warning("something of a removed document stays until it is tried again: %s", error)

    # ------------------------------------------------------------ the sample

    def add_sample(self, owner: str) -> Iterator[Progress | Document]:
        """Add the document that comes with the program."""
        yield from self.ingest(owner, [sample_pdf()])

    def has_sample(self, owner: str) -> bool:
        """Whether the owner has the sample document."""
        return any(d.filename == sample_pdf().name for d in self.kept.list(owner))

    def suggestions(self, owner: str) -> tuple[str, ...]:
        """Return questions to begin with, if the owner's only document is the sample."""
        usable = [document for document in self.kept.list(owner) if document.state.usable]
        if [document.filename for document in usable] != [sample_pdf().name]:
            return ()
        items = sample_questions()
        first = [i["question"] for i in items if i["answerable"] and not i.get("follow_up_of")][:2]
        return (*first, *[i["question"] for i in items if not i["answerable"]][:1])

    # ------------------------------------------------------------ documents and pages out

    def document_ids(self, owner: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the documents with these file names, titles or ids. Raises UsageError for another name."""
        known = self.kept.list(owner)
        found: list[str] = []
        for name in names:
            ids = [d.id for d in known if composed(name) in map(composed, (d.filename, d.title, d.id, *d.other_names))]
            if not ids:
                there = ", ".join(document.filename for document in known) or "none"
                raise UsageError(f"There is no document {name!r}.", f"Known: {there}.")
            found += ids
        return tuple(dict.fromkeys(found))

    def require_documents(self, owner: str) -> None:
        """Raise PdfQAError if the owner has no document that can be searched."""
        if not any(document.state.usable for document in self.kept.list(owner)):
            raise PdfQAError("There are no documents to ask about.", "Add PDFs first, or try the sample.")

    def original(self, owner: str, document_id: str) -> ingestion.Source:
        """Return the stored PDF of a document with the name it was added under."""
        document = self.kept.get(owner, document_id)
        return ingestion.Source(self._store.files.path(document_id), document.filename)

    def properties(self, owner: str, document_id: str) -> FileProperties:
        """Return what a document's file says of itself. Raises DocumentError where it cannot be opened (a password)."""
        pdf = self.original(owner, document_id)
        return read_properties(pdf.path, filename=pdf.filename, password=self.passwords.get(owner, document_id))

    @contextmanager
    def attached(self, owner: str, document_id: str) -> Iterator[tuple[ingestion.Source, ...]]:
        """Give the PDFs that are attached to a document, to be ingested; they are there as long as the context is.

        As many megabytes are taken as one PDF may have; it waits for a place as reading does. Raises DocumentError
        where the document cannot be opened, or a visitor of a demo has no time left.
        """
        pdf = self.original(owner, document_id)
        most, password = self.extraction.max_file_mb * 1_000_000, self.passwords.get(owner, document_id)
        with temporary_folder() as folder:
            self.room.allowed(owner, document_id, self.extraction)
            with self.slots.take(owner=owner), self.room.reading(owner):
                found = take_attached(pdf.path, folder, filename=pdf.filename, password=password, most=most)
            yield tuple(ingestion.Source(path, name) for path, name in found)

    # ------------------------------------------------------------ readings

    def readable(
        self, owner: str, settings: Settings, document_ids: Sequence[str] = ()
    ) -> tuple[tuple[Document, Reading], ...]:
        """Return the owner's documents that can be searched (of these), each with the reading that a recipe uses.

        That is the one the recipe wants where it is usable, else the one that counts for the document.
        """
        made: dict[str, list[Reading]] = {}
        for reading in self.kept.readings(owner):
            made.setdefault(reading.document_id, []).append(reading)
        name = self.wanted_reading(settings)
        found = []
        for document in self.kept.list(owner):
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
                pages = self.kept.some_pages(owner, reading.document_id, reading.extractor, numbers)
            except UsageError:  # removed meanwhile
                return reading
            language = languages.of_document([page.text for page in pages])
            try:
                self.kept.note_language(reading, language)
            except StorageError as error:
                _log.warning("the language of a document is looked up again next time: %s", error)
        return replace(reading, language=language)

    def wanted_reading(self, settings: Settings) -> str:
        """Return the name of the reading that a recipe wants of each document; "": the one that counts for it."""
        wanted = wanted_reading(settings, self.extraction)
        return name_of(wanted) if wanted is not None else ""

    def text(self, owner: str, document_id: str, settings: Settings) -> tuple[Page, ...]:
        """Return the pages of a document in the reading that a recipe uses; empty if it has no text."""
        found = self.readable(owner, settings, (document_id,))
        return self.kept.pages(owner, document_id, found[0][1].extractor) if found else ()

    def copy(self, owner: str, used: Mapping[str, str]) -> bytes:
        """Return a database with these documents, each in the reading that is named, for another computer."""
        return copied(self._store.database, owner, used)

    def pages_of(self, document: Document, reading: Reading) -> tuple[Page, ...]:
        """Return all pages of one reading of a document."""
        return self.kept.pages(document.owner, document.id, reading.extractor)

    def reading_notes(self, owner: str, settings: Settings) -> tuple[str, ...]:
        """Return a sentence on each document that a recipe uses in another reading than the one it wants, and why."""
        name = self.wanted_reading(settings)
        if not name:
            return ()
        tried = {r.document_id: r for r in self.kept.readings(owner) if r.extractor == name}
        notes = []
        for document, reading in self.readable(owner, settings):
            outcome = tried.get(document.id)
            if reading.extractor == name:
                continue
            why = outcome.reason or f"it ended as {outcome.state}." if outcome else "it has not been read so yet."
            notes.append(f"{document.filename} is used as read by {reading.extractor}, not by {name}: {why}")
        return tuple(notes)

    def unread(self, owner: str, settings: Settings) -> tuple[Document, ...]:
        """Return the documents that building the index of a recipe reads first, as the recipe wants them read.

        Encrypted ones are among them while their password is known, and those whose PDF was too large to be kept never.
        """
        name = self.wanted_reading(settings)
        if not name:
            return ()

        def locked(state: DocumentState, document_id: str) -> bool:
            return state is DocumentState.ENCRYPTED and self.passwords.get(owner, document_id) is None

        tried = {
            r.document_id
            for r in self.kept.readings(owner)
            if r.extractor == name and (r.state is not DocumentState.ENCRYPTED or locked(r.state, r.document_id))
        }
        documents = [d for d in self.kept.list(owner) if d.id not in tried]
        return tuple(d for d in documents if not locked(d.state, d.id) and self._store.files.path(d.id).is_file())

    def read_missing(self, owner: str, settings: Settings, stop: StopSignal) -> Iterator[Progress]:
        """Read the documents that `unread` returns. Raises StoppedError when stopped; those finished are kept."""
        wanted, documents = wanted_reading(settings, self.extraction), self.unread(owner, settings)
        if wanted is None or not documents:
            return
        sources = [self.original(owner, document.id) for document in documents]
        kept = _Uncounted(self.kept, frozenset(document.id for document in documents))
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
