"""Documents of a workspace: PDFs in, pages and their images out."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from joblib import cpu_count

from pdfqa_core import ingest as ingestion
from pdfqa_core.errors import DocumentError, PdfQAError, StorageError, UsageError
from pdfqa_core.extraction.process.render import PageRenderer
from pdfqa_core.extraction.process.slots import Slots
from pdfqa_core.extraction.process.worker import Limits, read_document
from pdfqa_core.loaded_models import LoadedModels, Models
from pdfqa_core.services import choices, readings
from pdfqa_core.services.passwords import Passwords
from pdfqa_core.services.readings import Claim
from pdfqa_core.services.runs import Runs
from pdfqa_core.settings import ExtractionSettings, Settings
from pdfqa_core.storage import Reading, Store
from pdfqa_core.types import Document, DocumentState, Page, Progress, StopSignal

LOCAL_OWNER = "local"
SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
THUMBNAIL_WIDTH = 168  # pixels
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a page."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class PageView:
    """A page of `reading` with its image; `message` says why there is no image.

    `locked`: there would be one if the password were known, see `enter_password`.
    `readings` are all that have text, `found` those of the claims about this page whose text stands where they say.
    """

    document: Document
    page: Page
    reading: Reading
    readings: tuple[Reading, ...]
    image: bytes
    mime: str
    message: str = ""
    found: tuple[Claim, ...] = ()
    locked: bool = False


class DocumentServices:
    """One workspace with its documents. Close it when done.

    `models` are the encoder and the language model; those that the settings name where None is given.
    """

    def __init__(self, workspace: Path, settings: Settings, models: Models | None = None) -> None:
        choices.check(settings)
        self.workspace = workspace
        self.settings = settings
        self.store = Store.open(workspace, os.environ.get("PDFQA_DATABASE_URL", ""))
        self.models: Models = models or LoadedModels(settings, workspace / "models")
        self._renderer = PageRenderer()
        self._slots = Slots(settings.extraction.workers or cpu_count())
        self._passwords = Passwords()
        self._runs = Runs()
        try:
            self.store.files.tidy()
        except StorageError as error:
            _log.warning("left-over files stay where they are: %s", error)

    def close(self) -> None:
        """Stop what runs, end the child processes and close the database."""
        self.stop()
        self.models.close()
        self._renderer.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stop(self, run: str = "") -> None:
        """Stop the run with this name; no name: all of them."""
        self._runs.stop(run)

    @staticmethod
    def names(kind: str) -> tuple[str, ...]:
        """Return the names of the strategies of a kind ("extractor", "chunker", "retriever", "reader", "rewriter")."""
        return choices.names(kind)

    # ------------------------------------------------------------ PDFs in

    def ingest(
        self, owner: str, files: Sequence[Path | ingestion.Source], *, password: str | None = None, again: bool = False,
        extraction: ExtractionSettings | None = None, run: str = "",
    ) -> Iterator[Progress | Document]:  # fmt: skip
        """Read PDFs into the workspace, several side by side; yields progress, and a Document for each file.

        `extraction` says how, the workspace's settings where None is given. A file that can be searched already and has
        been read in this way is not read again unless `again` is set; what cannot be read in this way keeps the reading
        it had. A password that opens a file is kept in memory for the images of its pages. Raises StoppedError when the
        run is stopped within a file; nothing is kept of such files. Raises UsageError without an owner.
        """
        if not owner:
            raise UsageError("This page does not know whose documents these are.", "Open it again.")
        chosen = extraction or self.settings.extraction
        sources = [f if isinstance(f, ingestion.Source) else ingestion.Source(f, f.name) for f in files]
        self._check_room(owner, sources)
        name = readings.name_of(chosen)
        tried = {reading.document_id for reading in self.store.documents.readings(owner) if reading.extractor == name}
        with self._runs.start(run) as stop:
            yield from ingestion.ingest(
                sources, self.store.documents, self.store.store_pdf, self._read(chosen, password, stop, owner),
                owner=owner, extractor=name, max_bytes=chosen.max_file_mb * 1_000_000, again=again, tried=tried,
                workers=self._workers(chosen), stop=stop,
            )  # fmt: skip

    def _workers(self, chosen: ExtractionSettings) -> int:
        """Return how many processes may read for one call: as many as are wanted, and as the program may have."""
        return min(chosen.workers or self._slots.count, self._slots.count)

    def _read(
        self, chosen: ExtractionSettings, password: str | None, stop: StopSignal, owner: str = ""
    ) -> ingestion.Read:
        """Return what reads a PDF in this way, in child processes; a password that opens it is kept for `owner`."""
        limits = Limits(
            max_file_mb=chosen.max_file_mb, max_pages=chosen.max_pages, max_characters=chosen.max_characters,
            memory_mb=chosen.memory_mb, seconds=chosen.seconds, page_seconds=chosen.page_seconds,
        )  # fmt: skip

        def read(
            source: ingestion.Source, document_id: str, unfinished: int, on_progress: Callable[[Progress], None]
        ) -> ingestion.ReadResult:
            secret = password or self._passwords.get(owner, document_id)
            if not self._slots.free:
                on_progress(Progress(f"queueing {source.filename}"))
            with self._slots.take(self._workers(chosen) // unfinished, stop) as workers:
                result = read_document(
                    source.path, document_id, filename=source.filename, extractor=chosen.extractor, password=secret,
                    tables=chosen.tables, visual_pages=chosen.visual_pages, workers=workers, limits=limits,
                    on_progress=on_progress, stop=stop,
                )  # fmt: skip
            if secret and owner and result.state.usable:
                self._passwords.keep(owner, document_id, secret)
            return result

        return read

    def _check_room(self, owner: str, sources: Sequence[ingestion.Source]) -> None:
        server = self.settings.server
        if not server.demo:
            return
        known = {document.id for document in self.store.documents.list(owner)}
        new = [s.path for s in sources if s.path.is_file() and ingestion.sha256(s.path) not in known]
        wanted = sum(path.stat().st_size for path in new)
        kept = self.store.owners.pdf_bytes(owner)
        if new and wanted + kept > server.visitor_mb * 1_000_000:
            raise PdfQAError(
                f"This would be {(wanted + kept) / 1e6:.1f} MB of PDFs; a visitor of this demo may keep "
                f"{server.visitor_mb} MB.",
                "Remove a document first, or run the app on your own computer.",
            )

    def remove_document(self, owner: str, document_id: str) -> None:
        """Remove a document, its pages and its passages."""
        self.store.documents.remove(owner, document_id)
        self._passwords.forget(owner, document_id)
        self._forget(owner, document_id)

    def _forget(self, owner: str, document_id: str) -> None:
        """Drop what was derived from a document that is gone."""

    # ------------------------------------------------------------ the sample

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

    # ------------------------------------------------------------ documents and pages out

    def document_ids(self, owner: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the documents with these file names, titles or ids. Raises UsageError for another name."""
        known = self.store.documents.list(owner)
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
        if not any(document.state.usable for document in self.store.documents.list(owner)):
            raise PdfQAError("There are no documents to ask about.", "Add PDFs first, or try the sample.")

    def original(self, owner: str, document_id: str) -> ingestion.Source:
        """Return the stored PDF of a document with the name it was added under."""
        document = self.store.documents.get(owner, document_id)
        return ingestion.Source(self.store.pdf_path(document_id), document.filename)

    # ------------------------------------------------------------ readings

    def readable(
        self, owner: str, settings: Settings, document_ids: Sequence[str] = ()
    ) -> tuple[tuple[Document, Reading], ...]:
        """Return the owner's documents that can be searched (of these), each with the reading that a recipe uses.

        That is the one the recipe wants where it is usable, else the one that counts for the document.
        """
        made: dict[str, list[Reading]] = {}
        for reading in self.store.documents.readings(owner):
            made.setdefault(reading.document_id, []).append(reading)
        name = self._wanted_name(settings)
        found = []
        for document in self.store.documents.list(owner):
            used = readings.used(document, made.get(document.id, ()), name)
            if used is not None and (not document_ids or document.id in document_ids):
                found.append((document, used))
        return tuple(found)

    def _wanted_name(self, settings: Settings) -> str:
        wanted = readings.wanted(settings, self.settings.extraction)
        return readings.name_of(wanted) if wanted is not None else ""

    def pages(self, owner: str, document_id: str, settings: Settings) -> tuple[Page, ...]:
        """Return the pages of a document in the reading that a recipe uses; empty if it has no text."""
        found = self.readable(owner, settings, (document_id,))
        return self.store.documents.pages(owner, document_id, found[0][1].extractor) if found else ()

    def reading_notes(self, owner: str, settings: Settings) -> tuple[str, ...]:
        """Return a sentence on each document that a recipe uses in another reading than the one it wants, and why."""
        name = self._wanted_name(settings)
        if not name:
            return ()
        tried = {r.document_id: r for r in self.store.documents.readings(owner) if r.extractor == name}
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
        return self.store.documents.choose(owner, document_id, name)

    def page_view(
        self, owner: str, document_id: str, number: int, *, width: int = 1400, reading: str = "",
        settings: Settings | None = None, claims: Sequence[Claim] = (),
    ) -> PageView:  # fmt: skip
        """Return a page with its image, `width` pixels wide, as the reading of this name has it.

        Where none is named, it is one in which the claims stand: the one that a recipe (`settings`) uses, else another
        in which all of them do. Raises UsageError if the owner has no such page, or may not read it: pages are kept
        once for all owners, so another one may have opened the same file with its password.
        """
        document = self.store.documents.get(owner, document_id)
        usable = {r.extractor: r for r in self.store.documents.readings(owner, document_id) if r.state.usable}
        if not usable:
            raise UsageError(f"{document.filename} has no pages to show: {document.state}.", document.reason)
        first = readings.used(document, usable.values(), reading or self._wanted_name(settings or self.settings))
        names = [reading] if reading in usable else [first.extractor] if first else []
        if reading not in usable and claims:
            names += [name for name in usable if name not in names]
        page, found = self._page_with(owner, document_id, number, names or list(usable), claims)
        shown = usable[page[0]]
        others = tuple(usable.values())
        image, message, locked = b"", "", False
        try:
            image = self._image(owner, document, number, width)
        except DocumentError as error:
            locked = error.state is DocumentState.ENCRYPTED
            message = "The page image needs the password: enter it again." if locked else str(error)
        except PdfQAError as error:
            message = str(error)
        mime = self._renderer.mime if image else ""
        return PageView(document, page[1], shown, others, image, mime, message, found, locked)

    def _image(self, owner: str, document: Document, number: int, width: int) -> bytes:
        return self._renderer.render(
            self.store.pdf_path(document.id), number, width_px=width, filename=document.filename,
            password=self._passwords.get(owner, document.id),
        )  # fmt: skip

    def enter_password(self, owner: str, document_id: str, password: str) -> None:
        """Keep the password of a document for the images of its pages, in memory, until the program ends.

        Raises DocumentError with state ENCRYPTED if it does not open the document.
        """
        document = self.store.documents.get(owner, document_id)
        path = self.store.pdf_path(document_id)
        self._renderer.render(path, 1, width_px=THUMBNAIL_WIDTH, filename=document.filename, password=password)
        self._passwords.keep(owner, document_id, password)

    def _page_with(
        self, owner: str, document_id: str, number: int, names: Sequence[str], claims: Sequence[Claim]
    ) -> tuple[tuple[str, Page], tuple[Claim, ...]]:
        """Return the first of these readings in which all claims stand, else the first one, with its page."""
        here = [claim for claim in claims if (claim.span.document_id, claim.span.page) == (document_id, number)]
        best: tuple[tuple[str, Page], tuple[Claim, ...]] | None = None
        for name in names:
            page = self.store.documents.page(owner, document_id, name, number)
            found = tuple(claim for claim in here if readings.stands(page, claim))
            if len(found) == len(here):
                return (name, page), found
            best = best or ((name, page), found)
        assert best is not None
        return best

    def thumbnail(self, owner: str, document_id: str, number: int) -> Picture:
        """Return a small image of a page; empty where it cannot be drawn."""
        document = self.store.documents.get(owner, document_id)
        try:
            data = self._image(owner, document, number, THUMBNAIL_WIDTH)
        except PdfQAError:
            _log.warning("no thumbnail of page %d of %s", number, document_id[:12])
            return Picture(b"", "")
        return Picture(data, self._renderer.mime)
