"""Work in the background that outlives the program: who does which piece, for how long, and what is left of it.

A piece is claimed by a worker (one running program) for some seconds and renewed while it works on it. If that program
dies, another one claims the piece. PostgreSQL skips what another program is claiming at this moment (SKIP LOCKED);
SQLite has one writer at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from pdfqa_core.errors import ConflictError
from pdfqa_core.storage.database import Database, work

LEASE = 30.0  # seconds for which a claim holds unless it is renewed
MOST_TRIES = 3  # programs that may die over a piece before it is given up


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work; `content` is what has to be known to do it, `tries` how many programs have begun it."""

    id: str
    kind: str
    owner: str
    content: str
    tries: int = 1


class Work:
    """The work of all owners. All methods raise StorageError.

    `gone` says of a worker whether it is certain that it runs no more; otherwise its claims end with their lease.
    """

    def __init__(self, database: Database, gone: Callable[[str], bool] = lambda _worker: False) -> None:
        self._database = database
        self._gone = gone

    def add(self, piece: Piece, worker: str, lease: float = LEASE) -> None:
        """Note a piece, claimed by the worker that begins with it at once. Raises ConflictError if it is there."""
        now = datetime.now(UTC)
        row = {
            "id": piece.id,
            "kind": piece.kind,
            "owner": piece.owner,
            "content": piece.content,
            "added_at": now,
            "worker": worker,
            "until": now + timedelta(seconds=lease),
            "tries": piece.tries,
        }
        with self._database.write(serial=False) as connection:
            try:
                with connection.begin_nested():
                    connection.execute(insert(work).values(row))
            except IntegrityError as error:
                raise ConflictError("This is under way already, perhaps in another program.", "Wait for it.") from error

    def claim(self, kinds: Collection[str], worker: str, lease: float = LEASE) -> Piece | None:
        """Return the oldest piece that nobody works on, which is the worker's from now on; None without one."""
        now = datetime.now(UTC)
        with self._database.write(serial=False) as connection:
            workers = connection.scalars(select(work.c.worker).where(work.c.worker != worker).distinct())
            dead = [one for one in workers if one and self._gone(one)]
            free = or_(work.c.worker == "", work.c.until < now, work.c.worker.in_(dead))
            query = select(work).where(work.c.kind.in_(list(kinds)), free).order_by(work.c.added_at, work.c.id)
            row = connection.execute(query.limit(1).with_for_update(skip_locked=True)).one_or_none()
            if row is None:
                return None
            tries = row.tries + (row.worker != "")  # who let go of it did not die over it
            change = {"worker": worker, "until": now + timedelta(seconds=lease), "tries": tries}
            connection.execute(update(work).where(work.c.id == row.id).values(change))
            return Piece(row.id, row.kind, row.owner, row.content, tries)

    def renew(self, worker: str, lease: float = LEASE) -> frozenset[str]:
        """Hold what the worker has claimed for longer; return the ids, in which what others took over is missing."""
        until = datetime.now(UTC) + timedelta(seconds=lease)
        with self._database.write(serial=False) as connection:
            connection.execute(update(work).where(work.c.worker == worker).values(until=until))
            return frozenset(connection.scalars(select(work.c.id).where(work.c.worker == worker)))

    def change(self, piece_id: str, worker: str, content: str) -> bool:
        """Note what is left of a piece; False if it is not the worker's any more."""
        return self._change(piece_id, worker, {"content": content})

    def release(self, piece_id: str, worker: str) -> bool:
        """Let another program go on with a piece; False if it is not the worker's any more."""
        return self._change(piece_id, worker, {"worker": "", "until": None})

    def finish(self, piece_id: str, worker: str) -> bool:
        """Remove a piece that is done; False if it is not the worker's any more."""
        with self._database.write(serial=False) as connection:
            gone = delete(work).where(work.c.id == piece_id, work.c.worker == worker)
            return connection.execute(gone).rowcount == 1

    def drop(self, piece_id: str) -> None:
        """Remove a piece, whoever works on it: its worker stops when it renews its claims."""
        with self._database.write(serial=False) as connection:
            connection.execute(delete(work).where(work.c.id == piece_id))

    def claimed(self, kind: str) -> frozenset[str]:
        """Return the ids of the pieces of a kind that somebody works on now."""
        claimed = (work.c.kind == kind, work.c.worker != "", work.c.until >= datetime.now(UTC))
        query = select(work.c.id, work.c.worker).where(*claimed)
        with self._database.read() as connection:
            return frozenset(row.id for row in connection.execute(query) if not self._gone(row.worker))

    def _change(self, piece_id: str, worker: str, values: Mapping[str, Any]) -> bool:
        with self._database.write(serial=False) as connection:
            mine = (work.c.id == piece_id, work.c.worker == worker)
            return connection.execute(update(work).where(*mine).values(values)).rowcount == 1
