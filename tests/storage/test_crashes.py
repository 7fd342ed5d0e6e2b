"""kill -9 while ratings or documents are written: nothing that was acknowledged is lost, nothing is half there."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pdfqa_core.errors import PdfQAError
from pdfqa_core.storage import DATABASE_FILE, Store
from tests.storage.conftest import rating, rating_history, turn
from tests.storage.writers import PAGES

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 2
pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is a Unix signal")


def kill_while_writing(kind: str, store: Store, study_id: str, first: int, count: int) -> list[str]:
    """Start a writer, kill it while it writes on after `count` acknowledgements; return what it acknowledged."""
    url = "" if store.database.is_sqlite else store.database.url.render_as_string(hide_password=False)
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.writers", kind, str(store.workspace), url, study_id, str(first)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    begun = [child.stdout.readline() for _ in range(count)]
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()
    assert child.wait() == -signal.SIGKILL
    return (b"".join(begun) + rest).decode().split()


def check_integrity(store: Store) -> None:
    """Look whether a file of SQLite is whole; a killed program cannot damage the files of a server."""
    if not store.database.is_sqlite:
        return
    with sqlite3.connect(store.workspace / DATABASE_FILE) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchone()[0]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    connection.close()
    assert (found, broken) == ("ok", [])


def test_acknowledged_ratings_survive(store: Store, study_with_turn: Callable[[], tuple[str, str]]) -> None:
    study_id, _ = study_with_turn()
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        first = len(rating_history(store, study_id)) // 2
        acknowledged += kill_while_writing("ratings", store, study_id, first, 3 + number)
        check_integrity(store)
        history = rating_history(store, study_id)
        values = {r.criterion: [h.value for h in history if h.criterion == r.criterion] for r in history}
        assert values["answer"] == values["passage"]  # a form is stored whole
        assert set(acknowledged) <= set(values["answer"])
        assert len(values["answer"]) - len(acknowledged) <= ROUNDS  # at most the one under way was unconfirmed
    assert len(acknowledged) > ROUNDS
    assert store.studies.ratings(study_id)[0].value == values["answer"][-1]


def test_acknowledged_documents_survive_with_all_pages(store: Store) -> None:
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        acknowledged += kill_while_writing("documents", store, "-", number * 100_000, 3 + number)
        check_integrity(store)
        known = [d.id for d in store.documents.list("me")]
        assert set(acknowledged) <= set(known)
        for document_id in known:
            content = store.files.path(document_id).read_bytes()
            assert hashlib.sha256(content).hexdigest() == document_id
            assert [p.number for p in store.documents.pages("me", document_id, "direct")] == list(range(1, PAGES + 1))
    assert len(acknowledged) >= ROUNDS
    store.files.tidy(older_than_seconds=-60)
    assert not store.files.unknown.exists()  # what was interrupted had been recorded
    assert {f.name for f in store.files.folder.iterdir()} == {f"{one}.pdf" for one in known}


@pytest.mark.sqlite_only("about files, not about the database")
def test_an_upload_that_was_killed_before_its_document_was_added_leaves_nothing(store: Store) -> None:
    stored = kill_while_writing("uploads", store, "-", 0, 3)
    assert all(store.files.path(one).exists() for one in stored)
    mine = store.files.store(b"an upload of a program that still runs")
    store.files.tidy()
    assert list(store.files.folder.iterdir()) == [store.files.path(mine)]


def test_threads_of_one_process_write_one_after_the_other(
    store: Store, study_with_turn: Callable[[], tuple[str, str]]
) -> None:
    study_id, conversation_id = study_with_turn()
    failures: list[PdfQAError] = []

    def write(annotator: str) -> None:
        try:
            for number in range(10):
                store.studies.save_ratings([rating(study_id, "t1", annotator=annotator, value=str(number))])
                store.conversations.append_turn("me", conversation_id, turn(f"{annotator}{number}"))
                store.conversations.get("me", conversation_id)
        except PdfQAError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("Anna", "Ben")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for name in ("Anna", "Ben"):
        values = [r.value for r in rating_history(store, study_id) if r.annotator == name]
        assert values == [str(i) for i in range(10)]
    numbers = [t.number for t in store.conversations.get("me", conversation_id).turns]
    assert numbers == list(range(1, 22))
