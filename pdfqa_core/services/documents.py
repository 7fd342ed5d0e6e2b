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

from pdfqa_core import ingest as ingestion
from pdfqa_core.errors import PdfQAError, StorageError, UsageError
from pdfqa_core.extraction.render import PageRenderer
from pdfqa_core.extraction.worker import Limits, read_document
from pdfqa_core.loaded_models import LoadedModels, Models
from pdfqa_core.services import choices
from pdfqa_core.services.runs import Runs
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Store
from pdfqa_core.types import Document, Page, Progress

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
    """A page with its image; `message` says why there is no image."""

    document: Document
    page: Page
    image: bytes
    mime: str
    message: str = ""


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
        self._runs = Runs()
        try:
            self.store.documents.remove_strays()
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
        run: str = "",
    ) -> Iterator[Progress | Document]:  # fmt: skip
        """Read PDFs into the workspace; yields progress, and a Document for each file.

        Raises StoppedError when the run is stopped within a file; nothing is kept of that file. Raises UsageError
        without an owner.
        """
        if not owner:
            raise UsageError("This page does not know whose documents these are.", "Open it again.")
        chosen = self.settings.extraction
        limits = Limits(
            max_file_mb=chosen.max_file_mb, max_pages=chosen.max_pages, max_characters=chosen.max_characters,
            memory_mb=chosen.memory_mb, seconds=chosen.seconds,
        )  # fmt: skip
        sources = [f if isinstance(f, ingestion.Source) else ingestion.Source(f, f.name) for f in files]
        self._check_room(owner, sources)
        with self._runs.start(run) as stop:

            def read(
                source: ingestion.Source, document_id: str, on_progress: Callable[[Progress], None]
            ) -> ingestion.ReadResult:
                return read_document(
                    source.path, document_id, filename=source.filename, extractor=chosen.extractor, password=password,
                    limits=limits, on_progress=on_progress, stop=stop,
                )  # fmt: skip

            for event in ingestion.ingest(
                sources, self.store.documents, self.store.store_pdf, read, owner=owner, extractor=chosen.extractor,
                max_bytes=chosen.max_file_mb * 1_000_000, again=again, stop=stop,
            ):  # fmt: skip
                if isinstance(event, Document) and again:
                    self._forget(owner, event.id)
                yield event

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
        self._forget(owner, document_id)

    def _forget(self, owner: str, document_id: str) -> None:
        """Drop what was derived from a document that is gone or was read again."""

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

    def page_view(self, owner: str, document_id: str, number: int, *, width: int = 1400) -> PageView:
        """Return a page with its image, `width` pixels wide.

        Raises UsageError if the owner has no such page, or may not read it: pages are kept once for all owners, so
        another one may have opened the same file with its password.
        """
        document = self.store.documents.get(owner, document_id)
        if not document.state.usable:
            raise UsageError(f"{document.filename} has no pages to show: {document.state}.", document.reason)
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
            data = self._renderer.render(self.store.pdf_path(document_id), number, width_px=THUMBNAIL_WIDTH)
        except PdfQAError:
            _log.warning("no thumbnail of page %d of %s", number, document_id[:12])
            return Picture(b"", "")
        return Picture(data, self._renderer.mime)
