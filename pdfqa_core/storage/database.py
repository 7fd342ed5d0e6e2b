"""Connections to SQLite or PostgreSQL: one writer behind a lock, readers from a pool, errors in words.

SQLite runs with a write-ahead log and synchronous=FULL: once a transaction's block has ended, its data survives a
crash of the program and of the machine. Readers never wait for the writer. What is deleted is overwritten with zeros,
and leaves the log as soon as nobody reads it any more.
PostgreSQL is held to the same: one writer at a time among all programs, readers that see one moment.
"""

from __future__ import annotations

import errno
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    Row,
    Table,
    create_engine,
    event,
    func,
    insert,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import (
    ArgumentError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.pool import QueuePool

from pdfqa_core.errors import LockedError, PdfQAError, StorageError, UsageError
from pdfqa_core.storage import (
    tables,  # noqa: F401 - they belong to the metadata
    write_ahead,
)
from pdfqa_core.storage.records import AccountRole
from pdfqa_core.storage.tables import CleanText, Kinds, UtcDateTime, metadata, text_column
from pdfqa_core.whole_files import BEFORE, FREE, is_full

# ----------------------------------------------------------------------------------------------------
# The tables of what several programs and people share on a server: work under way, accounts, tokens.

tokens = Table(
    "tokens",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    Column("name", CleanText, nullable=False, unique=True),
    Column("token_hash", CleanText, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
)

work = Table(
    "work",
    metadata,
    text_column("id", key=True),
    text_column("kind"),
    text_column("owner"),
    text_column("content"),
    Column("added_at", UtcDateTime, nullable=False),
    text_column("worker"),
    Column("until", UtcDateTime),
    Column("tries", Integer, nullable=False),
)

accounts = Table(
    "accounts",
    metadata,
    text_column("name_key", key=True),
    text_column("name"),
    Column("role", Kinds(AccountRole), nullable=False),
    text_column("password_hash"),
    Column("made_at", UtcDateTime, nullable=False),
)

account_invitations = Table(
    "account_invitations",
    metadata,
    text_column("name_key", key=True),
    text_column("name"),
    Column("role", Kinds(AccountRole), nullable=False),
    Column("token_hash", CleanText, unique=True, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    text_column("token_hash", key=True),
    Column("name_key", CleanText, ForeignKey("accounts.name_key", ondelete="CASCADE"), nullable=False),
    Column("used_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Index(None, "name_key"),
)


# ----------------------------------------------------------------------------------------------------
# Failures of the database and the disk in words that a user can act on.

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


# ----------------------------------------------------------------------------------------------------
# Connections to SQLite or PostgreSQL: one writer behind a lock, readers from a pool, errors in words.

MIGRATIONS = Path(__file__).parent / "migrations"
T = TypeVar("T")
WRITING = 0x7064667161  # the advisory lock of PostgreSQL that every writer of this program takes ("pdfqa")
IDLE = 60_000  # milliseconds after which PostgreSQL ends the transaction of a program that does nothing any more
_MIGRATING = threading.Lock()  # Alembic keeps the running migration in module variables


class Database:
    """An open database whose tables are those of the newest migration.

    `busy_seconds` is how long a write waits for another program's write. Raises StorageError if the database cannot
    be opened, or was written by a newer version of the program. `may_write` is asked before each write, and raises
    what is to be said to whoever may not.
    """

    may_write: Callable[[], None] | None = None

    def __init__(self, url: str | URL, *, busy_seconds: float = 10.0) -> None:
        self.url = _parse(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.where = (self.url.database or "") if self.is_sqlite else self.url.render_as_string(hide_password=True)
        self._lock = threading.RLock()
        self._deleted = False  # since the log was empty
        if self.is_sqlite:
            pool = {"pool_size": 1, "max_overflow": 0}
            self._writer = _sqlite_engine(self.url, busy_seconds, "BEGIN IMMEDIATE", pool)
            self._reader = _sqlite_engine(self.url, busy_seconds, "BEGIN", {"pool_size": 8})
            event.listen(self._writer, "after_cursor_execute", self._note_deletion)
        else:
            self._writer = _server_engine(self.url, busy_seconds)
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ")
        try:
            self._upgrade()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees the database as it was when the block began. Raises StorageError."""
        with database_failures(self.where), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, serial: bool = True) -> Iterator[Connection]:
        """Give the writing connection; what the block did is durable when it ends, or undone if it raises.

        No other program writes meanwhile, unless the block is not `serial`: PostgreSQL then locks single rows only.
        Raises StorageError (locked, full, read-only, damaged). Blocks must be short and may not be nested.
        """
        if self.may_write is not None:
            self.may_write()
        with database_failures(self.where), self._lock:
            with self._writer.begin() as connection:
                if serial and not self.is_sqlite:
                    connection.execute(select(func.pg_advisory_xact_lock(WRITING)))
                yield connection
            if self._deleted:
                self.empty_log()

    def empty_log(self) -> bool:
        """Have what was deleted leave SQLite's write-ahead log; False where somebody still needs it: try again later.

        It is tried after every transaction that deletes something. Raises StorageError.
        """
        if self.is_sqlite:
            with database_failures(self.where), self._lock, self._writer.connect() as connection:
                connection.rollback()  # a checkpoint cannot be part of a transaction
                self._deleted = not write_ahead.empty(connection.connection.driver_connection)  # type: ignore[arg-type]
        return not self._deleted

    def forget_read(self) -> None:
        """Close the connections that nobody uses: each keeps up to 2 MB of the pages that it read."""
        if self.is_sqlite:
            self._reader.dispose()

    def _note_deletion(self, _connection: Connection, cursor: Any, statement: str, *_others: Any) -> None:
        if statement.startswith("DELETE") and cursor.rowcount:
            self._deleted = True

    def close(self) -> None:
        """Close all connections."""
        self._writer.dispose()
        self._reader.dispose()

    def _upgrade(self) -> None:
        """Make the tables of a new database, and bring those of an earlier version up to date."""
        script = _steps()
        with self.read() as connection:
            current = MigrationContext.configure(connection).get_current_revision()
        head = str(script.get_current_head())
        if current == head:
            return
        if current is not None and current not in {step.revision for step in script.walk_revisions()}:
            early = current < head
            version = "an early" if early else "a newer"
            raise StorageError(
                f"The workspace {self.where} was written by {version} version of this program (format {current}).",
                "Bring it up to date (docs/server.md, “From version 0.1”), or add its PDFs to another workspace."
                if early
                else "Update the program, or choose another workspace.",
            )
        config = _migrations()
        with _MIGRATING, self.write() as connection:
            config.attributes["connection"] = connection
            context = MigrationContext.configure(connection)
            if context.get_current_revision() is None:  # no other program was quicker
                metadata.create_all(connection)
                context.stamp(script, head)
            else:
                command.upgrade(config, "head")


def _migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


@cache
def _steps() -> ScriptDirectory:
    """Return the migrations, read once."""
    return ScriptDirectory.from_config(_migrations())


def row_of(table: Table, value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are columns of the table."""
    return {column.name: getattr(value, column.name) for column in table.c if hasattr(value, column.name)}


def record(kind: type[T], row: Row[*tuple[Any, ...]], **others: Any) -> T:
    """Return the dataclass of this kind whose fields are the row's columns, but for the `others`."""
    return kind(**{name: getattr(row, name) for name in _names(kind) if name not in others}, **others)  # type: ignore[arg-type]


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def upsert(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Update the row with the primary key that `values` name, or insert it: the same statements on every database."""
    change = update(table).where(*(column == values[column.name] for column in table.primary_key)).values(values)
    if connection.execute(change).rowcount:
        return
    try:
        with connection.begin_nested():
            connection.execute(insert(table).values(values))
    except IntegrityError:
        if not connection.execute(change).rowcount:
            raise


def _parse(url: str | URL) -> URL:
    try:
        return make_url(url)
    except ArgumentError as error:
        raise UsageError(
            f"{str(url)!r} is not a database address.", "Write it like postgresql://user:password@host/name."
        ) from error


def _sqlite_engine(url: URL, busy_seconds: float, begin: str, pool: Mapping[str, Any]) -> Engine:
    engine = create_engine(url, connect_args={"check_same_thread": False}, poolclass=QueuePool, **pool)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where `begin` below says, not where sqlite3 guesses
        connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}").close()
        write_ahead.use(connection, busy_seconds)
        for pragma in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _server_engine(url: URL, busy_seconds: float) -> Engine:
    try:
        engine = create_engine(url, pool_pre_ping=True)
    except (ImportError, NoSuchModuleError) as error:
        raise StorageError(
            f"There is no driver for databases of the kind {url.drivername!r} ({error}).",
            "For PostgreSQL: pip install 'psycopg[binary]'.",
        ) from error

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {int(busy_seconds * 1000)}")
            cursor.execute(f"SET idle_in_transaction_session_timeout = {IDLE}")
        connection.commit()

    return engine
