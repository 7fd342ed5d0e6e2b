"""Summaries of documents: the last one of each owner and document, with the reading that it was made of."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, delete, select

from pdfqa_core.json_codec import decode, encode
from pdfqa_core.storage.database import Database, upsert
from pdfqa_core.storage.records import Reading, Summary
from pdfqa_core.storage.tables import documents, summaries
from pdfqa_core.types import Answer


class Summaries:
    """The summaries of each owner's documents. All methods raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, owner: str, reading: Reading) -> Summary | None:
        """Return the summary of a document that was made of this reading; None where it was made of another, or not."""
        known = summaries.c
        query = select(known.content, known.made_at).where(
            known.document_id == reading.document_id,
            known.owner == owner,
            known.extractor == reading.extractor,
            known.version == reading.version,
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Summary(decode(Answer, row.content), row.made_at)

    def put(self, owner: str, reading: Reading, answer: Answer) -> None:
        """Store a summary in place of the one before; nothing where the document has been removed meanwhile."""
        there = select(documents.c.id).where(documents.c.id == reading.document_id, documents.c.owner == owner)
        values = {
            "document_id": reading.document_id,
            "owner": owner,
            "extractor": reading.extractor,
            "version": reading.version,
            "content": encode(answer),
            "made_at": datetime.now(UTC),
        }
        with self._database.write() as connection:
            if connection.execute(there).first() is not None:
                upsert(connection, summaries, values)


def remove(connection: Connection, document_id: str, owner: str) -> None:
    """Delete the owner's summary of a document within a transaction."""
    connection.execute(delete(summaries).where(summaries.c.document_id == document_id, summaries.c.owner == owner))
