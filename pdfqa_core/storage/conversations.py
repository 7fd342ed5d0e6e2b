"""Conversations and their turns. A turn keeps its answer with all evidence, whatever happens to the documents."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Connection, Row, Select, cast, delete, func, insert, select, type_coerce, update

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import decode, encode, readable
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.documents import filenames
from pdfqa_core.storage.records import ConversationSummary, StudyTurn, TurnText
from pdfqa_core.storage.tables import conversations, study_turns, turns
from pdfqa_core.types import Answer, Conversation, Thumb, Turn

OVERTAKEN = "Another question was asked meanwhile, so this answer stands behind it and replaces nothing."
_LIVE = turns.c.superseded_at.is_(None)


class Conversations:
    """The conversations of each owner; every method sees only those of the `owner` it is given.

    All methods raise StorageError, and UsageError where the owner has no such conversation.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, title: str = "", document_ids: Iterable[str] = ()) -> Conversation:
        """Begin a conversation about these documents (none: all of the owner's) and return it."""
        created = Conversation(uuid.uuid4().hex, title, datetime.now(UTC), owner, tuple(document_ids))
        self.put(created)
        return created

    def put(self, conversation: Conversation) -> None:
        """Store a whole conversation with its turns, as an import does. Raises UsageError if its id is taken."""
        with self._database.write() as connection:
            if connection.scalar(select(conversations.c.id).where(conversations.c.id == conversation.id)):
                raise UsageError(f"There is a conversation {conversation.id!r} already.")
            row = {**row_of(conversations, conversation), "changed_at": conversation.created_at}
            connection.execute(insert(conversations).values(row))
            for number, turn in enumerate(conversation.turns, start=1):
                _insert_turn(connection, conversation.owner, conversation.id, replace(turn, number=number))

    def list(self, owner: str) -> tuple[ConversationSummary, ...]:
        """Return the owner's conversations with their numbers of turns, the one that changed last first."""
        counts = (
            select(turns.c.conversation_id, func.count().label("turn_count"))
            .where(_LIVE)
            .group_by(turns.c.conversation_id)
            .subquery()
        )
        query = (
            select(conversations, func.coalesce(counts.c.turn_count, 0).label("turn_count"))
            .outerjoin(counts, counts.c.conversation_id == conversations.c.id)
            .where(conversations.c.owner == owner, conversations.c.deleted_at.is_(None))
            .order_by(conversations.c.changed_at.desc(), conversations.c.id)
        )
        with self._database.read() as connection:
            return tuple(record(ConversationSummary, row) for row in connection.execute(query))

    def get(self, owner: str, conversation_id: str) -> Conversation:
        """Return a conversation with its turns, without those that were replaced."""
        with self._database.read() as connection:
            row = require_conversation(connection, owner, conversation_id, lock=False)
            found = tuple(turn_of(turn) for turn in connection.execute(_live_turns(conversation_id)))
        return record(Conversation, row, turns=found)

    def texts(self, owner: str) -> tuple[TurnText, ...]:
        """Return the questions and answers of all conversations, in order, without turns that were replaced."""
        kept = type_coerce(turns.c.answer, JSON) if self._database.is_sqlite else cast(turns.c.answer, JSON)
        columns = (
            turns.c.conversation_id,
            turns.c.id.label("turn_id"),
            turns.c.question,
            func.coalesce(kept["text"].as_string(), "").label("answer"),
        )
        query = (
            select(*columns)
            .join(conversations, conversations.c.id == turns.c.conversation_id)
            .where(_LIVE, conversations.c.owner == owner, conversations.c.deleted_at.is_(None))
            .order_by(turns.c.conversation_id, turns.c.number)
        )
        with self._database.read() as connection:
            return tuple(record(TurnText, row) for row in connection.execute(query))

    def filenames(self, owner: str, conversation_id: str) -> dict[str, str]:
        """Return the file names of the documents that the turns found something in, also of those removed since."""
        with self._database.read() as connection:
            require_conversation(connection, owner, conversation_id, lock=False)
            kept = connection.scalars(_live_turns(conversation_id).with_only_columns(turns.c.filenames))
            return {document_id: name for names in kept for document_id, name in names.items()}

    def turn(self, owner: str, turn_id: str) -> Turn:
        """Return one turn, replaced or not, also of a conversation that was deleted after it was put in a study."""
        query = (
            select(turns)
            .join(conversations, conversations.c.id == turns.c.conversation_id)
            .where(turns.c.id == turn_id, conversations.c.owner == owner)
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise UsageError(f"There is no turn {turn_id!r} here.")
        return turn_of(row)

    def rename(self, owner: str, conversation_id: str, title: str) -> None:
        """Give the conversation another title."""
        with self._database.write() as connection:
            require_conversation(connection, owner, conversation_id)
            _change(connection, conversation_id, title=title)

    def set_documents(self, owner: str, conversation_id: str, document_ids: Iterable[str]) -> None:
        """Change which documents are searched from now on (none: all of the owner's)."""
        with self._database.write() as connection:
            require_conversation(connection, owner, conversation_id)
            _change(connection, conversation_id, document_ids=tuple(document_ids))

    def delete(self, owner: str, conversation_id: str) -> None:
        """Delete the conversation; turns that belong to a study stay for their ratings and exports."""
        with self._database.write() as connection:
            require_conversation(connection, owner, conversation_id)
            in_studies = select(study_turns.c.turn_id)
            connection.execute(
                delete(turns).where(turns.c.conversation_id == conversation_id, turns.c.id.not_in(in_studies))
            )
            if connection.scalar(select(func.count()).where(turns.c.conversation_id == conversation_id)):
                _change(connection, conversation_id, deleted_at=datetime.now(UTC))
            else:
                connection.execute(delete(conversations).where(conversations.c.id == conversation_id))

    def set_thumb(self, owner: str, turn_id: str, thumb: Thumb) -> None:
        """Note what the one who asked thinks of an answer; NONE takes it back."""
        own = select(conversations.c.id).where(conversations.c.owner == owner, conversations.c.deleted_at.is_(None))
        where = (turns.c.id == turn_id, turns.c.conversation_id.in_(own))
        with self._database.write() as connection:
            if not connection.execute(update(turns).where(*where).values(thumb=thumb)).rowcount:
                raise UsageError("There is no such answer here.", "Its conversation may have been deleted.")

    def append_turn(self, owner: str, conversation_id: str, turn: Turn, *, replaces: str = "") -> Turn:
        """Store a finished (or stopped) turn behind the others and return it with its number.

        If the turn `replaces` is the last one it gives up its place (retry, edit): it stays in the database but is not
        shown. If it is not, another turn was added meanwhile, and the new one carries a note instead. Raises UsageError
        if the turn's id is taken.
        """
        with self._database.write() as connection:
            require_conversation(connection, owner, conversation_id)
            before = live_turn_ids(connection, conversation_id)
            if replaces and before[-1:] == [replaces]:
                now = datetime.now(UTC)
                connection.execute(update(turns).where(turns.c.id == before.pop()).values(superseded_at=now))
            elif replaces:
                turn = replace(turn, answer=replace(turn.answer, notes=(*turn.answer.notes, OVERTAKEN)))
            numbered = replace(turn, number=len(before) + 1)
            _insert_turn(connection, owner, conversation_id, numbered)
            _change(connection, conversation_id)
        return numbered


def put_turns(connection: Connection, owner: str, found: Sequence[StudyTurn], moment: datetime) -> None:
    """Store turns from elsewhere with the names of their documents, in conversations that no list shows."""
    for one in {turn.conversation_id: turn for turn in found}.values():
        if connection.scalar(select(conversations.c.id).where(conversations.c.id == one.conversation_id)):
            raise UsageError(f"The conversation “{one.conversation_title}” is in this workspace already.")
        made = Conversation(one.conversation_id, one.conversation_title, moment, owner)
        hidden = {"changed_at": moment, "deleted_at": moment}
        connection.execute(insert(conversations).values(row_of(conversations, made) | hidden))
    for one in found:
        others = {
            "conversation_id": one.conversation_id,
            "answer": encode(one.turn.answer),
            "passages": len(one.turn.answer.hits),
            "filenames": dict(one.filenames),
            "created_at": moment,
        }
        connection.execute(insert(turns).values(row_of(turns, one.turn) | others))


def turn_of(row: Row[Any]) -> Turn:
    """Return the turn in a row of the table."""
    return record(Turn, row, answer=decode(Answer, readable(row.answer)))


def _insert_turn(connection: Connection, owner: str, conversation_id: str, turn: Turn) -> None:
    if not turn.id or "#" in turn.id:
        raise UsageError(f"{turn.id!r} cannot be the id of a turn.", "It must not be empty or hold a #.")
    if connection.scalar(select(turns.c.id).where(turns.c.id == turn.id)):
        raise UsageError(f"There is a turn {turn.id!r} already.", "Every answer needs a turn of its own.")
    document_ids = {span.document_id for hit in turn.answer.hits for span in hit.passage.spans}
    others = {
        "conversation_id": conversation_id,
        "answer": encode(turn.answer),
        "passages": len(turn.answer.hits),
        "filenames": filenames(connection, owner, document_ids),
        "created_at": datetime.now(UTC),
    }
    connection.execute(insert(turns).values(row_of(turns, turn) | others))


def _change(connection: Connection, conversation_id: str, **values: Any) -> None:
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(changed_at=datetime.now(UTC), **values)
    )


def _live_turns(conversation_id: str) -> Select[Any]:
    return select(turns).where(turns.c.conversation_id == conversation_id, _LIVE).order_by(turns.c.number)


def live_turn_ids(connection: Connection, conversation_id: str) -> list[str]:
    """Return the ids of a conversation's turns in order, without those that were replaced."""
    return [*connection.scalars(_live_turns(conversation_id).with_only_columns(turns.c.id))]


def require_conversation(connection: Connection, owner: str, conversation_id: str, *, lock: bool = True) -> Row[Any]:
    """Return the conversation's row, locked against other writers where the database has such locks (not SQLite)."""
    query = select(conversations).where(
        conversations.c.id == conversation_id,
        conversations.c.owner == owner,
        conversations.c.deleted_at.is_(None),
    )
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise UsageError("There is no such conversation here.", "It may have been deleted.")
    return row
