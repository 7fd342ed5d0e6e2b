from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pdfqa_core.storage import Store
from pdfqa_core.storage.database import row_of
from pdfqa_core.storage.tables import UtcDateTime, adjudications, metadata, turns
from pdfqa_core.study_types import Adjudication
from tests.storage.conftest import NOW, document, pages_of, rating, rating_history, turn


def test_preferences_keep_their_type(store: Store) -> None:
    for value in ("dark", 3, 2.5, True, False, None, "é"):
        store.owners.set_preference("me", "theme", value)
        found = store.owners.preference("me", "theme", "default")
        assert (found, type(found)) == (value, type(value))
    assert store.owners.preference("you", "theme", "default") == "default"


def fill(store: Store, owner: str, content: bytes, added_at: datetime = NOW) -> str:
    """Give the owner one of everything; return the document's id."""
    document_id = store.files.store(content)
    store.documents.add(replace(document(content, owner), added_at=added_at), "direct", pages_of(document_id, "text"))
    conversation = store.conversations.create(owner)
    store.conversations.append_turn(owner, conversation.id, turn(f"t-{owner}", "text", document_id=document_id))
    study = store.studies.create(owner, "Study", [conversation.id])
    store.studies.sign_in(study.id, "Anna")
    store.studies.save_ratings([rating(study.id, f"t-{owner}")])
    store.owners.set_preference(owner, "theme", "dark")
    return document_id


def test_removing_an_owner_leaves_nothing_of_theirs_and_all_of_others(store: Store) -> None:
    mine, shared = fill(store, "me", b"mine"), b"shared"
    fill(store, "you", shared)
    both = store.files.store(shared)
    store.documents.add(document(shared, "me"), "direct", pages_of(both, "text"))
    store.owners.remove("me")
    assert store.documents.list("me") == store.conversations.list("me") == store.studies.list("me") == ()
    assert store.owners.preference("me", "theme") is None
    assert not store.files.path(mine).exists()
    assert store.files.path(both).exists()
    assert len(store.documents.pages("you", both, "direct")) == 1
    assert len(rating_history(store, store.studies.list("you")[0].id)) == 1


@pytest.mark.parametrize("change", ["a rating", "a sign-in", "an adjudication", "a turn"])
def test_a_study_that_is_being_rated_is_not_idle(store: Store, change: str) -> None:
    fill(store, "me", b"mine")
    study = store.studies.list("me")[0]
    week_ago, now = datetime.now(UTC) - timedelta(days=7), datetime.now(UTC)
    moments = [(table, column) for table in metadata.sorted_tables for column in table.c
               if isinstance(column.type, UtcDateTime)]  # fmt: skip
    with store.database.write() as connection:
        for table, column in moments:
            connection.execute(table.update().where(column.is_not(None)).values({column.name: week_ago}))
    match change:
        case "a rating":
            store.studies.save_ratings([replace(rating(study.id, "t-me"), rated_at=now)])
        case "a sign-in":
            store.studies.sign_in(study.id, "Ben")
        case "an adjudication":
            row = row_of(adjudications, Adjudication(study.id, "t-me", "answer", "1", "", now)) | {"turn_id": "t-me"}
            with store.database.write() as connection:
                connection.execute(adjudications.insert().values(row))
        case "a turn":
            with store.database.write() as connection:
                connection.execute(turns.update().values(created_at=now))
    assert store.owners.purge(24, keep=()) == ()
    assert [kept.id for kept in store.studies.list("me")] == [study.id]


def test_purge_takes_idle_owners_only(store: Store) -> None:
    yesterday = datetime.now(UTC) - timedelta(hours=30)
    for owner in ("idle", "local"):
        content = owner.encode()
        store.files.store(content)
        store.documents.add(replace(document(content, owner), added_at=yesterday))
    fill(store, "busy", b"busy", yesterday)
    assert store.owners.purge(24, keep=("local",)) == ("idle",)
    assert len(store.documents.list("local")) == len(store.documents.list("busy")) == 1
    assert not store.files.path(document(b"idle").id).exists()
    assert store.owners.purge(24, keep=("local",)) == ()
