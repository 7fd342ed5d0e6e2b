"""Replies of language models by the hash of what was asked: a file of its own, which may be deleted at any time.

A cache and no truth: it lies apart from the workspace's database, a damaged file is begun anew, and where it cannot be
written the replies are kept in memory only.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path

FILENAME = "replies.sqlite"
MOST_REPLIES = 200_000  # the ones kept longest ago go when the file is opened
_BUSY_SECONDS = 5.0
_log = logging.getLogger(__name__)


class StoredReplies(MutableMapping[str, str]):
    """Texts by key in the SQLite file at `path`; threads and processes may share it. Close it when done."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = _opened(path)

    def __getitem__(self, key: str) -> str:
        with self._lock:
            row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return str(row[0])

    def __setitem__(self, key: str, reply: str) -> None:
        clean = reply.encode("utf-8", "replace").decode("utf-8")
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR REPLACE INTO replies (key, reply) VALUES (?, ?)", (key, clean))
        except sqlite3.Error as error:  # a full disk, a locked file: the reply is asked for again next time
            _log.warning("a reply is not kept: %s", error)

    def __delitem__(self, key: str) -> None:
        with self._lock, self._database:
            if not self._database.execute("DELETE FROM replies WHERE key = ?", (key,)).rowcount:
                raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            rows = self._database.execute("SELECT key FROM replies ORDER BY rowid").fetchall()
        return (str(key) for (key,) in rows)

    def __len__(self) -> int:
        with self._lock:
            return int(self._database.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _connected(str(path))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            _log.warning("%s is damaged and begun anew: %s", path, error)
            for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                file.unlink(missing_ok=True)
            return _connected(str(path))
    except (OSError, sqlite3.Error) as error:
        _log.warning("replies are kept in memory only, %s cannot be used: %s", path, error)
        return _connected(":memory:")


def _connected(name: str) -> sqlite3.Connection:
    database = sqlite3.connect(name, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        with database:
            with suppress(sqlite3.OperationalError):  # another process may be switching at this moment
                database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT UNIQUE NOT NULL, reply TEXT NOT NULL)")
            oldest = "SELECT rowid FROM replies ORDER BY rowid DESC LIMIT -1 OFFSET ?"
            database.execute(f"DELETE FROM replies WHERE rowid IN ({oldest})", (MOST_REPLIES,))  # noqa: S608
    except sqlite3.Error:
        database.close()
        raise
    return database
