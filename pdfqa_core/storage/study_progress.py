"""How far the raters of a study are, counted in the database: without reading answers, quick for 10,000 items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Text, and_, func, not_, or_, select, type_coerce

from pdfqa_core.storage.database import Database
from pdfqa_core.storage.names import name_key
from pdfqa_core.storage.tables import adjudications, annotators, conversations, ratings, skips, study_turns, turns
from pdfqa_core.study_types import MISSED, ItemDetails, ItemRole
from pdfqa_core.types import Thumb

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
        where = (ratings.c.study_id == study_id, ratings.c.annotator_key == name_key(annotator),
                 ratings.c.criterion != MISSED, not_(ratings.c.draft))  # fmt: skip
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
