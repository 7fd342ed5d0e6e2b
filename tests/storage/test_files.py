"""No original is lost: only what this database recorded is deleted, what it does not know is moved aside."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pdfqa_core.errors import StorageError
from pdfqa_core.storage import DATABASE_FILE, Store
from tests.storage.conftest import document, pages_of

DAY = 24 * 3600


def add(store: Store, content: bytes) -> str:
    document_id = store.files.store(content)
    store.documents.add(document(content), "direct", pages_of(document_id, "one"))
    return document_id


def make_old(folder: Path, days: float = 2) -> None:
    old = time.time() - days * DAY
    for file in folder.iterdir():
        os.utime(file, (old, old))


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} if folder.exists() else set()


@pytest.fixture
def moved_away(tmp_path: Path) -> Path:
    """A workspace whose database was moved away, as the message on a damaged one says, beside two old originals."""
    workspace = tmp_path / "workspace"
    with Store.open(workspace) as store:
        for content in (b"%PDF one", b"%PDF two"):
            add(store, content)
    make_old(workspace / "pdfs")
    database = workspace / DATABASE_FILE
    database.rename(tmp_path / "backup.sqlite")
    database.write_bytes(b"not a database at all " * 100)
    with pytest.raises(StorageError, match="Move it away"):
        Store.open(workspace)
    database.unlink()
    return workspace


def test_a_new_database_leaves_old_originals_where_they_are(moved_away: Path) -> None:
    before = names(moved_away / "pdfs")
    with Store.open(moved_away) as store:
        store.files.tidy()
        assert len(before) == 2
        assert (names(store.files.folder), names(store.files.unknown)) == (before, set())


def test_originals_of_another_database_are_moved_aside_and_come_back_with_it(
    moved_away: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = names(moved_away / "pdfs")
    with Store.open(moved_away) as store:
        new = add(store, b"%PDF three")
        store.files.tidy()
        assert (names(store.files.folder), names(store.files.unknown)) == ({f"{new}.pdf"}, before)
        assert f"2 files of {store.files.folder} belong to no document" in caplog.text
        assert str(store.files.unknown) in caplog.text
    (moved_away.parent / "backup.sqlite").rename(moved_away / DATABASE_FILE)
    with Store.open(moved_away) as store:
        store.files.tidy()
        assert (names(store.files.folder), names(store.files.unknown)) == ({*before, f"{new}.pdf"}, set())


def test_what_an_earlier_version_left_is_moved_aside_after_a_day(store: Store) -> None:
    kept = add(store, b"%PDF one")
    for name in ("tmpabc.tmp", f"{'0' * 64}.pdf", "notes.txt"):
        (store.files.folder / name).write_bytes(b"x")
    make_old(store.files.folder)
    (store.files.folder / f"{'1' * 64}.pdf").write_bytes(b"an upload of now")
    store.files.tidy()
    assert names(store.files.folder) == {f"{kept}.pdf", "notes.txt", f"{'1' * 64}.pdf"}
    assert names(store.files.unknown) == {"tmpabc.tmp", f"{'0' * 64}.pdf"}


def test_an_upload_without_a_document_goes_when_it_is_old_with_its_temporary_file(store: Store) -> None:
    document_id = store.files.store(b"%PDF one")
    (store.files.folder / f"{document_id}-7.tmp").write_bytes(b"half")
    store.files.tidy()
    assert len(names(store.files.folder)) == 2
    store.files.tidy(older_than_seconds=-60)
    assert names(store.files.folder) == set()


def test_a_stored_file_outlives_an_earlier_upload_that_was_interrupted(store: Store) -> None:
    store.files.store(b"%PDF one")
    document_id = add(store, b"%PDF one")
    store.files.tidy(older_than_seconds=-60)
    assert names(store.files.folder) == {f"{document_id}.pdf"}


def test_a_removal_that_was_interrupted_is_finished_at_the_next_start(store: Store) -> None:
    document_id = add(store, b"%PDF one")
    store.files.folder.rename(store.workspace / "elsewhere")
    store.files.folder.write_text("in the way")
    with pytest.raises(StorageError):
        store.documents.remove("me", document_id)
    store.files.folder.unlink()
    (store.workspace / "elsewhere").rename(store.files.folder)
    assert names(store.files.folder) == {f"{document_id}.pdf"}
    store.files.tidy()
    assert names(store.files.folder) == set()
