"""Studies: which turns are rated, by whom, with which result. Ratings are appended and never overwritten."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, not_, select, update

from pdfqa_core.errors import ConflictError, UsageError
from pdfqa_core.storage.conversations import live_turn_ids, put_turns, require_conversation, turn_of
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.names import checked_name, name_key, one_line
from pdfqa_core.storage.records import Annotator, Seat, StudyCopy, StudyTurn
from pdfqa_core.storage.seats import find_seat, readable, refuse_seat
from pdfqa_core.storage.study_copies import put_roster_and_pages, with_roster_and_pages
from pdfqa_core.storage.study_progress import COUNTS, HERE, StudyProgress
from pdfqa_core.storage.tables import (
    adjudications,
    annotators,
    conversations,
    invitations,
    ratings,
    skips,
    studies,
    study_pictures,
    study_turns,
    turns,
)
from pdfqa_core.study_types import Adjudication, Rating, Skip, Study
from pdfqa_core.types import Turn


class Studies:
    """The studies of each owner with their annotators, ratings and adjudications.

    Methods that take an `owner` see only that owner's studies. The others take a study's id: it cannot be guessed
    and comes from one of the former. An owner that begins with SEAT is somebody who was invited to one study: they may
    `list` and `get` it and its `turns`, and change nothing. All raise StorageError, and UsageError where there is no
    such study.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.progress = StudyProgress(database)

    def create(self, owner: str, name: str, conversation_ids: Sequence[str], seed: int = 0, *, only: str = "") -> Study:
        """Make a study of all turns of these conversations, in this order, or of the one turn `only` of them.

        Raises UsageError if the name is empty or taken, a conversation is not the owner's, or there is no turn.
        """
        refuse_seat(owner)
        name = one_line(name)
        if not name:
            raise UsageError("A study needs a name.")
        with self._database.write() as connection:
            require_free_name(connection, owner, name)
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
        """Return a study with everything in it, but for drafts and for those who were taken out of it."""
        study = self.get(owner, study_id)
        people = tuple(one for one in self.people(study_id) if one.removed_at is None)
        copy = StudyCopy(
            study, self.turns(owner, study_id), people, self.ratings(study_id), self.adjudications(study_id),
            self.revisions(study_id), self.skips(study_id),
        )  # fmt: skip
        with self._database.read() as connection:
            return with_roster_and_pages(connection, copy)

    def put(self, owner: str, copy: StudyCopy) -> Study:
        """Store a whole study from elsewhere for this owner, all or nothing, and return it.

        Its turns come along; their conversations stay out of the owner's list, for they were held elsewhere. Raises
        UsageError if its name is empty or taken, or the study or one of its conversations is here already.
        """
        refuse_seat(owner)
        study = replace(copy.study, owner=owner, name=one_line(copy.study.name))
        if not study.name:
            raise UsageError("A study needs a name.")
        with self._database.write() as connection:
            require_free_name(connection, owner, study.name)
            if connection.scalar(select(studies.c.id).where(studies.c.id == study.id)):
                raise UsageError(f"“{study.name}” is in this workspace already.", "Open it here.")
            put_turns(connection, owner, copy.turns, study.created_at)
            connection.execute(insert(studies).values(row_of(studies, study)))
            details = {one.turn.id: one.details for one in copy.turns}
            rows = [
                {"study_id": study.id, "turn_id": one, "position": i, "details": details[one]}
                for i, one in enumerate(study.turn_ids)
            ]
            connection.execute(insert(study_turns), rows)
            for table, found in (
                (annotators, [{**row_of(annotators, one), "study_id": study.id, "name_key": name_key(one.name)}
                              for one in copy.annotators]),
                (ratings, [{**row_of(ratings, one), "annotator_key": name_key(one.annotator)}
                           for one in (*copy.ratings, *copy.revisions)]),
                (skips, [{**row_of(skips, one), "annotator_key": name_key(one.annotator)} for one in copy.skips]),
                (adjudications, [{**row_of(adjudications, one), "turn_id": one.item_id.partition("#")[0]}
                                 for one in copy.adjudications]),
            ):  # fmt: skip
                if found:
                    connection.execute(insert(table), found)
            put_roster_and_pages(connection, copy)
        return study

    def list(self, owner: str) -> tuple[Study, ...]:
        """Return the owner's studies, newest first."""
        query = select(studies).where(readable(owner)).order_by(studies.c.created_at.desc(), studies.c.id)
        with self._database.read() as connection:
            return tuple(_study(connection, row, owner) for row in connection.execute(query).all())

    def get(self, owner: str, study_id: str) -> Study:
        """Return one study."""
        with self._database.read() as connection:
            return require_study(connection, owner, study_id, readable(owner))

    def seat(self, owner: str) -> Seat | None:
        """Return what somebody who came in by an invitation may read; None for any other owner, or no longer."""
        with self._database.read() as connection:
            return find_seat(connection, owner)

    def came_by_link(self, study_id: str, name: str) -> bool:
        """Return whether this name is that of somebody with an invitation, which nobody else may use."""
        where = (invitations.c.study_id == study_id, invitations.c.name_key == name_key(name))
        with self._database.read() as connection:
            return connection.scalar(select(invitations.c.id).where(*where)) is not None

    def turns(self, owner: str, study_id: str, turn_id: str = "") -> tuple[StudyTurn, ...]:
        """Return the turns of a study in its own order, also of conversations that were deleted since.

        With a `turn_id` that one alone, nothing if it is not among them.
        """
        only = (study_turns.c.turn_id == turn_id,) if turn_id else ()
        query = (
            select(turns, conversations.c.title, study_turns.c.details)
            .join(study_turns, study_turns.c.turn_id == turns.c.id)
            .join(studies, studies.c.id == study_turns.c.study_id)
            .join(conversations, conversations.c.id == turns.c.conversation_id)
            .where(studies.c.id == study_id, readable(owner), *only)
            .order_by(study_turns.c.position)
        )
        with self._database.read() as connection:
            return tuple(
                StudyTurn(turn_of(row), row.conversation_id, row.title, row.filenames, row.details)
                for row in connection.execute(query)
            )

    def earlier(self, owner: str, turn_id: str) -> tuple[Turn, ...]:
        """Return the turns of the same conversation that came before a turn, oldest first."""
        with self._database.read() as connection:
            mine = select(turns).join(conversations).where(turns.c.id == turn_id, conversations.c.owner == owner)
            row = connection.execute(mine).first()
            if row is None or row.number < 2:
                return ()
            where = (turns.c.conversation_id == row.conversation_id, turns.c.number < row.number,
                     turns.c.superseded_at.is_(None))  # fmt: skip
            query = select(turns).where(*where).order_by(turns.c.number)
            return tuple(turn_of(one) for one in connection.execute(query))

    def reveal(self, study_id: str) -> None:
        """Note that the agreement of a study can be seen from now on, unless it could before."""
        where = (studies.c.id == study_id, studies.c.revealed_at.is_(None))
        with self._database.write() as connection:
            connection.execute(update(studies).where(*where).values(revealed_at=datetime.now(UTC)))

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
            study = require_study(connection, owner, study_id)
            if connection.scalar(mine) is None:
                raise UsageError("There is no such answer here.", "Its conversation may have been deleted.")
            if turn_id not in study.turn_ids:
                last = select(func.max(study_turns.c.position)).where(study_turns.c.study_id == study_id)
                place = {"study_id": study_id, "turn_id": turn_id, "position": (connection.scalar(last) or 0) + 1}
                connection.execute(insert(study_turns).values(place))
            return require_study(connection, owner, study_id)

    def take_out(self, owner: str, study_id: str, turn_ids: Sequence[str]) -> None:
        """Take turns out of a study; with the last one the study goes too.

        Raises UsageError if somebody has rated one of them: ratings are never deleted.
        """
        with self._database.write() as connection:
            study = require_study(connection, owner, study_id)
            for table in (ratings, skips, adjudications):
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

        Raises UsageError if the name is empty, over 80 characters, not one of those that the study names where it
        names them, that of somebody who was taken out, or if the study does not exist.
        """
        with self._database.write() as connection:
            return _sign_in(connection, study_id, checked_name(name))

    def people(self, study_id: str) -> tuple[Annotator, ...]:
        """Return who was invited or signed in, in this order, also those who were taken out."""
        query = (
            select(annotators)
            .where(annotators.c.study_id == study_id)
            .order_by(annotators.c.joined_at, annotators.c.name_key)
        )
        with self._database.read() as connection:
            return tuple(record(Annotator, row) for row in connection.execute(query))

    def annotators(self, study_id: str) -> tuple[str, ...]:
        """Return the names of those who were invited or signed in, in this order, but for those taken out."""
        return tuple(one.name for one in self.people(study_id) if one.removed_at is None)

    def save_ratings(self, new: Sequence[Rating], *, seen: int | None = None, sign_in: Sequence[str] = ()) -> None:
        """Append ratings, all or none; when this returns they are on the disk.

        `seen` is the `last_id` that the one who rates saw; `sign_in` are annotators who sign in by it. Raises
        UsageError as `sign_in`, or if an annotator has not signed in, an item is not part of the study, or
        (ConflictError) the same annotator has given one of the items another value since then, in another window.
        """
        with self._database.write() as connection:
            for rating in new if seen is not None else ():
                _require_seen(connection, rating, seen or 0)
            for name in sign_in if new else ():
                _sign_in(connection, new[0].study_id, checked_name(name))
            rows = [{**row_of(ratings, rating), "annotator_key": name_key(rating.annotator)} for rating in new]
            for study_id, turn_id in {(row["study_id"], row["turn_id"]) for row in rows}:
                _require_item(connection, study_id, turn_id)
            for study_id, key in {(row["study_id"], row["annotator_key"]) for row in rows}:
                _require_annotator(connection, study_id, key)
            if rows:
                connection.execute(insert(ratings), rows)

    def ratings(self, study_id: str, annotator: str | None = None, turn_id: str = "") -> tuple[Rating, ...]:
        """Return the ratings that count, of one annotator or of all: the last per annotator, item and criterion.

        With a `turn_id` those of that turn alone.

        Drafts and revisions do not count, nor does what somebody rated who was taken out. Who may see them is not
        decided here but in `services.studies`.
        """
        return self._last(study_id, annotator, turn_id, COUNTS)

    def own_ratings(
        self, study_id: str, annotator: str, turn_id: str = "", *, drafts: bool = True
    ) -> tuple[Rating, ...]:
        """Return what an annotator said last of each item and criterion, also as a draft and as a revision."""
        return self._last(study_id, annotator, turn_id, *(() if drafts else (not_(ratings.c.draft),)))

    def revisions(self, study_id: str) -> tuple[Rating, ...]:
        """Return every revision, oldest first."""
        query = (
            select(ratings, annotators.c.name.label("annotator"))
            .join(annotators)
            .where(ratings.c.study_id == study_id, ratings.c.revision, not_(ratings.c.draft), HERE)
            .order_by(ratings.c.id)
        )
        with self._database.read() as connection:
            return tuple(record(Rating, row) for row in connection.execute(query))

    def rated_criteria(self, study_id: str) -> tuple[str, ...]:
        """Return the names of the criteria by which anybody has rated, submitted or not."""
        query = select(ratings.c.criterion).where(ratings.c.study_id == study_id).distinct()
        with self._database.read() as connection:
            return tuple(connection.scalars(query))

    def last_id(self, study_id: str, annotator: str) -> int:
        """Return a number that grows whenever the annotator's ratings change."""
        where = (ratings.c.study_id == study_id, ratings.c.annotator_key == name_key(annotator))
        with self._database.read() as connection:
            return int(connection.scalar(select(func.max(ratings.c.id)).where(*where)) or 0)

    def _last(
        self, study_id: str, annotator: str | None, turn_id: str, *which: ColumnElement[bool]
    ) -> tuple[Rating, ...]:
        where = [ratings.c.study_id == study_id, *which]
        if turn_id:
            where.append(ratings.c.turn_id == turn_id)
        if annotator is not None:
            where.append(ratings.c.annotator_key == name_key(annotator))
        counting = (
            select(func.max(ratings.c.id))
            .where(*where)
            .group_by(ratings.c.annotator_key, ratings.c.item_id, ratings.c.criterion)
        )
        query = (
            select(ratings, annotators.c.name.label("annotator"))
            .join(annotators)
            .where(ratings.c.id.in_(counting), HERE)
            .order_by(ratings.c.id)
        )
        with self._database.read() as connection:
            return tuple(record(Rating, row) for row in connection.execute(query))

    def skip(self, new: Skip) -> None:
        """Note that an annotator cannot judge an item. Raises UsageError as `save_ratings`."""
        with self._database.write() as connection:
            _require_item(connection, new.study_id, new.turn_id)
            _require_annotator(connection, new.study_id, name_key(new.annotator))
            connection.execute(insert(skips).values({**row_of(skips, new), "annotator_key": name_key(new.annotator)}))

    def skips(self, study_id: str) -> tuple[Skip, ...]:
        """Return what could not be judged, oldest first; of several by the same annotator the last of each item."""
        last = select(func.max(skips.c.id)).where(skips.c.study_id == study_id).group_by(
            skips.c.annotator_key, skips.c.turn_id
        )  # fmt: skip
        query = (
            select(skips, annotators.c.name.label("annotator"))
            .join(annotators)
            .where(skips.c.id.in_(last), HERE)
            .order_by(skips.c.id)
        )
        with self._database.read() as connection:
            return tuple(record(Skip, row) for row in connection.execute(query))

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
    _remove(connection, own)
    connection.execute(delete(studies).where(studies.c.owner == owner))


def remove_study(connection: Connection, study_id: str) -> None:
    """Delete a study with everything in it but its turns, within a transaction."""
    _remove(connection, [study_id])
    connection.execute(delete(studies).where(studies.c.id == study_id))


def _remove(connection: Connection, study_ids: Any) -> None:
    for table in (adjudications, skips, ratings, annotators, study_turns, study_pictures):
        connection.execute(delete(table).where(table.c.study_id.in_(study_ids)))


def require_study(connection: Connection, owner: str, study_id: str, whose: ColumnElement[bool] | None = None) -> Study:
    """Return a study of this owner, or one for which `whose` holds. Raises UsageError where there is none."""
    mine = studies.c.owner == owner if whose is None else whose
    row = connection.execute(select(studies).where(mine, studies.c.id == study_id)).one_or_none()
    if row is None:
        raise UsageError("There is no such study here.", "It may have been removed.")
    return _study(connection, row, owner)


def require_free_name(connection: Connection, owner: str, name: str, study_id: str = "") -> None:
    """Raise UsageError if the owner has another study of this name."""
    where = (studies.c.owner == owner, studies.c.name == name, studies.c.id != study_id)
    if connection.scalar(select(studies.c.id).where(*where)):
        raise UsageError(f"There is a study called {name!r} already.", "Choose another name.")


def _require_item(connection: Connection, study_id: str, turn_id: str) -> None:
    query = select(study_turns.c.turn_id).where(study_turns.c.study_id == study_id, study_turns.c.turn_id == turn_id)
    if connection.scalar(query) is None:
        raise UsageError(f"The item {turn_id!r} is not part of this study.", "Open the study again.")


def _sign_in(connection: Connection, study_id: str, name: str) -> str:
    study = connection.execute(select(studies.c.name, studies.c.invited).where(studies.c.id == study_id)).first()
    if study is None:
        raise UsageError("There is no such study.", "It may have been removed.")
    where = (annotators.c.study_id == study_id, annotators.c.name_key == name_key(name))
    known = connection.execute(select(annotators.c.name, annotators.c.removed_at).where(*where)).first()
    if known is not None and known.removed_at is not None:
        raise UsageError(f"{known.name} was taken out of “{study.name}”.", "Its owner can bring them back.")
    if known is not None:
        return str(known.name)
    if study.invited:
        names = connection.scalars(select(annotators.c.name).where(annotators.c.study_id == study_id, HERE))
        raise UsageError(
            f"Nobody called {name!r} is asked to rate “{study.name}”.",
            f"Choose one of: {', '.join(sorted(names))}. Its owner can add a name.",
        )
    add_annotator(connection, study_id, name)
    return name


def _require_annotator(connection: Connection, study_id: str, key: str) -> None:
    query = select(annotators.c.name).where(annotators.c.study_id == study_id, annotators.c.name_key == key)
    if connection.scalar(query) is None:
        raise UsageError(f"{key!r} has not signed in to this study.", "Sign in first.")


def _require_seen(connection: Connection, new: Rating, seen: int) -> None:
    """Raise ConflictError if what the annotator said last of this is newer than what they saw, and another value."""
    where = (
        ratings.c.study_id == new.study_id, ratings.c.annotator_key == name_key(new.annotator),
        ratings.c.item_id == new.item_id, ratings.c.criterion == new.criterion,
    )  # fmt: skip
    query = select(ratings.c.id, ratings.c.value).where(*where).order_by(ratings.c.id.desc()).limit(1)
    last = connection.execute(query).first()
    if last is not None and last.id > seen and last.value != new.value:
        raise ConflictError(
            "You have rated this in another window meanwhile; nothing was overwritten.",
            "The form shows now what you said there. Choose again if that is not what you mean.",
        )


def add_annotator(connection: Connection, study_id: str, name: str) -> None:
    """Put somebody on a study's list, within a transaction."""
    row = {"study_id": study_id, "name_key": name_key(name), "name": name, "joined_at": datetime.now(UTC)}
    connection.execute(insert(annotators).values(row))


def _study(connection: Connection, row: Row[Any], reader: str) -> Study:
    """Return a study as its reader knows it: who else owns it is not told, for that lets visitors of a demo in."""
    query = select(study_turns.c.turn_id).where(study_turns.c.study_id == row.id).order_by(study_turns.c.position)
    return record(Study, row, turn_ids=tuple(connection.scalars(query)), owner=reader)
