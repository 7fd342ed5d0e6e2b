"""Studies that follow a protocol: the plan of each, and which conversations its evaluators hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, insert, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.conversations import live_turn_ids
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.records import HeldConversation
from pdfqa_core.storage.studies import add_annotator, held_of, refuse_seat, require_free_name, require_study
from pdfqa_core.storage.tables import checked_name, held_conversations, name_key, protocols, studies
from pdfqa_core.study_types import Study


class Protocols:
    """Plans and what was held so far. Methods without an `owner` take a study's id; all raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, study: Study, names: Sequence[str], plan: str) -> Study:
        """Store a study that has no item yet, with its annotators and its plan. Raises UsageError for its name."""
        refuse_seat(study.owner)
        name = checked_name(study.name)
        with self._database.write() as connection:
            require_free_name(connection, study.owner, name)
            connection.execute(insert(studies).values({**row_of(studies, study), "name": name}))
            for one in names:
                add_annotator(connection, study.id, checked_name(one))
            connection.execute(insert(protocols).values(study_id=study.id, plan=plan))
            return require_study(connection, study.owner, study.id)

    def plan(self, study_id: str) -> str:
        """Return the plan of a study; empty where it follows none."""
        with self._database.read() as connection:
            return connection.scalar(select(protocols.c.plan).where(protocols.c.study_id == study_id)) or ""

    def held(self, study_id: str) -> tuple[HeldConversation, ...]:
        """Return what was held so far, by evaluator, round and place."""
        with self._database.read() as connection:
            return tuple(
                record(HeldConversation, row, turn_ids=tuple(live_turn_ids(connection, row.conversation_id)))
                for row in connection.execute(held_of(study_id)).all()
            )

    def begin(self, study_id: str, annotator: str, number: int, place: int, conversation_id: str, first: str) -> None:
        """Note that an evaluator begins a conversation of a round."""
        row = {
            "study_id": study_id,
            "annotator_key": name_key(annotator),
            "round": number,
            "place": place,
            "conversation_id": conversation_id,
            "first_question": first,
        }
        with self._database.write() as connection:
            if _known(connection, study_id, annotator, number, place):
                raise UsageError("You have begun this conversation in another window.", "Load the page again.")
            connection.execute(insert(held_conversations).values(row))

    def finish(self, study_id: str, annotator: str, number: int, place: int) -> None:
        """Note that an evaluator has finished a conversation."""
        where = _where(study_id, annotator, number, place)
        with self._database.write() as connection:
            connection.execute(update(held_conversations).where(*where).values(finished_at=datetime.now(UTC)))


def _where(study_id: str, annotator: str, number: int, place: int) -> tuple[ColumnElement[bool], ...]:
    return (
        held_conversations.c.study_id == study_id,
        held_conversations.c.annotator_key == name_key(annotator),
        held_conversations.c.round == number,
        held_conversations.c.place == place,
    )


def _known(connection: Connection, study_id: str, annotator: str, number: int, place: int) -> bool:
    query = select(held_conversations.c.place).where(*_where(study_id, annotator, number, place))
    return connection.scalar(query) is not None
