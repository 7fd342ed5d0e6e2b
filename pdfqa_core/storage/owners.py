"""What concerns an owner as a whole: preferences of the page, the size of the PDFs, removing everything."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Select, Table, delete, func, select, union_all

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import documents as stored_documents
from pdfqa_core.storage import studies as stored_studies
from pdfqa_core.storage.database import Database, upsert
from pdfqa_core.storage.files import PdfFiles
from pdfqa_core.storage.tables import (
    UtcDateTime,
    adjudications,
    annotators,
    collections,
    conversations,
    documents,
    evaluations,
    held_conversations,
    invitations,
    preferences,
    ratings,
    readings,
    runs,
    skips,
    studies,
    synthetic_questions,
    turns,
)

Preference = str | int | float | bool | None


class Owners:
    """Preferences, sizes and removal, per owner. All methods raise StorageError."""

    def __init__(self, database: Database, files: PdfFiles) -> None:
        self._database = database
        self._files = files

    def preference(self, owner: str, name: str, default: Preference = None) -> Preference:
        """Return what was last set under this name."""
        query = select(preferences.c.value).where(preferences.c.owner == owner, preferences.c.name == name)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return default if row is None else row.value

    def set_preference(self, owner: str, name: str, value: Preference) -> None:
        """Remember a value. Raises UsageError if it is no text, number, boolean or None.

        Nothing is remembered for an empty owner: a page of a demo that has not said who is visiting.
        """
        if not isinstance(value, Preference):
            raise UsageError(f"A preference cannot be a {type(value).__name__}.")
        if not owner:
            return
        row = {"owner": owner, "name": name, "value": value, "changed_at": datetime.now(UTC)}
        with self._database.write() as connection:
            upsert(connection, preferences, row)

    def remove(self, owner: str) -> None:
        """Remove all that an owner has, from documents to preferences."""
        with self._database.write() as connection:
            _remove(connection, owner)
        self._files.remove_pending()

    def purge(self, hours: float, keep: Collection[str]) -> tuple[str, ...]:
        """Remove the owners who changed nothing for that many hours, except those in `keep`; return their names.

        What the people do whom they invited counts as theirs: coming in, rating, skipping, conversations that are held.
        """
        limit = datetime.now(UTC) - timedelta(hours=hours)
        with self._database.write() as connection:
            idle = [owner for owner, last in _last_changes(connection).items() if last < limit and owner not in keep]
            for owner in idle:
                _remove(connection, owner)
        self._files.remove_pending()
        if idle:
            self._database.forget_read()
        return tuple(idle)


def _last_changes(connection: Connection) -> dict[str, datetime]:
    """Return when something of each owner's was last added or changed."""
    changes = union_all(
        _changes(documents, "added_at"),
        _changes(readings, "read_at"),
        _changes(collections, "created_at"),
        _changes(conversations, "changed_at"),
        _changes(turns, "created_at", conversations),
        _changes(studies, "created_at"),
        _changes(annotators, "joined_at", studies),
        _changes(ratings, "rated_at", studies),
        _changes(adjudications, "decided_at", studies),
        _changes(skips, "skipped_at", studies),
        _changes(held_conversations, "finished_at", studies),
        _changes(invitations, "invited_at", studies),
        _changes(invitations, "used_at", studies),
        _changes(evaluations, "created_at"),
        _changes(runs, "changed_at"),
        _changes(preferences, "changed_at"),
        _changes(synthetic_questions, "made_at"),
    ).subquery()
    last = func.max(changes.c.at, type_=UtcDateTime).label("last")
    query = select(changes.c.owner, last).group_by(changes.c.owner).order_by(changes.c.owner)
    return {row.owner: row.last for row in connection.execute(query) if row.last is not None}


def _changes(table: Table, moment: str, part_of: Table | None = None) -> Select[tuple[str, datetime]]:
    """Select owner and moment of each row; rows that are `part_of` others have the owner of those."""
    at = table.c[moment].label("at")
    if part_of is None:
        return select(table.c.owner, at)
    key = table.c.study_id if part_of is studies else table.c.conversation_id
    return select(part_of.c.owner, at).where(key == part_of.c.id)


def _remove(connection: Connection, owner: str) -> None:
    stored_studies.remove_all(connection, owner)
    for table in (evaluations, runs, conversations, preferences):  # what was found, and predictions, go with them
        connection.execute(delete(table).where(table.c.owner == owner))
    stored_documents.remove_all(connection, owner)
    connection.execute(delete(collections).where(collections.c.owner == owner))
