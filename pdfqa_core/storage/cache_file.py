"""SQLite files apart from the workspace's database that hold no truth and may be deleted at any time."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pdfqa_core.storage import write_ahead
from pdfqa_core.storage.private import private_file

BUSY_SECONDS = 5.0  # that a file may be in another process's hands
_log = logging.getLogger(__name__)


def open_cache(path: Path, words: str, make: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """Open a file, which several threads may use one after the other; `make` makes its tables where they lack.

    A damaged file is begun anew. Where it cannot be written, everything is kept in memory only; `words` says in the log
    what that is.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        private_file(path)
        try:
            return _connected(str(path), make)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            _log.warning("%s is damaged and begun anew: %s", path, error)
            for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                file.unlink(missing_ok=True)
            return _connected(str(path), make)
    except (OSError, sqlite3.Error) as error:
        _log.warning("%s are kept in memory only, %s cannot be used: %s", words, path, error)
        return _connected(":memory:", make)


def in_memory(content: bytes) -> sqlite3.Connection:
    """Return an SQLite file opened in memory; one with a write-ahead log is taken for one without."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.deserialize(content[:18] + b"\x01\x01" + content[20:])  # the file format's write and read version
    return connection


def _connected(name: str, make: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    database = sqlite3.connect(name, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        with suppress(sqlite3.OperationalError):  # another process may be switching at this moment
            write_ahead.use(database, 0)
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA secure_delete = ON")
        with database:
            make(database)
    except sqlite3.Error:
        database.close()
        raise
    return database
