"""Who is invited to a study, by name, and which browser has taken up which invitation.

Tokens are never stored, only their hashes. A browser that came in reads one study as the owner `SEAT` + hash: see
`Studies`, which lets such an owner read that study and change nothing.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.records import LINK_USED, Invitation
from pdfqa_core.storage.studies import add_annotator, annotator_of
from pdfqa_core.storage.tables import annotators, checked_name, invitations, name_key, ratings
from pdfqa_core.study_types import Role


class Invitations:
    """The invitations to each study. Whose study it is has been checked by the caller. All methods raise StorageError.

    Methods that take a name raise UsageError where nobody of that name is invited.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def invite(self, study_id: str, name: str, role: Role, link_hash: str) -> Invitation:
        """Invite somebody; an annotator counts from now on as one whose ratings are waited for.

        Raises UsageError if the name is empty, too long, or invited already.
        """
        name = checked_name(name)
        invited = Invitation(uuid.uuid4().hex, study_id, name, role, link_hash, "", datetime.now(UTC))
        row = row_of(invitations, invited)
        with self._database.write() as connection:
            if _found(connection, study_id, name) is not None:
                raise UsageError(f"“{name}” is invited already.", "Renew the link of that invitation.")
            known = connection.scalar(select(annotators.c.name).where(annotator_of(study_id, name)))
            if known is not None and role is Role.VIEWER:
                raise UsageError(f"“{name}” rates in this study already, so they cannot be a viewer.")
            row["name"] = known or name
            connection.execute(insert(invitations).values(**row, name_key=name_key(name)))
            if known is not None:
                connection.execute(update(annotators).where(annotator_of(study_id, name)).values(removed_at=None))
            elif role is Role.ANNOTATOR:
                add_annotator(connection, study_id, name)
            return _require(connection, study_id, name)

    def list(self, study_id: str) -> tuple[Invitation, ...]:
        """Return the invitations to a study, the oldest first."""
        query = (
            select(invitations)
            .where(invitations.c.study_id == study_id)
            .order_by(invitations.c.invited_at, invitations.c.name_key)
        )
        with self._database.read() as connection:
            return tuple(record(Invitation, row) for row in connection.execute(query))

    def named(self, study_id: str, name: str) -> Invitation | None:
        """Return the invitation of somebody, None where nobody of that name is invited."""
        with self._database.read() as connection:
            return _found(connection, study_id, name)

    def studies_of(self, name: str) -> tuple[str, ...]:
        """Return the ids of the studies that somebody of this name is invited to, the newest invitation first."""
        query = select(invitations.c.study_id).where(invitations.c.name_key == name_key(name))
        with self._database.read() as connection:
            return tuple(connection.scalars(query.order_by(invitations.c.invited_at.desc(), invitations.c.study_id)))

    def renew(self, study_id: str, name: str, link_hash: str) -> Invitation:
        """Give an invitation another link; the old one, and the browser that used it, are let in no more."""
        return self._change(study_id, name, link_hash=link_hash, session_hash=None, used_at=None)

    def set_password(self, study_id: str, name: str, password_hash: str) -> Invitation:
        """Let somebody come in by a password, from any browser."""
        return self._change(study_id, name, password_hash=password_hash)

    def withdraw(self, study_id: str, name: str) -> None:
        """Take an invitation back. What they have rated stays; who has rated nothing is waited for no more."""
        theirs = (ratings.c.study_id == study_id, ratings.c.annotator_key == name_key(name))
        with self._database.write() as connection:
            found = _require(connection, study_id, name)
            connection.execute(delete(invitations).where(invitations.c.id == found.id))
            if connection.scalar(select(ratings.c.id).where(*theirs).limit(1)) is None:
                connection.execute(delete(annotators).where(annotator_of(study_id, name)))

    def take(self, invitation: Invitation, session_hash: str, *, by_link: bool) -> bool:
        """Let a browser in, and the one before it no more; return whether the invitation still stood.

        By its link that is so once: it is marked as used in the same step.
        """
        where = [invitations.c.id == invitation.id]
        values: dict[str, Any] = {"session_hash": session_hash, "used_at": datetime.now(UTC)}
        if by_link:
            where.append(invitations.c.link_hash == invitation.link_hash)
            values["link_hash"] = LINK_USED + invitation.link_hash
        else:
            where.append(invitations.c.password_hash == invitation.password_hash)
        with self._database.write() as connection:
            return connection.execute(update(invitations).where(*where).values(values)).rowcount == 1

    def _change(self, study_id: str, name: str, **values: Any) -> Invitation:
        with self._database.write() as connection:
            found = _require(connection, study_id, name)
            connection.execute(update(invitations).where(invitations.c.id == found.id).values(values))
            return _require(connection, study_id, name)


def _found(connection: Connection, study_id: str, name: str) -> Invitation | None:
    query = select(invitations).where(invitations.c.study_id == study_id, invitations.c.name_key == name_key(name))
    row = connection.execute(query).one_or_none()
    return None if row is None else record(Invitation, row)


def _require(connection: Connection, study_id: str, name: str) -> Invitation:
    found = _found(connection, study_id, name)
    if found is None:
        raise UsageError(f"“{name.strip()}” is not invited to this study.", "Open the list of people again.")
    return found
