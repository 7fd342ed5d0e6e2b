"""A PostgreSQL server for the tests: started in a temporary folder, reached by a Unix socket, gone at the end.

Each test gets a database that is copied from a template, which costs some hundredths of a second. Nothing is written
through to the disk, so only a crash of the machine could be told from a server that somebody relies on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


class Postgres:
    """A running server, whose socket lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
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
    def database(self, template: str = "template0") -> Iterator[str]:
        """Give the address of a new database, a copy of the template; it is dropped at the end."""
        name = f"test_{uuid.uuid4().hex}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")


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
        yield Postgres(folder)
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
