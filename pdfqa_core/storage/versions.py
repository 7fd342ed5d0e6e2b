"""Which documents look like newer versions of others, and what their owner said to that."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, or_, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import collections
from pdfqa_core.storage.database import Database, record, row_of, upsert
from pdfqa_core.storage.records import NewerVersion
from pdfqa_core.storage.tables import document_versions, documents

KEPT, REPLACED = "kept", "replaced"


class Versions:
    """What was found of each owner's documents; all methods see only those of the `owner` and raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, owner: str) -> tuple[NewerVersion, ...]:
        """Return what was found and decided, in no particular order."""
        query = select(document_versions).where(document_versions.c.owner == owner)
        with self._database.read() as connection:
            return tuple(record(NewerVersion, row) for row in connection.execute(query))

    def found(self, owner: str, version: NewerVersion) -> None:
        """Note a newer version. What was decided of the same two documents stays."""
        with self._database.write() as connection:
            known = select(document_versions.c.decision).where(*_same(owner, version.document_id, version.earlier_id))
            if connection.scalar(known) != KEPT:
                upsert(connection, document_versions, {"owner": owner, **row_of(document_versions, version)})

    def decide(self, owner: str, document_id: str, earlier_id: str, decision: str) -> None:
        """Note KEPT or REPLACED; where the earlier one is replaced, the newer one is in its collections from now on.

        Raises UsageError if the owner has no such two documents, of which one was found to be the newer.
        """
        with self._database.write() as connection:
            both = select(documents.c.id).where(
                documents.c.owner == owner, documents.c.id.in_([document_id, earlier_id])
            )
            change = update(document_versions).where(*_same(owner, document_id, earlier_id)).values(decision=decision)
            if len(connection.scalars(both).all()) < 2 or not connection.execute(change).rowcount:
                raise UsageError("These are not two versions of a document.", "One of them may have been removed.")
            if decision == REPLACED:
                collections.take_place(connection, owner, document_id, earlier_id)


def _same(owner: str, document_id: str, earlier_id: str) -> tuple[ColumnElement[bool], ...]:
    table = document_versions.c
    return table.owner == owner, table.document_id == document_id, table.earlier_id == earlier_id


def forget(connection: Connection, owner: str, document_id: str) -> None:
    """Drop what was found of a removed document, but not that another one took its place, within a transaction."""
    table = document_versions.c
    about = or_(table.document_id == document_id, table.earlier_id == document_id)
    connection.execute(delete(document_versions).where(table.owner == owner, about, table.decision != REPLACED))
