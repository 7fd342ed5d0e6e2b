"""Collections: some of an owner's documents under a name. A document may be in several of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import Connection, delete, insert, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database, record
from pdfqa_core.storage.records import Collection
from pdfqa_core.storage.tables import collection_documents, collections, documents

PREFIX = "collection-"  # of the ids, so that they can stand beside those of documents
LONGEST_NAME = 80  # characters


class Collections:
    """The collections of each owner; every method sees only those of the `owner` it is given.

    All methods raise StorageError, and UsageError where the owner has no such collection.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def make(self, owner: str, name: str) -> Collection:
        """Make an empty collection. Raises UsageError if the name is empty or another one has it."""
        made = Collection(f"{PREFIX}{uuid.uuid4().hex}", _clean(name), datetime.now(UTC))
        with self._database.write() as connection:
            _check_free(connection, owner, made.name)
            row = {"id": made.id, "owner": owner, "name": made.name, "created_at": made.created_at}
            connection.execute(insert(collections).values(row))
        return made

    def list(self, owner: str) -> tuple[Collection, ...]:
        """Return the owner's collections by their names."""
        inside = (
            select(collection_documents)
            .join(collections, collections.c.id == collection_documents.c.collection_id)
            .where(collections.c.owner == owner)
            .order_by(collection_documents.c.added_at, collection_documents.c.document_id)
        )
        members: dict[str, list[str]] = {}
        with self._database.read() as connection:
            rows = connection.execute(select(collections).where(collections.c.owner == owner)).all()
            for one in connection.execute(inside):
                members.setdefault(one.collection_id, []).append(one.document_id)
        found = [record(Collection, row, document_ids=tuple(members.get(row.id, ()))) for row in rows]
        return tuple(sorted(found, key=lambda one: (one.name.casefold(), one.id)))

    def rename(self, owner: str, collection_id: str, name: str) -> None:
        """Give a collection another name. Raises UsageError if it is empty or another collection has it."""
        with self._database.write() as connection:
            _require(connection, owner, collection_id)
            _check_free(connection, owner, _clean(name), but=collection_id)
            connection.execute(update(collections).where(collections.c.id == collection_id).values(name=_clean(name)))

    def remove(self, owner: str, collection_id: str) -> None:
        """Remove a collection; its documents stay."""
        with self._database.write() as connection:
            _require(connection, owner, collection_id)
            connection.execute(delete(collections).where(collections.c.id == collection_id))

    def put(self, owner: str, collection_id: str, document_ids: Iterable[str]) -> None:
        """Put documents into a collection; those that are in it stay there. Raises UsageError for an unknown one."""
        wanted = list(dict.fromkeys(document_ids))
        with self._database.write() as connection:
            _require(connection, owner, collection_id)
            known = set(
                connection.scalars(select(documents.c.id).where(documents.c.owner == owner, documents.c.id.in_(wanted)))
            )
            if len(known) < len(wanted):
                raise UsageError("There is no such document here.", "It may have been removed.")
            inside = select(collection_documents.c.document_id)
            there = set(connection.scalars(inside.where(collection_documents.c.collection_id == collection_id)))
            now = datetime.now(UTC)
            new = [i for i in wanted if i not in there]
            rows = [{"collection_id": collection_id, "document_id": i, "added_at": now} for i in new]
            if rows:
                connection.execute(insert(collection_documents), rows)

    def take_out(self, owner: str, collection_id: str, document_ids: Iterable[str]) -> None:
        """Take documents out of a collection; they stay in the workspace."""
        with self._database.write() as connection:
            _require(connection, owner, collection_id)
            connection.execute(
                delete(collection_documents).where(
                    collection_documents.c.collection_id == collection_id,
                    collection_documents.c.document_id.in_(list(document_ids)),
                )
            )


def forget(connection: Connection, owner: str, document_id: str) -> None:
    """Take a removed document out of all collections of its owner, within a transaction."""
    mine = select(collections.c.id).where(collections.c.owner == owner)
    connection.execute(
        delete(collection_documents).where(
            collection_documents.c.document_id == document_id, collection_documents.c.collection_id.in_(mine)
        )
    )


def _clean(name: str) -> str:
    """Return a name as it is stored. Raises UsageError if it is empty."""
    clean = " ".join(name.split())[:LONGEST_NAME].strip()
    if not clean:
        raise UsageError("A collection needs a name.", "Type one.")
    return clean


def _check_free(connection: Connection, owner: str, name: str, but: str = "") -> None:
    query = select(collections.c.id, collections.c.name).where(collections.c.owner == owner)
    if any(row.name.casefold() == name.casefold() and row.id != but for row in connection.execute(query)):
        raise UsageError(f"There is a collection “{name}” already.", "Choose another name.")


def _require(connection: Connection, owner: str, collection_id: str) -> None:
    query = select(collections.c.id).where(collections.c.id == collection_id, collections.c.owner == owner)
    if connection.scalar(query) is None:
        raise UsageError("There is no such collection here.", "It may have been removed.")
