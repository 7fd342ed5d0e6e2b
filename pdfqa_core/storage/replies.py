"""Replies of language models by the hash of what was asked: a file of its own, which may be deleted at any time.

A cache and no truth: it lies apart from the workspace's database, a damaged file is begun anew, and where it cannot be
written the replies are kept in memory only. A reply stays as long as one of the runs that it was given to.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Collection, Iterator, MutableMapping
from pathlib import Path
from typing import Self

from pdfqa_core.storage import write_ahead
from pdfqa_core.storage.cache_file import in_memory, open_cache

FILENAME = "replies.sqlite"
MOST_REPLIES = 200_000  # the ones kept longest ago go when the file is opened
_log = logging.getLogger(__name__)


class StoredReplies(MutableMapping[str, str]):
    """Texts by key in the SQLite file at `path`; threads and processes may share it. Close it when done.

    `run` is the run that replies are given to from now on.
    """

    run = ""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = open_cache(path, "replies", _make)

    def __getitem__(self, key: str) -> str:
        with self._lock:
            row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        self._note(key)
        return str(row[0])

    def __setitem__(self, key: str, reply: str) -> None:
        clean = reply.encode("utf-8", "replace").decode("utf-8")
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR REPLACE INTO replies (key, reply) VALUES (?, ?)", (key, clean))
                self._database.execute("INSERT OR IGNORE INTO given VALUES (?, ?)", (key, self.run))
        except sqlite3.Error as error:  # a full disk, a locked file: the reply is asked for again next time
            _log.warning("a reply is not kept: %s", error)

    def _note(self, key: str) -> None:
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR IGNORE INTO given VALUES (?, ?)", (key, self.run))
        except sqlite3.Error as error:
            _log.warning("to which run a reply was given is not kept: %s", error)

    def keep_only(self, runs: Collection[str]) -> None:
        """Remove the replies that were given to none of these runs, from the file's log too where nobody reads it.

        What cannot be removed now is left to the next call.
        """
        try:
            with self._lock:
                with self._database:
                    there = {run for (run,) in self._database.execute("SELECT DISTINCT run FROM given")}
                    gone = [(run,) for run in there - set(runs)]
                    self._database.executemany("DELETE FROM given WHERE run = ?", gone)
                    self._database.execute("DELETE FROM replies WHERE key NOT IN (SELECT key FROM given)")
                write_ahead.empty(self._database)
        except sqlite3.Error as error:
            _log.warning("replies of runs that were removed stay for now: %s", error)

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

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return replies in memory that begin as a file was, see `copy`."""
        replies = cls.__new__(cls)
        replies._lock, replies._database = threading.Lock(), in_memory(content)
        return replies

    def copy(self) -> bytes:
        """Return the file as it is now."""
        with self._lock:
            return self._database.serialize()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _make(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT UNIQUE NOT NULL, reply TEXT NOT NULL)")
    database.execute(
        "CREATE TABLE IF NOT EXISTS given (key TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (key, run)) WITHOUT ROWID"
    )
    oldest = "SELECT rowid FROM replies ORDER BY rowid DESC LIMIT -1 OFFSET ?"
    database.execute(f"DELETE FROM replies WHERE rowid IN ({oldest})", (MOST_REPLIES,))  # noqa: S608
