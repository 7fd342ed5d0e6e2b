"""A PostgreSQL server for the tests: started in a temporary folder, reached by a Unix socket, gone at the end.

Each test gets a database with what a template has. Copying all files of one takes longer than most tests, so a database
that a test is done with is given the template's rows again, and another name. Nothing is written through to the disk,
so only a crash of the machine could be told from a server that somebody relies on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, create_engine, text
from sqlalchemy.pool import NullPool

USER = "postgres"  # as whom the server runs where the tests run as root, which PostgreSQL refuses
INSTALL = "apt install postgresql"
SETTINGS = {
    "listen_addresses": "''", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
    "shared_buffers": "16MB", "autovacuum": "off", "max_connections": "60",
}  # fmt: skip
DEBIAN = Path("/usr/lib/postgresql")
SHAPE = """
SELECT string_agg(concat_ws(' ', relname, relkind, attname, atttypid, attnotnull), ',' ORDER BY c.oid, a.attnum)
FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'public'::regnamespace
"""  # of tables, indexes and columns; copies of a template keep their numbers


@dataclass
class Template:
    """What a database has that is to be copied: the shape of its tables, statements that make its rows, and copies."""

    shape: str
    rows: str
    spare: list[str] = field(default_factory=list)


class Postgres:
    """A running server, whose socket lies in `folder`; `dump` is the path of its `pg_dump`."""

    def __init__(self, folder: Path, dump: Path) -> None:
        self._folder, self._dump = folder, dump
        self._templates: dict[str, Template] = {}
        self._engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool)

    def url(self, database: str) -> str:
        """Return the address of a database."""
        made = URL.create("postgresql+psycopg", USER, database=database, query={"host": str(self._folder)})
        return made.render_as_string()

    def run(self, statement: str) -> None:
        """Run one statement outside of any transaction."""
        with self._engine.connect() as connection:
            connection.execute(text(statement))

    @contextmanager
    def database(self, template: str = "") -> Iterator[str]:
        """Give the address of a database with all that the template has, which nobody changes; empty without one."""
        if not template:
            name = self._new("template0")
        elif spare := self._template(template).spare:
            self.run(f"ALTER DATABASE {spare[-1]} RENAME TO {(name := _name())}")
            spare.pop()
        else:
            name = self._new(template)
        try:
            yield self.url(name)
        finally:
            if template and self._is_again(name, self._template(template)):
                self._template(template).spare.append(name)
            else:
                self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def _new(self, template: str) -> str:
        name = _name()
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def _connected(self, database: str) -> psycopg.Connection:
        return psycopg.connect(host=str(self._folder), dbname=database, user=USER)

    def _template(self, name: str) -> Template:
        if name not in self._templates:
            with self._connected(name) as connection:
                shape = _shape(connection)
            command = [self._dump, "--data-only", "--inserts", "-h", self._folder, "-U", USER, name]
            dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows = "".join(line for line in dumped.splitlines(keepends=True) if not line.startswith("\\"))
            self._templates[name] = Template(shape, rows)
        return self._templates[name]

    def _is_again(self, name: str, template: Template) -> bool:
        """Give a database the rows of its template; return False where a test has changed its tables.

        Whoever still uses it loses the connection, and does not find it again under its next name.
        """
        self.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        with self._connected(name) as connection:
            if _shape(connection) != template.shape:
                return False
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            emptied = "".join(f"DELETE FROM public.{table};" for (table,) in tables)
            connection.execute(f"SET session_replication_role = replica;{emptied}{template.rows}")
        return True


def _name() -> str:
    return f"test_{uuid.uuid4().hex}"


def _shape(connection: psycopg.Connection) -> str:
    ((found,),) = connection.execute(SHAPE).fetchall()
    return str(found)


@contextmanager
def serving() -> Iterator[Postgres]:
    """Start a server and give it. Skips where PostgreSQL is not installed, but for CI: there the tests fail."""
    programs = _programs()
    if programs is None:
        assert not os.environ.get("CI"), f"PostgreSQL is missing, and in CI nothing is left out: {INSTALL}"
        pytest.skip(f"PostgreSQL is not installed ({INSTALL})")
    folder = Path(tempfile.mkdtemp(prefix="pq-pg-"))  # short, since it is part of a socket's name
    as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, USER, USER)
    data, options = folder / "data", " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())

    def do(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs / program), *arguments]
        with (folder / "log").open("ab") as log:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, check=False)
        assert done.returncode == 0, (folder / "log").read_text(errors="replace")[-4000:]

    do("initdb", "-D", str(data), "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    do("pg_ctl", "-D", str(data), "-w", "-t", "120", "-o", f"{options} -c unix_socket_directories={folder}", "start")
    try:
        yield Postgres(folder, programs / "pg_dump")
    finally:
        do("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest version; None where it is not installed."""
    if os.name == "nt":
        return None
    versions = [one for one in DEBIAN.glob("*/bin") if (one / "initdb").exists()]
    if versions:
        return max(versions, key=lambda one: float(one.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None
