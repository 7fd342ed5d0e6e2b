"""Connections to SQLite or PostgreSQL: one writer behind a lock, readers from a pool, errors in words.

SQLite runs with a write-ahead log and synchronous=FULL: once a transaction's block has ended, its data survives a
crash of the program and of the machine. Readers never wait for the writer. What is deleted is overwritten with zeros,
and leaves the log as soon as nobody reads it any more.
PostgreSQL is held to the same: one writer at a time among all programs, readers that see one moment.
"""

from __future__ import annotations

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
from sqlalchemy import URL, Connection, Engine, Row, Table, create_engine, event, func, insert, make_url, select, update
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.storage import (
    server_tables,  # noqa: F401 - its tables belong to the metadata
    tables,  # noqa: F401 - so do these
    write_ahead,
)
from pdfqa_core.storage.columns import metadata
from pdfqa_core.storage.failures import database_failures

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
                "Open it once with version 0.1 as it last was, or choose another workspace." if early
                else "Update the program, or choose another workspace.",
            )  # fmt: skip
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
