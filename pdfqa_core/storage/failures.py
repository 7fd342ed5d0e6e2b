"""Failures of the database and the disk in words that a user can act on."""

from __future__ import annotations

import errno
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import OperationalError, SQLAlchemyError, StatementError

from pdfqa_core.errors import LockedError, PdfQAError, StorageError
from pdfqa_core.full_disk import BEFORE, FREE, is_full

PROBE = 64 << 10  # bytes; SQLite's index of its log has at least half as many

_LOCKED = (
    "Another program is writing to the workspace {where} and did not finish in time.",
    "Close the other program, or wait a moment, then try again. Nothing that was confirmed is lost.",
)
_READ_ONLY = (
    "The workspace {where} cannot be written.",
    "Give this user the right to write there, or choose another folder (--workspace or PDFQA_WORKSPACE).",
)
_FULL = ("The disk is full: {where} could not be written.", f"{BEFORE} {FREE}")
_DAMAGED = (
    "The database of the workspace {where} is damaged or is not a database of this program.",
    "Move it away and restore a backup, or begin with an empty folder.",
)
_NO_FILE = (
    "The database of the workspace {where} cannot be opened.",
    "Check that the folder exists and that this user may read and write it.",
)
_DISK = ("The disk with the workspace {where} reports an error.", "Check the disk, then try again.")

_SQLITE = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CANTOPEN: _NO_FILE,
    sqlite3.SQLITE_IOERR: _DISK,
}
_UNREACHABLE = (
    "The database server {where} does not answer.",
    "Check that it runs, and the address, name and password in PDFQA_DATABASE_URL.",
)
_SERVER = {  # SQLSTATE, or its first two letters
    "55P03": _LOCKED,
    "40P01": _LOCKED,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "53100": _FULL,
    "58": _DISK,
    "XX": _DAMAGED,
    "08": _UNREACHABLE,
    "57": _UNREACHABLE,
    "28": _UNREACHABLE,
    "3D": _UNREACHABLE,
}
_FILES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
}


@contextmanager
def database_failures(where: str) -> Iterator[None]:
    """Turn any error of the database in this block into a StorageError that names the workspace."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(error, StatementError) and isinstance(cause, PdfQAError):
            raise cause from None
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _SQLITE:
            perhaps_full = code & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_full(Path(where))
            raise _storage_error(_FULL if perhaps_full else _SQLITE[code & 0xFF], where) from error
        state = str(getattr(cause, "sqlstate", None) or "")
        words = _SERVER.get(state) or _SERVER.get(state[:2])
        if words is None and not state and isinstance(error, OperationalError) and code is None:
            words = _UNREACHABLE  # the server did not even say what is wrong
        if words is not None:
            raise _storage_error(words, where) from error
        raise StorageError(f"The database {where} refused: {str(cause).strip()}.", "Nothing was changed.") from error


@contextmanager
def file_failures(where: Path) -> Iterator[None]:
    """Turn any OSError in this block into a StorageError that names the folder."""
    try:
        yield
    except OSError as error:
        if error.errno in _FILES:
            raise _storage_error(_FILES[error.errno], str(where)) from error
        raise StorageError(f"{where} cannot be used: {error.strerror or error}.", "Choose another folder.") from error


def _is_full(database: Path) -> bool:
    """Whether nothing can be written beside a database: SQLite does not always say so itself (a quota, its index)."""
    try:
        with tempfile.TemporaryFile(dir=database.parent) as probe:
            probe.write(b"\0" * PROBE)
            probe.flush()
    except OSError as error:
        return is_full(error)
    return False


def _storage_error(words: tuple[str, str], where: str) -> StorageError:
    kind = LockedError if words is _LOCKED else StorageError
    return kind(words[0].format(where=where), words[1])
