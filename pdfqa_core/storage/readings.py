"""Readings of documents: what each extractor made of a file, per owner; their pages are kept once for all owners.

An owner sees the pages of a reading only if the owner's own reading of that name is usable: without the password of an
encrypted file, nobody sees what another owner's password opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, insert, select, update

from pdfqa_core.json_codec import encode_page
from pdfqa_core.storage.database import record, row_of, upsert
from pdfqa_core.storage.records import Reading
from pdfqa_core.storage.tables import pages, readings
from pdfqa_core.types import Document, DocumentState, Page

_USABLE = tuple(state for state in DocumentState if state.usable)


def put(connection: Connection, document: Document, name: str, read_pages: Sequence[Page]) -> None:
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


def note_language(connection: Connection, reading: Reading, language: str) -> None:
    """Note what language the text of a reading is in, for all owners who have this text."""
    same = and_(
        readings.c.document_id == reading.document_id,
        readings.c.extractor == reading.extractor,
        readings.c.version == reading.version,
        readings.c.state.in_(_USABLE),
    )
    connection.execute(update(readings).where(same).values(language=language))


def counting(connection: Connection, document: Document) -> Document:
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
    return document if row is None else counted(document, record(Reading, row))


def counted(document: Document, reading: Reading) -> Document:
    """Return the document as this reading of it has it."""
    return replace(
        document,
        state=reading.state,
        reason=reading.reason,
        page_count=reading.page_count,
        pages_without_text=reading.pages_without_text,
        extractor=reading.extractor,
    )


def remove(connection: Connection, document_id: str, owner: str) -> None:
    """Delete the owner's readings of a document, and the pages that no usable reading has any more."""
    connection.execute(delete(readings).where(readings.c.document_id == document_id, readings.c.owner == owner))
    usable = readings.c.state.in_(_USABLE)
    left = select(readings.c.extractor).where(readings.c.document_id == document_id, usable)
    connection.execute(delete(pages).where(pages.c.document_id == document_id, pages.c.extractor.not_in(left)))


def of_owner(owner: str, document_id: str = "") -> Select[Any]:
    """Return the query for the owner's readings (of one document), in the order in which they were made."""
    query = select(readings).where(readings.c.owner == owner)
    if document_id:
        query = query.where(readings.c.document_id == document_id)
    return query.order_by(readings.c.document_id, readings.c.read_at, readings.c.extractor)


def page_contents(owner: str, document_id: str, name: str) -> Select[Any]:
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
