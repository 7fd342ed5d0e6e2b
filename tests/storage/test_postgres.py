"""What holds on PostgreSQL in particular: one writer among all programs, errors in words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, func, select, text

from pdfqa_core.errors import LockedError, StorageError
from pdfqa_core.storage import Store
from pdfqa_core.storage.database import WRITING
from tests.postgres import Postgres


@pytest.fixture
def empty(postgres: Postgres) -> Iterator[str]:
    with postgres.database() as url:
        yield url


def test_several_programs_open_a_new_database_at_once(empty: str, tmp_path: Path) -> None:
    opened: list[str] = []

    def open_store() -> None:
        with Store.open(tmp_path / "new", empty) as store:
            store.owners.set_preference(threading.current_thread().name, "theme", "dark")
            opened.append(threading.current_thread().name)

    threads = [threading.Thread(target=open_store) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4


def test_writers_wait_for_each_other_and_readers_see_one_moment(empty: str, tmp_path: Path) -> None:
    with Store.open(tmp_path / "one", empty, busy_seconds=0.2) as store:
        store.owners.set_preference("me", "theme", "before")
        other = create_engine(empty)
        with other.begin() as elsewhere:
            elsewhere.execute(select(func.pg_advisory_xact_lock(WRITING)))
            with pytest.raises(LockedError, match="Another program is writing"):
                store.owners.set_preference("me", "theme", "lost")
            assert store.owners.preference("me", "theme") == "before"
        other.dispose()
        with store.database.read() as connection:
            query = text("SELECT value FROM preferences")
            assert connection.execute(query).scalar() == '"before"'
            store.owners.set_preference("me", "theme", "after")
            assert connection.execute(query).scalar() == '"before"'
        assert store.owners.preference("me", "theme") == "after"


def test_a_server_that_is_not_there_is_said_without_the_password(tmp_path: Path) -> None:
    url = f"postgresql+psycopg://me:geheim@/pdfqa?host={tmp_path}"
    with pytest.raises(StorageError, match="does not answer") as caught:
        Store.open(tmp_path / "workspace", url)
    assert "geheim" not in str(caught.value)
    assert "PDFQA_DATABASE_URL" in caught.value.hint
