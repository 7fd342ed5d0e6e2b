"""Original PDFs in a folder, each under the SHA-256 of its content.

A file is recorded in the database as pending before it is written, and before it is deleted; the record goes with the
transaction that adds its document, or once it is deleted. Only files so recorded are ever deleted.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.programs import is_gone, this_program
from pdfqa_core.storage import write_ahead
from pdfqa_core.storage.database import Database, file_failures
from pdfqa_core.storage.tables import documents, pending_files
from pdfqa_core.whole_files import HELD, file_sha256, sync_folder

# ----------------------------------------------------------------------------------------------------
# The workspace is its user's alone: folders 0700, files 0600, where the system knows such rights.

# What the program makes in a workspace. Nothing else is touched: the folder may be somebody's home.
FILES = ("*.sqlite", "*.sqlite-wal", "*.sqlite-shm", "models.json", "pdfqa.toml")
FOLDERS = (
    "pdfs", "unknown-pdfs", "indexes", "visitors", "incoming", "exports", "models", "run_data", "training",
)  # fmt: skip
FOLDER, FILE = 0o700, 0o600
OTHERS = 0o077  # the rights of the group and of everybody
_log = logging.getLogger(__name__)


def make_private(workspace: Path) -> None:
    """Take the rights of everybody else away from a workspace and what the program has put there."""
    if os.name != "posix":
        return
    try:
        _restrict(workspace, FOLDER)
    except OSError as error:  # a mounted disk that knows no rights, or somebody else's folder
        _log.warning("others may be able to read %s: %s", workspace, error)
        return
    for path in _own(workspace):
        with suppress(OSError):  # gone meanwhile
            _restrict(path, FOLDER if path.is_dir() else FILE)


def private_file(path: Path) -> None:
    """Make an empty file that nobody else may read, if there is none. SQLite gives its log the same rights."""
    with suppress(FileExistsError):
        path.touch(mode=FILE, exist_ok=False)


def open_to_others(workspace: Path) -> tuple[Path, ...]:
    """Return what somebody else of this computer has any right to: the workspace, and what the program put there.

    Empty on systems without POSIX rights, and where nobody else has one.
    """
    if os.name != "posix":
        return ()
    found = []
    for path in (workspace, *_own(workspace)):
        with suppress(FileNotFoundError):  # gone meanwhile
            if path.stat().st_mode & OTHERS:
                found.append(path)
    return tuple(found)


def _own(workspace: Path) -> Iterator[Path]:
    for pattern in FILES:
        yield from workspace.glob(pattern)
    for name in FOLDERS:
        folder = workspace / name
        if folder.is_dir() and not folder.is_symlink():
            yield folder
            yield from (path for path in folder.rglob("*") if not path.is_symlink())


def _restrict(path: Path, mode: int) -> None:
    if path.stat().st_mode & 0o777 != mode:
        path.chmod(mode)


# ----------------------------------------------------------------------------------------------------
# SQLite files apart from the workspace's database that hold no truth and may be deleted at any time.

BUSY_SECONDS = 5.0  # that a file may be in another process's hands


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


# ----------------------------------------------------------------------------------------------------
# Original PDFs in a folder, each under the SHA-256 of its content.

ADDING, REMOVING = "adding", "removing"  # the first with the program that adds
SAFE_AGE = 24 * 3600.0  # seconds after which pending and unknown files count as left over
_ID = re.compile(r"[0-9a-f]{64}")
_OURS = re.compile(r"[0-9a-f]{64}\.pdf$|.*\.tmp$")


class PdfFiles:
    """The folder `pdfs/`. A file is there complete or not at all, whatever happens while it is written."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self.unknown = folder.with_name("unknown-pdfs")
        self._database = database

    def store(self, source: bytes | Path) -> str:
        """Store a PDF and return its document id (64 hex digits); it is pending until `settle`.

        Raises StorageError (full, read-only) and UsageError if `source` cannot be read.
        """
        with _open(source) as stream, file_failures(self.folder):
            document_id = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            self.folder.mkdir(parents=True, exist_ok=True)
            row = {"document_id": document_id, "change": f"{ADDING} {this_program()}", "since": datetime.now(UTC)}
            with self._database.write() as connection:
                connection.execute(insert(pending_files).values(row))
            self._write(stream, document_id)
            sync_folder(self.folder)
        return document_id

    def path(self, document_id: str) -> Path:
        """Return where the PDF lies (it may have been removed). Raises UsageError if this is no document id."""
        if not _ID.fullmatch(document_id):
            raise UsageError(f"{document_id!r} is not a document id.", "It has 64 hexadecimal digits.")
        return self.folder / f"{document_id}.pdf"

    def remove_pending(self) -> None:
        """Delete the files that are recorded as to be deleted, unless a document has them or an upload is under way.

        No upload of the same file can begin meanwhile, since it is recorded first. On Windows one that a program has
        open stays recorded, and goes with the next. Raises StorageError.
        """
        held = set()
        with file_failures(self.folder), self._database.write() as connection:
            removing, adding = _pending(connection, REMOVING), _pending(connection, ADDING)
            for document_id in removing - adding:
                for file in self.folder.glob(f"{document_id}-*.tmp"):
                    file.unlink(missing_ok=True)
            for document_id in removing - adding - _known(connection):
                try:
                    self.path(document_id).unlink(missing_ok=True)
                except PermissionError:
                    if not HELD:
                        raise
                    held.add(document_id)
            done = (pending_files.c.change == REMOVING, pending_files.c.document_id.not_in(held))
            connection.execute(delete(pending_files).where(*done))

    def tidy(self, older_than_seconds: float = SAFE_AGE) -> None:
        """Delete what interrupted uploads and removals left; move files that this database does not know aside.

        An upload is interrupted if the program that began it runs no more, or if it is old. Nothing is moved where the
        database has no documents: it may be a new one in the place of another. A file that was moved aside comes back
        when its document is known again. Raises StorageError.
        """
        limit = time.time() - older_than_seconds
        aged = pending_files.c.since < datetime.fromtimestamp(limit, UTC)
        with self._database.read() as connection:
            changes = set(connection.scalars(select(pending_files.c.change).distinct()))
            dead = [one for one in changes if is_gone(one.removeprefix(f"{ADDING} "))]
            left = (pending_files.c.change == REMOVING) | pending_files.c.change.in_(dead) | aged
            found = connection.scalar(select(func.count()).where(left))
        if found:
            with self._database.write() as connection:
                connection.execute(update(pending_files).where(left).values(change=REMOVING))
            self.remove_pending()
        with self._database.read() as connection:
            known, adding = _known(connection), _pending(connection, ADDING)
        if not known:
            return
        with file_failures(self.folder):
            _move((file for file in _files(self.unknown) if file.stem in known), self.folder)
            unknown = (file for file in _files(self.folder) if _OURS.match(file.name) and file.stem not in known)
            old = (file for file in unknown if file.stem[:64] not in adding and file.stat().st_mtime < limit)
            moved = _move(old, self.unknown)
        if moved:
            _log.warning("%d files of %s belong to no document: moved to %s", moved, self.folder, self.unknown)

    def _write(self, stream: BinaryIO, document_id: str) -> None:
        descriptor, name = tempfile.mkstemp(prefix=f"{document_id}-", suffix=".tmp", dir=self.folder)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w+b") as target:
                shutil.copyfileobj(stream, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
                target.seek(0)
                if hashlib.file_digest(target, "sha256").hexdigest() != document_id:
                    raise UsageError("The file changed while it was stored.", "Add it again.")
            self._put(temporary, document_id)
        finally:
            temporary.unlink(missing_ok=True)

    def _put(self, temporary: Path, document_id: str) -> None:
        """Give a complete file its name; on Windows one that is there already and open stays if it is right."""
        target = self.path(document_id)
        try:
            temporary.replace(target)
        except PermissionError:
            if not (HELD and target.is_file() and file_sha256(target) == document_id):
                raise


def settle(connection: Connection, document_id: str) -> None:
    """Record that the file of one upload belongs to a document now."""
    own = (pending_files.c.document_id == document_id, pending_files.c.change == f"{ADDING} {this_program()}")
    first = select(func.min(pending_files.c.id)).where(*own).scalar_subquery()
    connection.execute(delete(pending_files).where(pending_files.c.id == first))


def mark_removed(connection: Connection, document_ids: Iterable[str]) -> None:
    """Record that these files are to be deleted: `PdfFiles.remove_pending` does it after the transaction."""
    now = datetime.now(UTC)
    rows = [{"document_id": one, "change": REMOVING, "since": now} for one in document_ids]
    if rows:
        connection.execute(insert(pending_files), rows)


def _pending(connection: Connection, change: str) -> set[str]:
    return set(connection.scalars(select(pending_files.c.document_id).where(_is(change))))


def _is(change: str) -> ColumnElement[bool]:
    return pending_files.c.change.startswith(change, autoescape=True)


def _known(connection: Connection) -> set[str]:
    return set(connection.scalars(select(documents.c.id).distinct()))


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.is_file()] if folder.is_dir() else []


def _move(files: Iterable[Path], folder: Path) -> int:
    """Move files, but never onto another one; return how many went."""
    moved = 0
    for file in files:
        folder.mkdir(exist_ok=True)
        if not (folder / file.name).exists():
            file.rename(folder / file.name)
            moved += 1
    return moved


def _open(source: bytes | Path) -> io.BytesIO | io.BufferedReader:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    try:
        return source.open("rb")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.", "Check the path.") from error
