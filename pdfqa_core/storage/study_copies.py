"""What goes along with a study from one workspace to another beside its ratings: a protocol's roster, kept pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, insert, select

from pdfqa_core.storage.database import record, row_of
from pdfqa_core.storage.names import name_key
from pdfqa_core.storage.records import HeldConversation, KeptPicture, StudyCopy
from pdfqa_core.storage.tables import annotators, held_conversations, protocols, study_pictures


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
        (held_conversations, [
            {**row_of(held_conversations, one), "study_id": study_id, "annotator_key": name_key(one.annotator)}
            for one in copy.held
        ]),
        (study_pictures, [{**row_of(study_pictures, one), "study_id": study_id} for one in copy.pictures]),
    ]  # fmt: skip
    for table, found in rows:
        if found:
            connection.execute(insert(table), found)
