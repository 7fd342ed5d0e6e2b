"""Documents, how they were read, and their pages. Two owners may have one PDF: pages and file are kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import decode_page, encode_page
from pdfqa_core.storage import collections, summaries, synthetic_questions
from pdfqa_core.storage.database import Database, record, row_of, upsert
from pdfqa_core.storage.files import PdfFiles, mark_removed, settle
from pdfqa_core.storage.records import Reading
from pdfqa_core.storage.tables import documents, pages, readings
from pdfqa_core.types import Document, DocumentState, Page

# ----------------------------------------------------------------------------------------------------
# Readings of documents: what each extractor made of a file, per owner; their pages are kept once for all owners.
#
# An owner sees the pages of a reading only if the owner's own reading of that name is usable: without the password of
# an encrypted file, nobody sees what another owner's password opened.

_USABLE = tuple(state for state in DocumentState if state.usable)


def _put_reading(connection: Connection, document: Document, name: str, read_pages: Sequence[Page]) -> None:
    """Store how reading `document` under this name ended, and its pages in place of those read before.

    Where the file could not be used, pages that another owner may have of it stay.
    """
    version = _put_pages(connection, document.id, name, read_pages) if document.state.usable else ""
    by_ocr = [page for page in read_pages if page.source == "ocr"]
    sure = [page.confidence for page in by_ocr if page.confidence is not None]
    known = {
        "document_id": document.id,
        "extractor": name,
        "ocr_pages": len(by_ocr),
        "confidence": sum(sure) / len(sure) if sure else None,
        "read_at": datetime.now(UTC),
        "version": version,
        "language": "",
    }
    upsert(connection, readings, row_of(readings, document) | known)
    if version:  # the pages of other owners' readings of this name are these pages now
        same = and_(readings.c.document_id == document.id, readings.c.extractor == name)
        now = {"version": version, "language": ""}
        connection.execute(update(readings).where(same, readings.c.state.in_(_USABLE)).values(**now))


def _note_language(connection: Connection, reading: Reading, language: str) -> None:
    """Note what language the text of a reading is in, for all owners who have this text."""
    same = and_(
        readings.c.document_id == reading.document_id,
        readings.c.extractor == reading.extractor,
        readings.c.version == reading.version,
        readings.c.state.in_(_USABLE),
    )
    connection.execute(update(readings).where(same).values(language=language))


def _counting(connection: Connection, document: Document) -> Document:
    """Return `document` if it can be searched, else as the owner's latest other reading that can be, if there is one.

    A failed attempt to read a file in another way takes nothing away.
    """
    if document.state.usable:
        return document
    query = (
        select(readings)
        .where(
            readings.c.document_id == document.id,
            readings.c.owner == document.owner,
            readings.c.state.in_(_USABLE),
        )
        .order_by(readings.c.read_at.desc(), readings.c.extractor)
    )
    row = connection.execute(query).first()
    return document if row is None else _counted(document, record(Reading, row))


def _counted(document: Document, reading: Reading) -> Document:
    """Return the document as this reading of it has it."""
    return replace(
        document,
        state=reading.state,
        reason=reading.reason,
        page_count=reading.page_count,
        pages_without_text=reading.pages_without_text,
        extractor=reading.extractor,
    )


def _remove_reading(connection: Connection, document_id: str, owner: str) -> None:
    """Delete the owner's readings of a document, and the pages that no usable reading has any more."""
    connection.execute(delete(readings).where(readings.c.document_id == document_id, readings.c.owner == owner))
    usable = readings.c.state.in_(_USABLE)
    left = select(readings.c.extractor).where(readings.c.document_id == document_id, usable)
    connection.execute(delete(pages).where(pages.c.document_id == document_id, pages.c.extractor.not_in(left)))


def _readings_of(owner: str, document_id: str = "") -> Select[Any]:
    """Return the query for the owner's readings (of one document), in the order in which they were made."""
    query = select(readings).where(readings.c.owner == owner)
    if document_id:
        query = query.where(readings.c.document_id == document_id)
    return query.order_by(readings.c.document_id, readings.c.read_at, readings.c.extractor)


def _page_contents(owner: str, document_id: str, name: str) -> Select[Any]:
    """Return the query for the contents of a reading's pages, in order; none unless the owner's reading is usable."""
    return (
        select(pages.c.content)
        .join(readings, and_(readings.c.document_id == pages.c.document_id, readings.c.extractor == pages.c.extractor))
        .where(
            pages.c.document_id == document_id,
            pages.c.extractor == name,
            readings.c.owner == owner,
            readings.c.state.in_(_USABLE),
        )
        .order_by(pages.c.number)
    )


def _put_pages(connection: Connection, document_id: str, name: str, read_pages: Sequence[Page]) -> str:
    """Replace the pages and return their version, a hash of what is stored (16 hex digits)."""
    connection.execute(delete(pages).where(pages.c.document_id == document_id, pages.c.extractor == name))
    digest = hashlib.sha256()
    rows = []
    for page in read_pages:
        content = encode_page(page)
        digest.update(content)
        rows.append({"document_id": document_id, "extractor": name, "number": page.number, "content": content})
    if rows:
        connection.execute(insert(pages), rows)
    return digest.hexdigest()[:16]


# ----------------------------------------------------------------------------------------------------
# Documents, how they were read, and their pages. Two owners may have one PDF: pages and file are kept once.


class Documents:
    """The documents of each owner; every method sees only those of the `owner` it is given.

    A document may have been read in several ways (see `readings`); the one that counts is its `extractor`, and its
    state is that reading's. Pages are stored per document and reading. All methods raise StorageError, and
    UsageError where the owner has no such document.
    """

    def __init__(self, database: Database, files: PdfFiles) -> None:
        self._database = database
        self._files = files

    def add(
        self, document: Document, extractor: str = "", read_pages: Sequence[Page] = (), *, counts: bool = True
    ) -> None:
        """Store a document as it was read under the name `extractor` (none: it was not read), all or nothing.

        One that the owner has already takes the new state; but it keeps a reading that can be searched if this one
        cannot, and, unless `counts`, if it has any. The day on which it was added stays, and its title, unless that is
        the name of the file. So do its other names.
        """
        with self._database.write() as connection:
            row = connection.execute(_document_query(document.owner, document.id)).one_or_none()
            if row is not None:
                title = document.title if row.title in ("", PurePath(row.filename).stem) else row.title
                names = dict.fromkeys((row.filename, *row.other_names, *document.other_names))
                names.pop(document.filename, None)
                document = replace(document, added_at=row.added_at, title=title, other_names=tuple(names))
            if extractor:
                _put_reading(connection, document, extractor, read_pages)
                document = replace(document, extractor=extractor)
            if row is not None and not counts and row.state.usable:
                document = record(Document, row)
            upsert(connection, documents, row_of(documents, _counting(connection, document)))
            settle(connection, document.id)

    def choose(self, owner: str, document_id: str, extractor: str) -> Document:
        """Let the reading of this name count for the document. Raises UsageError if there is none that is usable."""
        with self._database.write() as connection:
            document = record(Document, self._require(connection, owner, document_id))
            rows = connection.execute(_readings_of(owner, document_id)).all()
            row = next((row for row in rows if row.extractor == extractor), None)
            if row is None or not row.state.usable:
                raise UsageError(f"{document.filename} has no text as read by {extractor!r}.", "Read it again.")
            document = _counted(document, record(Reading, row))
            upsert(connection, documents, row_of(documents, document))
        return document

    def list(self, owner: str) -> tuple[Document, ...]:
        """Return the owner's documents in the order they were added."""
        query = select(documents).where(documents.c.owner == owner).order_by(documents.c.added_at, documents.c.filename)
        with self._database.read() as connection:
            return tuple(record(Document, row) for row in connection.execute(query))

    def sizes(self, owner: str = "") -> dict[str, int]:
        """Return the bytes of each PDF that the owner (anybody) has, by its id."""
        query = select(documents.c.id, documents.c.size)
        with self._database.read() as connection:
            rows = connection.execute(query.where(documents.c.owner == owner) if owner else query)
            return {row.id: row.size for row in rows}

    def all_ids(self) -> frozenset[str]:
        """Return the ids of the documents that anybody has."""
        with self._database.read() as connection:
            return frozenset(connection.scalars(select(documents.c.id).distinct()))

    def owned(self) -> dict[str, frozenset[str]]:
        """Return the ids of the documents of each owner who has any."""
        found: dict[str, set[str]] = {}
        with self._database.read() as connection:
            for row in connection.execute(select(documents.c.owner, documents.c.id)):
                found.setdefault(row.owner, set()).add(row.id)
        return {owner: frozenset(ids) for owner, ids in found.items()}

    def counts(self) -> dict[str, int]:
        """Return how many documents everybody has together, by state."""
        query = select(documents.c.state, func.count()).group_by(documents.c.state)
        with self._database.read() as connection:
            return {str(state): int(count) for state, count in connection.execute(query)}

    def get(self, owner: str, document_id: str) -> Document:
        """Return one document."""
        with self._database.read() as connection:
            return record(Document, self._require(connection, owner, document_id))

    def remove(self, owner: str, document_id: str) -> None:
        """Remove the document with its readings; pages and PDF go too when no other owner has them."""
        with self._database.write() as connection:
            self._require(connection, owner, document_id)
            _remove(connection, owner, [document_id])
        self._files.remove_pending()

    def pages(self, owner: str, document_id: str, extractor: str) -> tuple[Page, ...]:
        """Return all pages of the reading of this name, in order; empty if the owner has no such usable reading."""
        return self._pages(owner, document_id, _page_contents(owner, document_id, extractor))

    def page(self, owner: str, document_id: str, extractor: str, number: int) -> Page:
        """Return one page by its 1-based number. Raises UsageError if it was not read."""
        query = _page_contents(owner, document_id, extractor).where(pages.c.number == number)
        found = self._pages(owner, document_id, query)
        if not found:
            known = self.get(owner, document_id)
            raise UsageError(
                f"Page {number} was not read with {extractor!r}.",
                f"{known.filename} has {known.page_count} pages: choose one of them, or read it again.",
            )
        return found[0]

    def readings(self, owner: str, document_id: str = "") -> tuple[Reading, ...]:
        """Return how every attempt to read the owner's documents (or one of them) ended, the oldest first."""
        with self._database.read() as connection:
            if document_id:
                self._require(connection, owner, document_id)
            rows = connection.execute(_readings_of(owner, document_id))
            return tuple(record(Reading, row) for row in rows)

    def some_pages(self, owner: str, document_id: str, extractor: str, numbers: Sequence[int]) -> tuple[Page, ...]:
        """Return those of the pages with these 1-based numbers that were read, in order."""
        query = _page_contents(owner, document_id, extractor).where(pages.c.number.in_(numbers))
        return self._pages(owner, document_id, query)

    def note_language(self, reading: Reading, language: str) -> None:
        """Note what language the text of a reading is in."""
        with self._database.write() as connection:
            _note_language(connection, reading, language)

    def _pages(self, owner: str, document_id: str, query: Select[Any]) -> tuple[Page, ...]:
        with self._database.read() as connection:
            self._require(connection, owner, document_id)
            contents = connection.scalars(query).all()
        return tuple(decode_page(bytes(content)) for content in contents)

    @staticmethod
    def _require(connection: Connection, owner: str, document_id: str) -> Row[Any]:
        row = connection.execute(_document_query(owner, document_id)).one_or_none()
        if row is None:
            raise UsageError("There is no such document here.", "It may have been removed.")
        return row


def remove_all(connection: Connection, owner: str) -> None:
    """Delete an owner's documents within a transaction; `PdfFiles.remove_pending` deletes their PDFs after it."""
    _remove(connection, owner, connection.scalars(select(documents.c.id).where(documents.c.owner == owner)).all())


def _remove(connection: Connection, owner: str, ids: Sequence[str]) -> None:
    for document_id in ids:
        connection.execute(delete(documents).where(documents.c.id == document_id, documents.c.owner == owner))
        _remove_reading(connection, document_id, owner)
        collections.forget(connection, owner, document_id)
        summaries.remove(connection, document_id, owner)
        synthetic_questions.remove(connection, document_id, owner)
        if not connection.scalar(select(func.count()).where(documents.c.id == document_id)):
            mark_removed(connection, [document_id])


def filenames(connection: Connection, owner: str, document_ids: Iterable[str]) -> dict[str, str]:
    """Return the file name of each of these documents that the owner has."""
    query = select(documents.c.id, documents.c.filename).where(
        documents.c.owner == owner, documents.c.id.in_(sorted(set(document_ids)))
    )
    return {row.id: row.filename for row in connection.execute(query)}


def _document_query(owner: str, document_id: str) -> Select[Any]:
    return select(documents).where(documents.c.id == document_id, documents.c.owner == owner)
