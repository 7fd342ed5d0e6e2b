"""Every workspace ends with the same tables, whichever version of the program made it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from pdfqa_core.errors import StorageError
from pdfqa_core.storage import DATABASE_FILE, Store
from pdfqa_core.storage.database import MIGRATIONS
from pdfqa_core.storage.tables import metadata
from tests.storage.conftest import turn

SQLITE_ONLY = True


def scripts() -> ScriptDirectory:
    return ScriptDirectory(str(MIGRATIONS))


def make(workspace: Path, revision: str, *statements: str) -> None:
    """Make a workspace as an earlier version of the program left it."""
    workspace.mkdir()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(f"sqlite:///{workspace / DATABASE_FILE}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def assert_newest(store: Store) -> None:
    with store.database.read() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() == scripts().get_current_head()
        assert compare_metadata(context, metadata) == []


def test_an_empty_folder_gets_the_newest_tables(store: Store) -> None:
    assert_newest(store)


def test_the_first_version_is_brought_up_to_date_and_keeps_its_data(tmp_path: Path) -> None:
    workspace = tmp_path / "old"
    make(
        workspace,
        "0001",
        "INSERT INTO conversations (id, owner, title, created_at, changed_at, document_ids) "
        "VALUES ('c1', 'me', 'Old', '2025-01-01 00:00:00.000000', '2025-01-01 00:00:00.000000', '[]')",
    )
    with Store.open(workspace) as store:
        assert_newest(store)
        assert [c.title for c in store.conversations.list("me")] == ["Old"]
        store.conversations.append_turn("me", "c1", turn("t1"))
        assert store.studies.create("me", "Study", ["c1"]).turn_ids == ("t1",)


def test_opening_again_changes_nothing(store: Store) -> None:
    store.owners.set_preference("me", "theme", "dark")
    with Store.open(store.workspace) as again:
        assert_newest(again)
        assert again.owners.preference("me", "theme") == "dark"


def test_a_newer_workspace_is_refused_and_left_alone(store: Store) -> None:
    with store.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StorageError, match="newer version of this program") as caught:
        Store.open(store.workspace)
    assert "Update the program" in caught.value.hint
    with store.database.read() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"


def test_a_migration_that_fails_leaves_the_old_tables(tmp_path: Path) -> None:
    workspace = tmp_path / "old"
    make(workspace, "0001", "CREATE TABLE ratings (x INTEGER)")  # in the way of the second step
    with pytest.raises(StorageError, match="ratings"):
        Store.open(workspace)
    engine = create_engine(f"sqlite:///{workspace / DATABASE_FILE}")
    with engine.connect() as connection:
        tables = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "0001"
    engine.dispose()
    assert "studies" not in tables


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


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=["sqlite", "postgresql"])
def test_the_tables_can_be_made_on_every_database(dialect: object) -> None:
    statements = [
        str(construct.compile(dialect=dialect))
        for table in metadata.sorted_tables
        for construct in (CreateTable(table), *map(CreateIndex, table.indexes))
    ]
    assert len(statements) == len(metadata.tables) + sum(len(table.indexes) for table in metadata.tables.values())
