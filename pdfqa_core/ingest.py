"""PDF files into the workspace: hash, read in a child process, store. Every file ends in exactly one state."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from pdfqa_core.background import in_background
from pdfqa_core.types import Document, DocumentState, Page, Progress, StopSignal


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read and the name to show for it."""

    path: Path
    filename: str


class ReadResult(Protocol):
    """What reading a PDF gives (see `extraction.worker`)."""

    @property
    def state(self) -> DocumentState:
        """How reading ended."""
        ...

    @property
    def reason(self) -> str:
        """Why, in plain words; empty if all is well."""
        ...

    @property
    def title(self) -> str:
        """The document's title."""
        ...

    @property
    def page_count(self) -> int:
        """How many pages the file has."""
        ...

    @property
    def pages(self) -> tuple[Page, ...]:
        """What was read."""
        ...

    @property
    def pages_without_text(self) -> tuple[int, ...]:
        """1-based numbers of pages without text."""
        ...


class Documents(Protocol):
    """What this module needs of the storage of documents."""

    def list(self, owner: str) -> tuple[Document, ...]:
        """Return the owner's documents."""
        ...

    def add(self, document: Document, extractor: str = "", read_pages: Sequence[Page] = ()) -> None:
        """Store a document with its pages, all or nothing, replacing an earlier reading of it."""
        ...


Read = Callable[[Source, str, Callable[[Progress], None]], ReadResult]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ingest(
    sources: Sequence[Source],
    documents: Documents,
    store_pdf: Callable[[Path], str],
    read: Read,
    *,
    owner: str,
    extractor: str,
    max_bytes: int,
    again: bool = False,
    stop: StopSignal | None = None,
) -> Iterator[Progress | Document]:
    """Yield the progress of each file and then its Document; one bad file does not stop the others.

    A file whose hash is known and that can be used already is not read again, unless `again` is set. Files over
    `max_bytes` are not copied into the workspace; one that cannot be opened yields a Document without an id, which is
    not stored. Ends early, between files, when `stop` is set; within a file, what `read` raises then is passed on, and
    nothing is kept of the file.
    """
    known_documents = {document.id: document for document in documents.list(owner)}
    for source in sources:
        path, filename = source.path, source.filename
        if stop is not None and stop.is_set():
            return
        yield Progress(f"checking {filename}")
        try:
            document_id, size = sha256(path), path.stat().st_size
        except OSError as error:
            yield _unreadable(filename, owner, error)
            continue
        known = known_documents.get(document_id)
        if known is not None and known.state.usable and not again:
            as_what = "" if known.filename == filename else f" as {known.filename}"
            yield replace(known, reason=f"{filename} is already there{as_what}.")
            continue
        document = Document(document_id, Path(filename).stem, filename, 0, datetime.now(UTC), owner, size=size)
        if size > max_bytes:
            reason = f"{filename} has {size / 1e6:.1f} MB, the limit is {max_bytes / 1e6:g} MB. Split the file."
            document = replace(document, state=DocumentState.TOO_LARGE, reason=reason)
            documents.add(document)
            yield document
            continue
        result = yield from in_background(partial(read, source, document_id))
        document = replace(
            document,
            title=result.title or document.title,
            page_count=result.page_count,
            state=result.state,
            reason=result.reason,
            pages_without_text=result.pages_without_text,
        )
        if stop is not None and stop.is_set():
            return
        yield Progress(f"storing {filename}", result.page_count, result.page_count)
        store_pdf(path)
        documents.add(document, extractor, result.pages)
        known_documents[document_id] = document
        yield document


def _unreadable(filename: str, owner: str, error: OSError) -> Document:
    reason = f"{filename} cannot be read: {error.strerror}. Check the file and its permissions."
    title = Path(filename).stem
    return Document("", title, filename, 0, datetime.now(UTC), owner, state=DocumentState.BROKEN, reason=reason)
