"""Back to the tables of an earlier version and up again: the same tables on both databases, and what can be kept is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, inspect, text

from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.evaluation_types import Evaluation, IndexCost, RankedPlace, Ranking, ScoredItem, ScoredSystem
from pdfqa_core.json_codec import encode
from pdfqa_core.storage import Store
from pdfqa_core.storage.columns import metadata
from pdfqa_core.storage.database import MIGRATIONS
from pdfqa_core.types import Thumb
from tests.storage.conftest import NOW, document, pages_of, turn

PLACES = (RankedPlace("p1", 0.0, 2.0), RankedPlace("p2", 1.0, 1.0))
FOUND = {
    (system, item): Ranking(PLACES, ("p2",), (("p2", (1, 2), "d"),)) for system in ("a", "b") for item in ("q1", "q2")
}
SYSTEMS = tuple(
    ScoredSystem(
        name,
        tuple(
            ScoredItem(item, {"MRR": value, "HR@1": None}, {"question": "Who?", "rank": "2"}, 2, 0.5)
            for item in ("q1", "q2")
        ),
        f"print of {name}",
        '{"k": 5}',
        IndexCost(41, 0.5, 1000),
    )
    for name, value in (("a", 0.1 + 0.2), ("b", 1.0))
)
RETRIEVAL = Evaluation("retrieval", "gold", ("MRR", "HR@1"), SYSTEMS, {}, {"pdfqa": "0.1.0"}, made_at=NOW)
CONTENTS: dict[tuple[str, str], Any] = {
    ("documents", "state"): "ready", ("readings", "state"): "ready", ("turns", "thumb"): "",
    ("studies", "state"): "open", ("studies", "criteria"): (), ("turns", "answer"): "{}",
    ("evaluations", "content"): encode(RETRIEVAL), ("rankings", "content"): encode(FOUND["a", "q1"]),
}  # fmt: skip
VALUES: dict[type, Any] = {str: "x", int: 1, float: 0.5, bytes: b"x", bool: False}


def configured(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def a_row_in_every_table(connection: Connection) -> None:
    """Put one row into every table that there is now: what refers to another row finds it, since all are named "x"."""
    for table in metadata.sorted_tables:
        row = {}
        for column in table.columns:
            kind = getattr(column.type, "impl", column.type).python_type
            value = VALUES.get(kind, NOW)
            row[column.name] = CONTENTS.get((table.name, column.name), value)
        connection.execute(insert(table).values(row))


def shape(connection: Connection) -> dict[str, object]:
    """Return all that is to be known of the tables, by their names."""
    found = inspect(connection)
    keys, foreign, unique, indexes = (
        found.get_multi_pk_constraint(), found.get_multi_foreign_keys(), found.get_multi_unique_constraints(),
        found.get_multi_indexes(),
    )  # fmt: skip
    return {
        place[1]: (
            [(one["name"], str(one["type"]), one["nullable"], one["default"]) for one in columns],
            keys[place],
            *(sorted(map(str, kind.get(place, ()))) for kind in (foreign, unique, indexes)),
        )
        for place, columns in found.get_multi_columns().items()
        if place[1] != "alembic_version"
    }


def test_every_step_goes_back_with_rows_in_all_tables_and_up_again_to_the_same_tables(store: Store) -> None:
    steps = [step.revision for step in ScriptDirectory(str(MIGRATIONS)).walk_revisions()]
    with store.database.write() as connection:
        config = configured(connection)
        a_row_in_every_table(connection)
        shapes = []
        for earlier in (*steps[1:], "base"):
            shapes.append(shape(connection))
            command.downgrade(config, earlier)
        assert shape(connection) == {}
        for revision in reversed(steps):
            command.upgrade(config, revision)
            assert shape(connection) == shapes.pop(), revision
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        a_row_in_every_table(connection)  # nothing that was there is in the way


def test_documents_and_conversations_outlive_the_way_back_to_the_first_version(
    store: Store, tmp_path: Path, database_url: str
) -> None:
    known = document(b"%PDF one")
    store.files.store(b"%PDF one")
    pages = pages_of(known.id, "read", "directly")
    store.documents.add(known, "direct", pages)
    store.documents.add(known, "visual", pages_of(known.id, "seen", "elsewhere"))
    store.documents.choose("me", known.id, "direct")
    talk = store.conversations.create("me", "Talk")
    store.conversations.append_turn("me", talk.id, turn("t1", "first", "second"))
    store.conversations.set_thumb("me", "t1", Thumb.UP)
    before = store.conversations.get("me", talk.id)
    store.database.go_back("0001")
    with Store.open(store.workspace, database_url) as again:
        assert again.documents.pages("me", known.id, "direct") == pages
        assert [one.extractor for one in again.documents.readings("me")] == ["direct"]
        assert again.documents.list("me") == (replace(known, extractor="direct"),)
        kept = again.conversations.get("me", talk.id)
        assert kept == replace(before, turns=tuple(replace(one, thumb=Thumb.NONE) for one in before.turns))
        again.files.tidy(older_than_seconds=-60)
        assert again.files.path(known.id).exists()


def test_evaluations_outlive_the_way_back_through_runs(store: Store, database_url: str) -> None:
    answers = replace(
        RETRIEVAL, protocol="answers", measures=("answer_f1",),
        systems=(ScoredSystem("a", (ScoredItem("q1", {"answer_f1": 0.25}),), "print of a"),),
    )  # fmt: skip
    made = {
        one.id: one for one in (store.evaluations.add("me", RETRIEVAL, FOUND), store.evaluations.add("me", answers, {}))
    }
    store.database.go_back("0005")
    with Store.open(store.workspace, database_url) as again:
        assert {one.id for one in again.evaluations.list("me")} == set(made)
        for name, one in made.items():
            kept = again.evaluations.get("me", name)
            assert (kept.systems, kept.versions, kept.made_at) == (one.systems, one.versions, one.made_at)
            assert set(one.measures) <= set(kept.measures)
        (first,) = again.evaluations.list("me", "retrieval")
        assert again.evaluations.rankings("me", first.id) == FOUND


def test_what_cannot_be_gone_back_to_changes_nothing(store: Store) -> None:
    store.owners.set_preference("me", "theme", "dark")
    with pytest.raises(UsageError, match="no revision '0000'"):
        store.database.go_back("0000")
    with store.database.write() as connection:
        before = shape(connection)
        connection.execute(text("DROP TABLE summaries"))  # so that the way back ends in its middle
    with pytest.raises(StorageError, match="summaries"):
        store.database.go_back("0001")
    with store.database.read() as connection:
        assert shape(connection) == {name: one for name, one in before.items() if name != "summaries"}
    assert store.owners.preference("me", "theme") == "dark"
