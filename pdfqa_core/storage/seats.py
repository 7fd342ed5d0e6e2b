"""What somebody who was invited may read: as an owner that begins with SEAT they see one study, and change nothing."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, select

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.records import SEAT, Seat
from pdfqa_core.storage.tables import invitations, studies
from pdfqa_core.study_types import Role

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
    return None if row is None else Seat(row.owner, row.study_id, row.name, Role(row.role))


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
