"""SQLite's write-ahead log: switching to it, and emptying it, since what was deleted stands there until then."""

from __future__ import annotations

import logging
import sqlite3
import time

RETRY = 0.01  # seconds between two tries to switch to the write-ahead log
PATIENCE = 100  # milliseconds that emptying the log waits for whoever reads
_log = logging.getLogger(__name__)


def use(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch a database to its write-ahead log; SQLite does not wait by itself where another connection does the same.

    Raises sqlite3.OperationalError if the database is locked for longer than `busy_seconds`.
    """
    give_up = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(RETRY)
        else:
            return


def empty(connection: sqlite3.Connection) -> bool:
    """Write the log into the database and cut it off, outside of a transaction.

    False where that has to be tried again: somebody reads what was before or writes, or the disk is full.
    """
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {PATIENCE}").close()
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        _log.warning("what was deleted stays in a database's log for now: %s", error)
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}").close()
    return not busy
