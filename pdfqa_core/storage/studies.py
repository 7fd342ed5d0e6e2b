"""Studies: which turns are rated, by whom, with which result. Ratings are appended and never overwritten."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    type_coerce,
    update,
)

from pdfqa_core.errors import ConflictError, UsageError
from pdfqa_core.storage.conversations import live_turn_ids, put_turns, require_conversation, turn_of
from pdfqa_core.storage.database import Database, T, record, row_of
from pdfqa_core.storage.records import SEAT, Annotator, HeldConversation, KeptPicture, Seat, StudyCopy, StudyTurn
from pdfqa_core.storage.tables import (
    adjudications,
    annotators,
    checked_name,
    conversations,
    held_conversations,
    invitations,
    name_key,
    one_line,
    protocols,
    ratings,
    skips,
    studies,
    study_pictures,
    study_turns,
    turns,
)
from pdfqa_core.study_types import MISSED, Adjudication, ItemDetails, ItemRole, Rating, Skip, Study
from pdfqa_core.types import Thumb, Turn

# ----------------------------------------------------------------------------------------------------
# How far the raters of a study are, counted in the database: without reading answers, quick for 10,000 items.

COUNTS = and_(not_(ratings.c.draft), not_(ratings.c.revision))
HERE = annotators.c.removed_at.is_(None)


class StudyProgress:
    """Counts by a study's id, which comes from somebody who may see it. All methods raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def passages(self, study_id: str) -> dict[str, int]:
        """Return how many passages each item's answer was shown with, by turn id, in the study's own order."""
        query = (
            select(turns.c.id, turns.c.passages)
            .join(study_turns, study_turns.c.turn_id == turns.c.id)
            .where(study_turns.c.study_id == study_id)
            .order_by(study_turns.c.position)
        )
        with self._database.read() as connection:
            return {row.id: row.passages for row in connection.execute(query)}

    def planted(self, study_id: str) -> dict[str, ItemDetails]:
        """Return the training and check items, by turn id, in the study's own order."""
        words = type_coerce(study_turns.c.details, Text)
        named = or_(*(words.contains(f'"{role.value}"') for role in ItemRole if role))
        query = (
            select(study_turns.c.turn_id, study_turns.c.details)
            .where(study_turns.c.study_id == study_id, named)
            .order_by(study_turns.c.position)
        )
        with self._database.read() as connection:
            return {row.turn_id: row.details for row in connection.execute(query) if row.details.role}

    def rated(
        self, study_id: str, criteria: Collection[str], annotator: str | None = None
    ) -> Mapping[str, Mapping[str, tuple[int, float]]]:
        """Return how much of each item has a value, and the seconds it took, by annotator and turn id.

        Values under `criteria` that count are counted; of one `annotator`, drafts and revisions too.
        """
        where: list[Any] = [ratings.c.study_id == study_id, ratings.c.criterion.in_(criteria)]
        where.append(COUNTS if annotator is None else ratings.c.annotator_key == name_key(annotator))
        last = (
            select(func.max(ratings.c.id))
            .where(*where)
            .group_by(ratings.c.annotator_key, ratings.c.item_id, ratings.c.criterion)
        )
        query = (
            select(annotators.c.name, ratings.c.turn_id, func.count(), func.max(ratings.c.seconds))
            .join(annotators)
            .where(ratings.c.id.in_(last), HERE)
            .group_by(annotators.c.name, ratings.c.turn_id)
        )
        found: dict[str, dict[str, tuple[int, float]]] = {}
        with self._database.read() as connection:
            for name, turn_id, count, seconds in connection.execute(query):
                found.setdefault(name, {})[turn_id] = (count, seconds)
        return found

    def submitted_last(self, study_id: str, annotator: str) -> str:
        """Return the turn that an annotator submitted last; empty where there is none yet."""
        where = (
            ratings.c.study_id == study_id,
            ratings.c.annotator_key == name_key(annotator),
            ratings.c.criterion != MISSED,
            not_(ratings.c.draft),
        )
        query = select(ratings.c.turn_id).where(*where).order_by(ratings.c.id.desc()).limit(1)
        with self._database.read() as connection:
            return connection.scalar(query) or ""

    def stamp(self, study_id: str) -> tuple[Any, ...]:
        """Return what differs whenever something was rated, skipped or decided, or a title or a thumb was changed."""
        counted = (ratings.c.study_id == study_id, not_(ratings.c.draft))
        talks = (
            select(func.max(conversations.c.changed_at))
            .join(turns, turns.c.conversation_id == conversations.c.id)
            .join(study_turns, study_turns.c.turn_id == turns.c.id)
            .where(study_turns.c.study_id == study_id)
        )
        thumbs = (
            select(turns.c.id, turns.c.thumb)
            .join(study_turns, study_turns.c.turn_id == turns.c.id)
            .where(study_turns.c.study_id == study_id, turns.c.thumb != Thumb.NONE)
        )
        with self._database.read() as connection:
            return (
                frozenset((row.id, row.thumb) for row in connection.execute(thumbs)),
                connection.scalar(select(func.max(ratings.c.id)).where(*counted)),
                connection.scalar(select(func.max(skips.c.id)).where(skips.c.study_id == study_id)),
                connection.scalar(select(func.max(adjudications.c.id)).where(adjudications.c.study_id == study_id)),
                connection.scalar(talks),
            )


# ----------------------------------------------------------------------------------------------------
# What somebody who was invited may read: as an owner that begins with SEAT they see one study, and change nothing.

ONLY_OWNER = ("Only the owner of the study may do this.", "Ask them.")

OVER = ("You are let in no more: your invitation was withdrawn or renewed, or you came in with another browser.",
        "Ask the owner of the study for a new link.")  # fmt: skip


def find_seat(connection: Connection, owner: str) -> Seat | None:
    """Return what an invited person is let in to; None for any other owner, and where that is over."""
    if not owner.startswith(SEAT):
        return None
    query = (
        select(studies.c.owner, invitations.c.study_id, invitations.c.name, invitations.c.role)
        .join(studies, studies.c.id == invitations.c.study_id)
        .where(invitations.c.session_hash == owner.removeprefix(SEAT))
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else record(Seat, row)


def readable(owner: str) -> ColumnElement[bool]:
    """Return what is true of the studies that an owner may read: their own, or the one that a seat is in."""
    if not owner.startswith(SEAT):
        return studies.c.owner == owner
    taken = select(invitations.c.study_id).where(invitations.c.session_hash == owner.removeprefix(SEAT))
    return studies.c.id.in_(taken)


def refuse_seat(owner: str) -> None:
    """Raise UsageError if somebody invited asks for what only an owner may do."""
    if owner.startswith(SEAT):
        raise UsageError(*ONLY_OWNER)


# ----------------------------------------------------------------------------------------------------
# What goes along with a study from one workspace to another beside its ratings: a protocol's roster, kept pages.


def held_of(study_id: str) -> Select[Any]:
    """Return the query of what was held for a study, by evaluator, round and place."""
    who = (annotators.c.study_id == held_conversations.c.study_id) & (
        annotators.c.name_key == held_conversations.c.annotator_key
    )
    return (
        select(held_conversations, annotators.c.name.label("annotator"))
        .join(annotators, who)
        .where(held_conversations.c.study_id == study_id)
        .order_by(held_conversations.c.annotator_key, held_conversations.c.round, held_conversations.c.place)
    )


def with_roster_and_pages(connection: Connection, copy: StudyCopy) -> StudyCopy:
    """Return a copy with its protocol's plan, the conversations that were held to the end, and kept pages."""
    study_id = copy.study.id
    finished = held_of(study_id).where(held_conversations.c.finished_at.is_not(None))
    pictures = (
        select(study_pictures)
        .where(study_pictures.c.study_id == study_id)
        .order_by(study_pictures.c.document_id, study_pictures.c.page, study_pictures.c.passage_id)
    )
    return replace(
        copy,
        plan=connection.scalar(select(protocols.c.plan).where(protocols.c.study_id == study_id)) or "",
        held=tuple(record(HeldConversation, row, turn_ids=()) for row in connection.execute(finished)),
        pictures=tuple(record(KeptPicture, row) for row in connection.execute(pictures)),
    )


def put_roster_and_pages(connection: Connection, copy: StudyCopy) -> None:
    """Store what `with_roster_and_pages` added; the study, its people and its turns are there already."""
    study_id = copy.study.id
    rows: list[tuple[Any, list[dict[str, Any]]]] = [
        (protocols, [{"study_id": study_id, "plan": copy.plan}] if copy.plan else []),
        (
            held_conversations,
            [
                {**row_of(held_conversations, one), "study_id": study_id, "annotator_key": name_key(one.annotator)}
                for one in copy.held
            ],
        ),
        (study_pictures, [{**row_of(study_pictures, one), "study_id": study_id} for one in copy.pictures]),
    ]
    for table, found in rows:
        if found:
            connection.execute(insert(table), found)


# ----------------------------------------------------------------------------------------------------
# Studies: which turns are rated, by whom, with which result. Ratings are appended and never overwritten.


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
            study,
            self.turns(owner, study_id),
            people,
            self.ratings(study_id),
            self.adjudications(study_id),
            self.revisions(study_id),
            self.skips(study_id),
        )
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
                (
                    annotators,
                    [
                        {**row_of(annotators, one), "study_id": study.id, "name_key": name_key(one.name)}
                        for one in copy.annotators
                    ],
                ),
                (
                    ratings,
                    [
                        {**row_of(ratings, one), "annotator_key": name_key(one.annotator)}
                        for one in (*copy.ratings, *copy.revisions)
                    ],
                ),
                (skips, [{**row_of(skips, one), "annotator_key": name_key(one.annotator)} for one in copy.skips]),
                (
                    adjudications,
                    [
                        {**row_of(adjudications, one), "turn_id": one.item_id.partition("#")[0]}
                        for one in copy.adjudications
                    ],
                ),
            ):
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
            where = (
                turns.c.conversation_id == row.conversation_id,
                turns.c.number < row.number,
                turns.c.superseded_at.is_(None),
            )
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
                require_item(connection, study_id, turn_id)
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
        return self._given(Rating, ratings, ratings.c.study_id == study_id, ratings.c.revision, not_(ratings.c.draft))

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

    def _given(self, kind: type[T], table: Table, *which: ColumnElement[bool]) -> tuple[T, ...]:
        """Return what those have given who are in the study, oldest first."""
        given = select(table, annotators.c.name.label("annotator")).join(annotators).where(*which, HERE)
        with self._database.read() as connection:
            return tuple(record(kind, row) for row in connection.execute(given.order_by(table.c.id)))

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
        return self._given(Rating, ratings, ratings.c.id.in_(counting))

    def skip(self, new: Skip) -> None:
        """Note that an annotator cannot judge an item. Raises UsageError as `save_ratings`."""
        with self._database.write() as connection:
            require_item(connection, new.study_id, new.turn_id)
            _require_annotator(connection, new.study_id, name_key(new.annotator))
            connection.execute(insert(skips).values({**row_of(skips, new), "annotator_key": name_key(new.annotator)}))

    def skips(self, study_id: str) -> tuple[Skip, ...]:
        """Return what could not be judged, oldest first; of several by the same annotator the last of each item."""
        last = (
            select(func.max(skips.c.id))
            .where(skips.c.study_id == study_id)
            .group_by(skips.c.annotator_key, skips.c.turn_id)
        )
        return self._given(Skip, skips, skips.c.id.in_(last))

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


def require_item(connection: Connection, study_id: str, turn_id: str) -> None:
    """Raise UsageError where a turn is not part of a study."""
    query = select(study_turns.c.turn_id).where(study_turns.c.study_id == study_id, study_turns.c.turn_id == turn_id)
    if connection.scalar(query) is None:
        raise UsageError(f"The item {turn_id!r} is not part of this study.", "Open the study again.")


def _sign_in(connection: Connection, study_id: str, name: str) -> str:
    study = connection.execute(select(studies.c.name, studies.c.invited).where(studies.c.id == study_id)).first()
    if study is None:
        raise UsageError("There is no such study.", "It may have been removed.")
    people = select(annotators.c.name, annotators.c.removed_at)
    known = connection.execute(people.where(annotator_of(study_id, name))).first()
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
        ratings.c.study_id == new.study_id,
        ratings.c.annotator_key == name_key(new.annotator),
        ratings.c.item_id == new.item_id,
        ratings.c.criterion == new.criterion,
    )
    query = select(ratings.c.id, ratings.c.value).where(*where).order_by(ratings.c.id.desc()).limit(1)
    last = connection.execute(query).first()
    if last is not None and last.id > seen and last.value != new.value:
        raise ConflictError(
            "You have rated this in another window meanwhile; nothing was overwritten.",
            "The form shows now what you said there. Choose again if that is not what you mean.",
        )


def annotator_of(study_id: str, name: str) -> ColumnElement[bool]:
    """Return what is true of the annotator of this name, however it is spelled."""
    return and_(annotators.c.study_id == study_id, annotators.c.name_key == name_key(name))


def add_annotator(connection: Connection, study_id: str, name: str) -> None:
    """Put somebody on a study's list, within a transaction."""
    row = {"study_id": study_id, "name_key": name_key(name), "name": name, "joined_at": datetime.now(UTC)}
    connection.execute(insert(annotators).values(row))


def _study(connection: Connection, row: Row[Any], reader: str) -> Study:
    """Return a study as its reader knows it: who else owns it is not told, for that lets visitors of a demo in."""
    query = select(study_turns.c.turn_id).where(study_turns.c.study_id == row.id).order_by(study_turns.c.position)
    return record(Study, row, turn_ids=tuple(connection.scalars(query)), owner=reader)
