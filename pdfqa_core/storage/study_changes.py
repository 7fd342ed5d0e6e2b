"""What is changed about a study: what it asks, its state, its people, what was agreed on, and pages kept with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Text, delete, insert, select, type_coerce, update

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.conversations import turn_of
from pdfqa_core.storage.database import Database, record, row_of, upsert
from pdfqa_core.storage.records import KeptPicture
from pdfqa_core.storage.studies import (
    add_annotator,
    annotator_of,
    remove_study,
    require_free_name,
    require_item,
    require_study,
)
from pdfqa_core.storage.tables import (
    adjudications,
    annotators,
    checked_name,
    conversations,
    invitations,
    name_key,
    ratings,
    skips,
    studies,
    study_pictures,
    study_turns,
    turns,
)
from pdfqa_core.study_types import Adjudication, ItemDetails, Study, StudyState
from pdfqa_core.types import Turn

CHANGEABLE = ("name", "preset", "criteria", "guideline", "state", "invited", "revealed_at")


class StudyChanges:
    """Changes the studies of each owner. All methods raise StorageError, and UsageError where there is no such study.

    Methods without an `owner` take a study's id, which comes from one with.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def change(self, owner: str, study_id: str, **values: Any) -> Study:
        """Change fields of a study, those of CHANGEABLE, and return it. Raises UsageError if its new name is taken."""
        if unknown := set(values) - set(CHANGEABLE):
            raise UsageError(f"{min(unknown)!r} of a study does not change.")
        with self._database.write() as connection:
            require_study(connection, owner, study_id)
            if "name" in values:
                values["name"] = checked_name(values["name"])
                require_free_name(connection, owner, values["name"], study_id)
            connection.execute(update(studies).where(studies.c.id == study_id).values(values))
            return require_study(connection, owner, study_id)

    def describe(self, owner: str, study_id: str, turn_id: str, details: ItemDetails) -> None:
        """Change what belongs to an item beside its turn."""
        where = (study_turns.c.study_id == study_id, study_turns.c.turn_id == turn_id)
        with self._database.write() as connection:
            require_study(connection, owner, study_id)
            if not connection.execute(update(study_turns).where(*where).values(details=details)).rowcount:
                raise UsageError("There is no such item in this study.", "Open the study again.")

    def delete(self, owner: str, study_id: str) -> int:
        """Delete a study for good with its ratings; return how many those were. Its answers stay in the chat.

        Turns that nobody can see without it go too: those of conversations that were deleted, or came with it. Raises
        UsageError unless the study was marked as deleted before.
        """
        mine = select(study_turns.c.turn_id).where(study_turns.c.study_id == study_id)
        with self._database.write() as connection:
            study = require_study(connection, owner, study_id)
            if study.state is not StudyState.DELETED:
                raise UsageError(
                    f"“{study.name}” is {study.state}.", "Delete it first; then it can be deleted for good."
                )
            found = len(connection.scalars(select(ratings.c.id).where(ratings.c.study_id == study_id)).all())
            hidden = connection.scalars(
                select(conversations.c.id)
                .join(turns, turns.c.conversation_id == conversations.c.id)
                .where(turns.c.id.in_(mine), conversations.c.deleted_at.is_not(None))
                .distinct()
            ).all()
            remove_study(connection, study_id)
            kept = select(study_turns.c.turn_id)
            connection.execute(delete(turns).where(turns.c.conversation_id.in_(hidden), turns.c.id.not_in(kept)))
            left = select(turns.c.conversation_id)
            connection.execute(
                delete(conversations).where(conversations.c.id.in_(hidden), conversations.c.id.not_in(left))
            )
        return found

    # ------------------------------------------------------------ people

    def invite(self, owner: str, study_id: str, names: Sequence[str]) -> tuple[str, ...]:
        """Put people on a study's list and return those who are new; one who was taken out comes back."""
        added = []
        with self._database.write() as connection:
            require_study(connection, owner, study_id)
            for name in map(checked_name, names):
                known = update(annotators).where(annotator_of(study_id, name))
                if connection.execute(known.values(removed_at=None)).rowcount == 0:
                    add_annotator(connection, study_id, name)
                    added.append(name)
        return tuple(added)

    def rename(self, owner: str, study_id: str, name: str, new: str) -> str:
        """Give an annotator another name and return it; their ratings and their order of the items stay.

        Raises UsageError if somebody else has that name.
        """
        new = checked_name(new)
        with self._database.write() as connection:
            require_study(connection, owner, study_id)
            row = self._person(connection, study_id, name)
            values = {"name": new, "drawn_as": row.drawn_as or row.name}
            known = annotator_of(study_id, row.name)
            if name_key(new) == row.name_key:
                connection.execute(update(annotators).where(known).values(values))
            elif connection.scalar(select(annotators.c.name).where(annotator_of(study_id, new))) is not None:
                raise UsageError(f"Somebody else in this study is called {new!r}.", "Choose another name.")
            else:
                moved = {"study_id": study_id, "joined_at": row.joined_at, "removed_at": row.removed_at}
                connection.execute(insert(annotators).values({**moved, "name_key": name_key(new), **values}))
                for table in (ratings, skips):
                    theirs = (table.c.study_id == study_id, table.c.annotator_key == row.name_key)
                    connection.execute(update(table).where(*theirs).values(annotator_key=name_key(new)))
                connection.execute(delete(annotators).where(known))
            link = (invitations.c.study_id == study_id, invitations.c.name_key == row.name_key)
            connection.execute(update(invitations).where(*link).values(name=new, name_key=name_key(new)))
        return new

    def remove(self, owner: str, study_id: str, name: str) -> int:
        """Take somebody out of a study; return how many ratings do not count any more. They are kept.

        Who has rated nothing is forgotten.
        """
        with self._database.write() as connection:
            require_study(connection, owner, study_id)
            row = self._person(connection, study_id, name)
            known = annotator_of(study_id, row.name)
            counts = [
                len(
                    connection.scalars(
                        select(table.c.id).where(table.c.study_id == study_id, table.c.annotator_key == row.name_key)
                    ).all()
                )
                for table in (ratings, skips)
            ]
            link = (invitations.c.study_id == study_id, invitations.c.name_key == row.name_key)
            connection.execute(delete(invitations).where(*link))
            if any(counts):
                connection.execute(update(annotators).where(known).values(removed_at=datetime.now(UTC)))
            else:
                connection.execute(delete(annotators).where(known))
        return counts[0]

    @staticmethod
    def _person(connection: Any, study_id: str, name: str) -> Any:
        row = connection.execute(select(annotators).where(annotator_of(study_id, name))).first()
        if row is None:
            raise UsageError(f"Nobody called {name!r} is in this study.", "Open the study again.")
        return row

    # ------------------------------------------------------------ items

    def adjudicate(self, new: Adjudication) -> None:
        """Append an adjudication. Raises UsageError if its item is not part of the study."""
        turn_id = new.item_id.partition("#")[0]
        with self._database.write() as connection:
            require_item(connection, new.study_id, turn_id)
            connection.execute(insert(adjudications).values({**row_of(adjudications, new), "turn_id": turn_id}))

    def rated_pages(self, owner: str, document_id: str) -> tuple[tuple[str, Turn], ...]:
        """Return the items of the owner's studies that a document's passages were found for, with their studies."""
        query = (
            select(turns, study_turns.c.study_id)
            .join(study_turns, study_turns.c.turn_id == turns.c.id)
            .join(studies, studies.c.id == study_turns.c.study_id)
            .where(studies.c.owner == owner, turns.c.answer.contains(document_id, autoescape=True))
            .order_by(study_turns.c.study_id, study_turns.c.position)
        )
        with self._database.read() as connection:
            return tuple((row.study_id, turn_of(row)) for row in connection.execute(query))

    def gold_pages(self, owner: str, document_id: str) -> tuple[tuple[str, int], ...]:
        """Return the pages of a document in which gold answers of items stand, each with its study."""
        query = (
            select(study_turns.c.study_id, study_turns.c.details)
            .join(studies, studies.c.id == study_turns.c.study_id)
            .where(studies.c.owner == owner, type_coerce(study_turns.c.details, Text).contains(document_id))
        )
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        found = [(row.study_id, gold) for row in rows for gold in row.details.gold]
        return tuple(
            dict.fromkeys((study, one.page) for study, one in found if one.document_id == document_id and one.page)
        )

    def keep_pictures(self, found: Mapping[str, Sequence[KeptPicture]]) -> None:
        """Keep pictures of pages with studies, by study id."""
        with self._database.write() as connection:
            for study_id, pictures in found.items():
                for one in pictures:
                    upsert(connection, study_pictures, {**row_of(study_pictures, one), "study_id": study_id})

    def picture(self, study_id: str, document_id: str, passage_id: str, page: int = 0) -> KeptPicture | None:
        """Return the picture that was kept of a passage's page; None if there is none. `page` 0: its first."""
        where = [
            study_pictures.c.study_id == study_id,
            study_pictures.c.document_id == document_id,
            study_pictures.c.passage_id == passage_id,
        ]
        if page:
            where.append(study_pictures.c.page == page)
        with self._database.read() as connection:
            row = connection.execute(select(study_pictures).where(*where).order_by(study_pictures.c.page)).first()
        return record(KeptPicture, row) if row is not None else None
