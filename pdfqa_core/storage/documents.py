"""Documents and their pages. Two owners may have the same PDF: pages and the file are kept once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database, upsert
from pdfqa_core.storage.files import PdfFiles
from pdfqa_core.storage.tables import documents, pages
from pdfqa_core.types import Document, DocumentState, Page

_SAFE_AGE = 24 * 3600.0


class Documents:
    """The documents of each owner; every method sees only those of the `owner` it is given.

    Pages are stored as `encode` makes them, per document and extractor. All methods raise StorageError, and
    UsageError where the owner has no such document.
    """

    def __init__(
        self, database: Database, files: PdfFiles, encode: Callable[[Page], bytes], decode: Callable[[bytes], Page]
    ) -> None:
        self._database = database
        self._files = files
        self._encode = encode
        self._decode = decode

    def add(self, document: Document, extractor: str = "", read_pages: Sequence[Page] = ()) -> None:
        """Store a document with its pages, all or nothing; one that the owner has already is replaced."""
        with self._database.write() as connection:
            upsert(connection, documents, {"id": document.id, "owner": document.owner}, _values(document))
            if read_pages:
                self._put_pages(connection, document.id, extractor, read_pages)
        self._files.settle(document.id)

    def list(self, owner: str) -> tuple[Document, ...]:
        """Return the owner's documents in the order they were added."""
        query = select(documents).where(documents.c.owner == owner).order_by(documents.c.added_at, documents.c.filename)
        with self._database.read() as connection:
            return tuple(_document(row) for row in connection.execute(query))

    def get(self, owner: str, document_id: str) -> Document:
        """Return one document."""
        with self._database.read() as connection:
            return _document(self._require(connection, owner, document_id))

    def set_state(
        self, owner: str, document_id: str, state: DocumentState, reason: str = "", *, page_count: int | None = None,
        pages_without_text: Iterable[int] = (),
    ) -> Document:  # fmt: skip
        """Change how reading the document ended; the page count stays where None is given."""
        with self._database.write() as connection:
            old = _document(self._require(connection, owner, document_id))
            new = Document(
                id=old.id, title=old.title, filename=old.filename, added_at=old.added_at, owner=old.owner,
                size=old.size, page_count=old.page_count if page_count is None else page_count, state=state,
                reason=reason, pages_without_text=tuple(pages_without_text),
            )  # fmt: skip
            upsert(connection, documents, {"id": document_id, "owner": owner}, _values(new))
        return new

    def remove(self, owner: str, document_id: str) -> None:
        """Remove the document; its pages and its PDF go too when no other owner has it."""
        with self._database.write() as connection:
            self._require(connection, owner, document_id)
            connection.execute(delete(documents).where(documents.c.id == document_id, documents.c.owner == owner))
            last = not _is_known(connection, document_id)
            if last:
                connection.execute(delete(pages).where(pages.c.document_id == document_id))
        if last:
            self._files.remove(document_id)

    def put_pages(self, owner: str, document_id: str, extractor: str, read_pages: Sequence[Page]) -> None:
        """Store what an extractor read, in place of what it read before, all or nothing."""
        with self._database.write() as connection:
            self._require(connection, owner, document_id)
            self._put_pages(connection, document_id, extractor, read_pages)

    def pages(self, owner: str, document_id: str, extractor: str) -> tuple[Page, ...]:
        """Return all pages that an extractor read, in order; empty if it has not read the document."""
        return self._pages(owner, document_id, extractor, _page_query(document_id, extractor))

    def page(self, owner: str, document_id: str, extractor: str, number: int) -> Page:
        """Return one page by its 1-based number. Raises UsageError if it was not read."""
        query = _page_query(document_id, extractor).where(pages.c.number == number)
        found = self._pages(owner, document_id, extractor, query)
        if not found:
            raise UsageError(f"Page {number} was not read with {extractor!r}.", "Read the document again.")
        return found[0]

    def extractors(self, owner: str, document_id: str) -> tuple[str, ...]:
        """Return the extractors whose pages of this document are stored, sorted."""
        query = select(pages.c.extractor).where(pages.c.document_id == document_id).distinct()
        with self._database.read() as connection:
            self._require(connection, owner, document_id)
            return tuple(sorted(connection.scalars(query)))

    def remove_strays(self, older_than_seconds: float = _SAFE_AGE) -> int:
        """Delete PDFs that interrupted uploads left without a document; return how many files went."""
        with self._database.read() as connection:
            known = set(connection.scalars(select(documents.c.id).distinct()))
        return self._files.remove_strays(known, older_than_seconds)

    def _pages(self, owner: str, document_id: str, extractor: str, query: Select[Any]) -> tuple[Page, ...]:
        with self._database.read() as connection:
            self._require(connection, owner, document_id)
            contents = connection.scalars(query).all()
        return tuple(self._decode(bytes(content)) for content in contents)

    def _put_pages(self, connection: Connection, document_id: str, extractor: str, read_pages: Sequence[Page]) -> None:
        if not extractor:
            raise UsageError("Pages need the name of the extractor that read them.")
        connection.execute(delete(pages).where(pages.c.document_id == document_id, pages.c.extractor == extractor))
        rows = [
            {"document_id": document_id, "extractor": extractor, "number": p.number, "content": self._encode(p)}
            for p in read_pages
        ]
        if rows:
            connection.execute(insert(pages), rows)

    @staticmethod
    def _require(connection: Connection, owner: str, document_id: str) -> Row[Any]:
        row = connection.execute(_document_query(owner, document_id)).one_or_none()
        if row is None:
            raise UsageError(f"There is no document {document_id[:12]!r} here.", "It may have been removed.")
        return row


def remove_all(connection: Connection, owner: str) -> list[str]:
    """Delete an owner's documents within a transaction; return the ids whose PDFs nobody has any more."""
    ids = list(connection.scalars(select(documents.c.id).where(documents.c.owner == owner)))
    connection.execute(delete(documents).where(documents.c.owner == owner))
    orphans = [document_id for document_id in ids if not _is_known(connection, document_id)]
    for document_id in orphans:
        connection.execute(delete(pages).where(pages.c.document_id == document_id))
    return orphans


def filenames(connection: Connection, owner: str, document_ids: Iterable[str]) -> dict[str, str]:
    """Return the file name of each of these documents that the owner has."""
    query = select(documents.c.id, documents.c.filename).where(
        documents.c.owner == owner, documents.c.id.in_(sorted(set(document_ids)))
    )
    return {row.id: row.filename for row in connection.execute(query)}


def _is_known(connection: Connection, document_id: str) -> bool:
    count = connection.scalar(select(func.count()).select_from(documents).where(documents.c.id == document_id))
    return bool(count)


def _document_query(owner: str, document_id: str) -> Select[Any]:
    return select(documents).where(documents.c.id == document_id, documents.c.owner == owner)


def _page_query(document_id: str, extractor: str) -> Select[Any]:
    return (
        select(pages.c.content)
        .where(pages.c.document_id == document_id, pages.c.extractor == extractor)
        .order_by(pages.c.number)
    )


def _values(document: Document) -> dict[str, Any]:
    return {
        "title": document.title,
        "filename": document.filename,
        "page_count": document.page_count,
        "added_at": document.added_at,
        "state": document.state.value,
        "reason": document.reason,
        "size": document.size,
        "pages_without_text": json.dumps(list(document.pages_without_text)),
    }


def _document(row: Row[Any]) -> Document:
    return Document(
        id=row.id,
        title=row.title,
        filename=row.filename,
        page_count=row.page_count,
        added_at=row.added_at,
        owner=row.owner,
        state=DocumentState(row.state),
        reason=row.reason,
        size=row.size,
        pages_without_text=tuple(json.loads(row.pages_without_text)),
    )
