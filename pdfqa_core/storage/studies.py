"""Studies: which turns are rated, by whom, with which result. Ratings are appended and never overwritten."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.conversations import live_turn_ids, put_turns, require_conversation, turn_of
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.names import LONGEST_NAME as _LONGEST_NAME
from pdfqa_core.storage.names import name_key as _key
from pdfqa_core.storage.names import one_line as _one_line
from pdfqa_core.storage.records import SEAT, Annotator, Seat, StudyCopy, StudyTurn
from pdfqa_core.storage.tables import (
    adjudications,
    annotators,
    conversations,
    invitations,
    ratings,
    studies,
    study_turns,
    turns,
)
from pdfqa_core.types import Adjudication, Rating, Role, Study

ONLY_OWNER = ("Only the owner of the study may do this.", "Ask them.")
NO_STUDY = ("There is no such study here.", "It may have been removed.")


class Studies:
    """The studies of each owner with their annotators, ratings and adjudications.

    Methods that take an `owner` see only that owner's studies. The others take a study's id: it cannot be guessed
    and comes from one of the former. An owner that begins with SEAT is somebody who was invited to one study: they may
    `list` and `get` it and its `turns`, and change nothing. All raise StorageError, and UsageError where there is no
    such study.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, name: str, conversation_ids: Sequence[str], seed: int = 0, *, only: str = "") -> Study:
        """Make a study of all turns of these conversations, in this order, or of the one turn `only` of them.

        Raises UsageError if the name is empty or taken, a conversation is not the owner's, or there is no turn.
        """
        _refuse_seat(owner)
        name = _one_line(name)
        if not name:
            raise UsageError("A study needs a name.")
        with self._database.write() as connection:
            if connection.scalar(select(studies.c.id).where(studies.c.owner == owner, studies.c.name == name)):
                raise UsageError(f"There is a study called {name!r} already.", "Choose another name.")
            turn_ids: tuple[str, ...] = ()
            for one in dict.fromkeys(conversation_ids):
                require_conversation(connection, owner, one, lock=False)
                turn_ids += tuple(i for i in live_turn_ids(connection, one) if only in ("", i))
            if not turn_ids:
                raise UsageError("A study needs at least one answered question.", "Choose a conversation with turns.")
            study = Study(uuid.uuid4().hex, name, datetime.now(UTC), owner, turn_ids, seed)
            connection.execute(insert(studies).values(row_of(studies, study)))
            connection.execute(
                insert(study_turns),
                [{"study_id": study.id, "turn_id": turn_id, "position": i} for i, turn_id in enumerate(turn_ids)],
            )
        return study

    def copy(self, owner: str, study_id: str) -> StudyCopy:
        """Return a study with everything in it."""
        query = (
            select(annotators.c.name, annotators.c.joined_at)
            .where(annotators.c.study_id == study_id)
            .order_by(annotators.c.joined_at, annotators.c.name_key)
        )
        study = self.get(owner, study_id)
        with self._database.read() as connection:
            people = tuple(record(Annotator, row) for row in connection.execute(query))
        return StudyCopy(
            study, self.turns(owner, study_id), people, self.ratings(study_id), self.adjudications(study_id)
        )

    def put(self, owner: str, copy: StudyCopy) -> Study:
        """Store a whole study from elsewhere for this owner, all or nothing, and return it.

        Its turns come along; their conversations stay out of the owner's list, for they were held elsewhere. Raises
        UsageError if its name is empty or taken, or the study or one of its conversations is here already.
        """
        _refuse_seat(owner)
        study = replace(copy.study, owner=owner, name=_one_line(copy.study.name))
        if not study.name:
            raise UsageError("A study needs a name.")
        with self._database.write() as connection:
            if connection.scalar(select(studies.c.id).where(studies.c.owner == owner, studies.c.name == study.name)):
                raise UsageError(f"There is a study called {study.name!r} already.", "Choose another name.")
            if connection.scalar(select(studies.c.id).where(studies.c.id == study.id)):
                raise UsageError(f"“{study.name}” is in this workspace already.", "Open it here.")
            put_turns(connection, owner, copy.turns, study.created_at)
            connection.execute(insert(studies).values(row_of(studies, study)))
            rows = [{"study_id": study.id, "turn_id": one, "position": i} for i, one in enumerate(study.turn_ids)]
            connection.execute(insert(study_turns), rows)
            for table, found in (
                (annotators, [{**row_of(annotators, one), "study_id": study.id, "name_key": _key(one.name)}
                              for one in copy.annotators]),
                (ratings, [{**row_of(ratings, one), "annotator_key": _key(one.annotator)} for one in copy.ratings]),
                (adjudications, [{**row_of(adjudications, one), "turn_id": one.item_id.partition("#")[0]}
                                 for one in copy.adjudications]),
            ):  # fmt: skip
                if found:
                    connection.execute(insert(table), found)
        return study

    def list(self, owner: str) -> tuple[Study, ...]:
        """Return the owner's studies, newest first."""
        query = select(studies).where(_readable(owner)).order_by(studies.c.created_at.desc(), studies.c.id)
        with self._database.read() as connection:
            return tuple(_seen(connection, row, owner) for row in connection.execute(query).all())

    def get(self, owner: str, study_id: str) -> Study:
        """Return one study."""
        with self._database.read() as connection:
            row = connection.execute(select(studies).where(_readable(owner), studies.c.id == study_id)).one_or_none()
            if row is None:
                raise UsageError(*NO_STUDY)
            return _seen(connection, row, owner)

    def seat(self, owner: str) -> Seat | None:
        """Return what somebody who came in by an invitation may read; None for any other owner, or no longer."""
        if not owner.startswith(SEAT):
            return None
        query = (
            select(studies.c.owner, invitations.c.study_id, invitations.c.name, invitations.c.role)
            .join(studies, studies.c.id == invitations.c.study_id)
            .where(invitations.c.session_hash == owner.removeprefix(SEAT))
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Seat(row.owner, row.study_id, row.name, Role(row.role))

    def turns(self, owner: str, study_id: str) -> tuple[StudyTurn, ...]:
        """Return the turns of a study in its own order, also of conversations that were deleted since."""
        query = (
            select(turns, conversations.c.title)
            .join(study_turns, study_turns.c.turn_id == turns.c.id)
            .join(studies, studies.c.id == study_turns.c.study_id)
            .join(conversations, conversations.c.id == turns.c.conversation_id)
            .where(studies.c.id == study_id, _readable(owner))
            .order_by(study_turns.c.position)
        )
        with self._database.read() as connection:
            return tuple(
                StudyTurn(turn_of(row), row.conversation_id, row.title, row.filenames)
                for row in connection.execute(query)
            )

    def add_turn(self, owner: str, study_id: str, turn_id: str) -> Study:
        """Put one more turn at the end of a study and return it; one that it holds already stays where it is.

        Raises UsageError if the turn is not the owner's.
        """
        mine = (
            select(turns.c.id)
            .join(conversations, conversations.c.id == turns.c.conversation_id)
            .where(turns.c.id == turn_id, conversations.c.owner == owner)
        )
        with self._database.write() as connection:
            study = _require_study(connection, owner, study_id)
            if connection.scalar(mine) is None:
                raise UsageError("There is no such answer here.", "Its conversation may have been deleted.")
            if turn_id not in study.turn_ids:
                last = select(func.max(study_turns.c.position)).where(study_turns.c.study_id == study_id)
                place = {"study_id": study_id, "turn_id": turn_id, "position": (connection.scalar(last) or 0) + 1}
                connection.execute(insert(study_turns).values(place))
            return _require_study(connection, owner, study_id)

    def take_out(self, owner: str, study_id: str, turn_ids: Sequence[str]) -> None:
        """Take turns out of a study; with the last one the study goes too.

        Raises UsageError if somebody has rated one of them: ratings are never deleted.
        """
        with self._database.write() as connection:
            study = _require_study(connection, owner, study_id)
            for table in (ratings, adjudications):
                rated = select(table.c.id).where(table.c.study_id == study_id, table.c.turn_id.in_(turn_ids))
                if connection.scalar(rated.limit(1)) is not None:
                    raise UsageError(
                        f"Somebody has rated this in “{study.name}” already, so it stays there.",
                        "Open the study to see how far it is.",
                    )
            where = (study_turns.c.study_id == study_id, study_turns.c.turn_id.in_(turn_ids))
            connection.execute(delete(study_turns).where(*where))
            if set(study.turn_ids) <= set(turn_ids):
                connection.execute(delete(annotators).where(annotators.c.study_id == study_id))
                connection.execute(delete(studies).where(studies.c.id == study_id))

    def sign_in(self, study_id: str, name: str) -> str:
        """Return the annotator's name as it was first spelled; case and width of letters make no difference.

        Raises UsageError if the name is empty, over 80 characters, or the study does not exist.
        """
        name = _one_line(name)
        if not 0 < len(name) <= _LONGEST_NAME:
            raise UsageError(f"A name has 1 to {_LONGEST_NAME} characters, this one has {len(name)}.")
        where = (annotators.c.study_id == study_id, annotators.c.name_key == _key(name))
        with self._database.write() as connection:
            if not connection.scalar(select(studies.c.id).where(studies.c.id == study_id)):
                raise UsageError("There is no such study.", "It may have been removed.")
            known = connection.scalar(select(annotators.c.name).where(*where))
            if known is not None:
                return str(known)
            connection.execute(
                insert(annotators).values(
                    study_id=study_id, name_key=_key(name), name=name, joined_at=datetime.now(UTC)
                )
            )
        return name

    def annotators(self, study_id: str) -> tuple[str, ...]:
        """Return the names of those who signed in, in the order they first did."""
        query = (
            select(annotators.c.name)
            .where(annotators.c.study_id == study_id)
            .order_by(annotators.c.joined_at, annotators.c.name_key)
        )
        with self._database.read() as connection:
            return tuple(connection.scalars(query))

    def save_ratings(self, new: Sequence[Rating]) -> None:
        """Append ratings, all or none; when this returns they are on the disk.

        Raises UsageError if an annotator has not signed in or an item is not part of the study.
        """
        with self._database.write() as connection:
            rows = [{**row_of(ratings, rating), "annotator_key": _key(rating.annotator)} for rating in new]
            for study_id, turn_id in {(row["study_id"], row["turn_id"]) for row in rows}:
                _require_item(connection, study_id, turn_id)
            for study_id, key in {(row["study_id"], row["annotator_key"]) for row in rows}:
                _require_annotator(connection, study_id, key)
            if rows:
                connection.execute(insert(ratings), rows)

    def ratings(self, study_id: str, annotator: str | None = None) -> tuple[Rating, ...]:
        """Return the ratings that count, of one annotator or of all: the last per annotator, item and criterion.

        Who may see them is not decided here but in `services.studies`.
        """
        counting = (
            select(func.max(ratings.c.id))
            .where(ratings.c.study_id == study_id)
            .group_by(ratings.c.annotator_key, ratings.c.item_id, ratings.c.criterion)
        )
        query = (
            select(ratings, annotators.c.name.label("annotator"))
            .join(annotators)
            .where(ratings.c.id.in_(counting))
            .order_by(ratings.c.id)
        )
        if annotator is not None:
            query = query.where(ratings.c.annotator_key == _key(annotator))
        with self._database.read() as connection:
            return tuple(record(Rating, row) for row in connection.execute(query))

    def adjudications(self, study_id: str) -> tuple[Adjudication, ...]:
        """Return the adjudications that count: the last per item and criterion."""
        counting = (
            select(func.max(adjudications.c.id))
            .where(adjudications.c.study_id == study_id)
            .group_by(adjudications.c.item_id, adjudications.c.criterion)
        )
        query = select(adjudications).where(adjudications.c.id.in_(counting)).order_by(adjudications.c.id)
        with self._database.read() as connection:
            return tuple(record(Adjudication, row) for row in connection.execute(query))


def remove_all(connection: Connection, owner: str) -> None:
    """Delete an owner's studies with everything in them, within a transaction."""
    own = select(studies.c.id).where(studies.c.owner == owner)
    for table in (adjudications, ratings, annotators, study_turns):
        connection.execute(delete(table).where(table.c.study_id.in_(own)))
    connection.execute(delete(studies).where(studies.c.owner == owner))


def _require_study(connection: Connection, owner: str, study_id: str) -> Study:
    row = connection.execute(select(studies).where(studies.c.owner == owner, studies.c.id == study_id)).one_or_none()
    if row is None:
        raise UsageError(*NO_STUDY)
    return _study(connection, row)


def _refuse_seat(owner: str) -> None:
    if owner.startswith(SEAT):
        raise UsageError(*ONLY_OWNER)


def _readable(owner: str) -> ColumnElement[bool]:
    """Return what is true of the studies that an owner may read: their own, or the one that a seat is in."""
    if not owner.startswith(SEAT):
        return studies.c.owner == owner
    taken = select(invitations.c.study_id).where(invitations.c.session_hash == owner.removeprefix(SEAT))
    return studies.c.id.in_(taken)


def _seen(connection: Connection, row: Row[Any], owner: str) -> Study:
    """Return a study as who reads it knows it: who else owns it is not told, for that lets visitors of a demo in."""
    return replace(_study(connection, row), owner=owner)


def _require_item(connection: Connection, study_id: str, turn_id: str) -> None:
    query = select(study_turns.c.turn_id).where(study_turns.c.study_id == study_id, study_turns.c.turn_id == turn_id)
    if connection.scalar(query) is None:
        raise UsageError(f"The item {turn_id!r} is not part of this study.", "Open the study again.")


def _require_annotator(connection: Connection, study_id: str, key: str) -> None:
    query = select(annotators.c.name).where(annotators.c.study_id == study_id, annotators.c.name_key == key)
    if connection.scalar(query) is None:
        raise UsageError(f"{key!r} has not signed in to this study.", "Sign in first.")


def _study(connection: Connection, row: Row[Any]) -> Study:
    query = select(study_turns.c.turn_id).where(study_turns.c.study_id == row.id).order_by(study_turns.c.position)
    return record(Study, row, turn_ids=tuple(connection.scalars(query)))
