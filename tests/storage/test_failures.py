"""Locked, full, read-only, damaged, or from a newer program: a clear error, and nothing confirmed is lost."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from pdfqa_core.errors import StorageError
from pdfqa_core.storage import DATABASE_FILE, Store
from pdfqa_core.storage.database import file_failures
from pdfqa_core.storage.tables import pages
from tests.storage.conftest import document, pages_of, rating, rating_history

Build = Callable[[], tuple[str, str]]


in_a_file = pytest.mark.sqlite_only("about the file of the database: its lock, its size, its rights, its settings")


def integrity(store: Store) -> str:
    with store.database.read() as connection:
        return str(connection.exec_driver_sql("PRAGMA integrity_check").scalar())


@in_a_file
def test_a_locked_database_says_so_and_works_afterwards(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    other = sqlite3.connect(store.workspace / DATABASE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="Another program is writing") as caught:
        store.studies.save_ratings([rating(study_id, "t1")])
    assert "try again" in caught.value.hint
    assert rating_history(store, study_id) == ()  # reading goes on meanwhile
    other.execute("ROLLBACK")
    other.close()
    store.studies.save_ratings([rating(study_id, "t1")])
    assert len(rating_history(store, study_id)) == 1


@in_a_file
def test_a_full_disk_keeps_what_was_confirmed(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    store.studies.save_ratings([rating(study_id, "t1")])
    with store.database.write() as connection:
        used = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {used}")
    content = b"%PDF large"
    texts = [os.urandom(5_000).hex() for _ in range(50)]
    with pytest.raises(StorageError, match="is full") as caught:
        store.documents.add(document(content), "direct", pages_of(document(content).id, *texts))
    assert "Free some space" in caught.value.hint
    assert store.documents.list("me") == ()
    assert len(rating_history(store, study_id)) == 1
    assert integrity(store) == "ok"
    with store.database.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    store.documents.add(document(content), "direct", pages_of(document(content).id, *texts))
    assert len(store.documents.pages("me", document(content).id, "direct")) == 50


@in_a_file
def test_a_read_only_database_can_be_read(store: Store, study_with_turn: Build) -> None:
    study_id, _ = study_with_turn()
    store.studies.save_ratings([rating(study_id, "t1")])
    url = f"sqlite:///file:{store.workspace / DATABASE_FILE}?mode=ro&uri=true"
    with Store.open(store.workspace, url) as read_only:
        with pytest.raises(StorageError, match="cannot be written") as caught:
            read_only.studies.save_ratings([rating(study_id, "t1")])
        assert "PDFQA_WORKSPACE" in caught.value.hint
        assert len(rating_history(read_only, study_id)) == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "is full"), (errno.EROFS, "cannot be written"), (errno.EACCES, "cannot be written")],
)
def test_failures_of_the_disk_are_told_apart(tmp_path: Path, code: int, words: str) -> None:
    with pytest.raises(StorageError, match=words), file_failures(tmp_path):
        raise OSError(code, os.strerror(code))


def test_something_else_than_a_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / DATABASE_FILE
    file.write_bytes(b"this is a text file, not a database" * 100)
    before = file.read_bytes()
    with pytest.raises(StorageError, match="damaged or is not a database"):
        Store.open(tmp_path)
    assert file.read_bytes() == before


def test_a_damaged_page_is_reported(store: Store) -> None:
    document_id = document(b"x").id
    store.documents.add(document(b"x"), "direct", pages_of(document_id, "one"))
    with store.database.write() as connection:
        connection.execute(update(pages).values(content=b"\1\2"))
    with pytest.raises(StorageError, match="damaged"):
        store.documents.pages("me", document_id, "direct")


def write_then_fail(store: Store) -> None:
    with store.database.write() as connection:
        connection.exec_driver_sql("INSERT INTO preferences VALUES ('me', 'theme', '1', '2026-01-01 00:00:00.000000')")
        raise RuntimeError


def test_an_interrupted_block_changes_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError):
        write_then_fail(store)
    assert store.owners.preference("me", "theme") is None


def test_readers_see_one_moment(store: Store) -> None:
    store.owners.set_preference("me", "theme", "before")
    query = "SELECT value FROM preferences"
    with store.database.read() as connection:
        assert connection.exec_driver_sql(query).scalar() == '"before"'
        store.owners.set_preference("me", "theme", "after")
        assert connection.exec_driver_sql(query).scalar() == '"before"'
    assert store.owners.preference("me", "theme") == "after"


@in_a_file
def test_sqlite_is_set_up_for_durability(store: Store) -> None:
    for block in (store.database.read, store.database.write):
        with block() as connection:
            values = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]
        assert values == ["wal", 2, 1, 200]
