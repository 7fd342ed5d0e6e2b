"""Every workspace ends with the same tables, whichever version of the program made it."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from pdfqa_core.errors import StorageError
from pdfqa_core.json_codec import encode
from pdfqa_core.page_codec import encode_page
from pdfqa_core.storage import DATABASE_FILE, Store
from pdfqa_core.storage.columns import metadata
from pdfqa_core.storage.database import MIGRATIONS, Database
from pdfqa_core.study_types import ItemDetails
from pdfqa_core.types import Block, Box, DocumentState, Line, Page
from tests.storage.conftest import document, turn


@pytest.fixture(autouse=True)
def step_by_step(every_migration: Callable[[Database], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make new databases by the migrations, not as copies."""
    monkeypatch.setattr(Database, "_upgrade", every_migration)


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


def test_passages_of_earlier_answers_are_counted(tmp_path: Path) -> None:
    workspace, moment = tmp_path / "old", "'2025-01-01 00:00:00.000000'"
    answers = {"t1": encode(turn("t1", "One.", "Two.").answer), "t2": encode(turn("t2").answer), "t3": "{damaged"}
    make(
        workspace, "0014",
        "INSERT INTO conversations (id, owner, title, created_at, changed_at, document_ids) "
        f"VALUES ('c1', 'me', 'Old', {moment}, {moment}, '[]')",
    )  # fmt: skip
    engine = create_engine(f"sqlite:///{workspace / DATABASE_FILE}")
    with engine.begin() as connection:
        for number, (name, answer) in enumerate(answers.items()):
            row = {"id": name, "number": number, "answer": answer}
            connection.execute(text(
                "INSERT INTO turns (id, conversation_id, number, question, standalone_question, answer, filenames, "
                f"created_at) VALUES (:id, 'c1', :number, '', '', :answer, '{{}}', {moment})"
            ), row)  # fmt: skip
    engine.dispose()
    with Store.open(workspace) as store, store.database.read() as connection:
        rows = connection.execute(text("SELECT id, passages FROM turns ORDER BY id"))
        assert [tuple(row) for row in rows] == [("t1", 2), ("t2", 0), ("t3", 0)]


def test_documents_of_version_0_1_keep_their_pages_and_get_their_one_reading(tmp_path: Path) -> None:
    workspace, content = tmp_path / "old", b"%PDF-1.7 one"
    known = document(content)
    page = Page(known.id, 1, "i", 595.0, 842.0, "the text", (Line(0, 8, Box(1, 2, 3, 4)),), (Block(0, 8),))
    stored = json.loads(zlib.decompress(encode_page(page)))[:10]  # pages had no confidence then
    packed = zlib.compress(json.dumps(stored).encode()).hex()
    columns = "id, owner, title, filename, page_count, added_at, state, reason, size, pages_without_text"
    make(
        workspace,
        "0002",
        f"INSERT INTO documents ({columns}) VALUES ('{known.id}', 'me', 'A title', 'file.pdf', 2, "
        "'2026-03-01 12:30:15.123456', 'ready without some pages', 'Page 2 is empty.', 12, '[2]')",
        f"INSERT INTO documents ({columns}) VALUES ('{known.id}', 'you', 'A title', 'file.pdf', 0, "
        "'2026-03-01 12:30:15.123456', 'encrypted', 'It needs a password.', 12, '[]')",
        f"INSERT INTO pages (document_id, extractor, number, content) VALUES ('{known.id}', 'direct', 1, X'{packed}')",
    )
    with Store.open(workspace) as store:
        assert_newest(store)
        partial = replace(
            known, state=DocumentState.PARTIAL, reason="Page 2 is empty.", pages_without_text=(2,), extractor="direct"
        )
        assert store.documents.list("me") == (partial,)
        assert store.documents.pages("me", known.id, "direct") == (page,)
        (reading,) = store.documents.readings("me")
        assert (reading.extractor, reading.state, reading.read_at) == ("direct", DocumentState.PARTIAL, known.added_at)
        assert (reading.pages_without_text, reading.version, reading.ocr_pages) == ((2,), "", 0)
        assert [r.state for r in store.documents.readings("you")] == [DocumentState.ENCRYPTED]
        assert store.documents.pages("you", known.id, "direct") == ()


def test_a_newer_workspace_is_refused_and_left_alone(store: Store, database_url: str) -> None:
    with store.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StorageError, match="newer version of this program") as caught:
        Store.open(store.workspace, database_url)
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


STEP = "0011"  # what a study asks, drafts and revisions


def studies_before(workspace: Path) -> None:
    """Make a workspace of the step before, with a study that Ada has rated."""
    moment = "'2025-01-01 00:00:00.000000'"
    make(
        workspace,
        str(scripts().get_revision(STEP).down_revision),
        "INSERT INTO conversations (id, owner, title, created_at, changed_at, document_ids) "
        f"VALUES ('c1', 'me', 'Old', {moment}, {moment}, '[]')",
        "INSERT INTO turns (id, conversation_id, number, question, standalone_question, answer, filenames, created_at) "
        f"VALUES ('t1', 'c1', 1, 'Q?', 'Q?', '{{\"text\": \"A.\"}}', '{{}}', {moment})",
        f"INSERT INTO studies (id, owner, name, created_at, seed) VALUES ('s1', 'me', 'Pilot', {moment}, 3)",
        "INSERT INTO study_turns (study_id, turn_id, position) VALUES ('s1', 't1', 0)",
        f"INSERT INTO annotators (study_id, name_key, name, joined_at) VALUES ('s1', 'ada', 'Ada', {moment})",
        "INSERT INTO ratings (study_id, turn_id, item_id, annotator_key, criterion, value, comment, seconds, rated_at) "
        f"VALUES ('s1', 't1', 't1', 'ada', 'answer', '1', 'why', 2.5, {moment})",
    )


def test_ratings_of_earlier_versions_are_submitted_and_count(tmp_path: Path) -> None:
    studies_before(tmp_path / "old")
    with Store.open(tmp_path / "old") as store:
        assert_newest(store)
        (study,) = store.studies.list("me")
        assert (study.criteria, study.state, study.invited, study.revealed_at) == ((), "open", False, None)
        (kept,) = store.studies.ratings("s1")
        assert (kept.value, kept.comment, kept.draft, kept.revision) == ("1", "why", False, False)
        assert store.studies.turns("me", "s1")[0].details == ItemDetails()


def test_the_step_of_studies_goes_back_and_leaves_what_counts(tmp_path: Path) -> None:
    studies_before(tmp_path / "old")
    with Store.open(tmp_path / "old") as store:
        (kept,) = store.studies.ratings("s1")
        store.studies.save_ratings([replace(kept, value="0", draft=True), replace(kept, value="0", revision=True)])
        store.database.go_back(str(scripts().get_revision(STEP).down_revision))
    engine = create_engine(f"sqlite:///{tmp_path / 'old' / DATABASE_FILE}")
    with engine.begin() as connection:
        assert connection.execute(text("SELECT value FROM ratings")).scalars().all() == ["1"]
        assert "state" not in {row.name for row in connection.execute(text("PRAGMA table_info(studies)"))}
    engine.dispose()
    with Store.open(tmp_path / "old") as store:
        assert_newest(store)
        assert [one.value for one in store.studies.ratings("s1")] == ["1"]
