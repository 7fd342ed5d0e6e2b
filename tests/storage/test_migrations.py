"""A database has the tables of this version, or is refused and left alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from pdfqa_core.errors import StorageError
from pdfqa_core.storage import Store
from pdfqa_core.storage.database import MIGRATIONS, Database
from pdfqa_core.storage.tables import metadata


@pytest.fixture(autouse=True)
def from_nothing(every_migration: Callable[[Database], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make new databases as the program does, not as copies."""
    monkeypatch.setattr(Database, "_upgrade", every_migration)


def test_a_new_database_has_the_newest_tables(store: Store, database_url: str) -> None:
    with store.database.read() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() == ScriptDirectory(str(MIGRATIONS)).get_current_head()
        assert compare_metadata(context, metadata) == []
    with Store.open(store.workspace, database_url) as again:  # changes nothing
        assert again.conversations.list("me") == ()


def test_a_workspace_of_a_newer_version_is_refused_and_left_alone(store: Store, database_url: str) -> None:
    with store.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StorageError, match="a newer version of this program") as caught:
        Store.open(store.workspace, database_url)
    assert "Update the program" in caught.value.hint
    with store.database.read() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"


def test_several_threads_open_a_new_workspace_at_once(tmp_path: Path) -> None:
    opened: list[str] = []

    def open_store() -> None:
        with Store.open(tmp_path / "new") as store:
            store.owners.set_preference(threading.current_thread().name, "theme", "dark")
            opened.append(threading.current_thread().name)

    threads = [threading.Thread(target=open_store) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
