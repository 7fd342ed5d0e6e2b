"""Collections of documents."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Store
from tests.storage.conftest import document, pages_of


def add(store: Store, content: bytes, owner: str = "me") -> str:
    document_id = store.files.store(content)
    store.documents.add(document(content, owner), "direct", pages_of(document_id, "text"))
    return document_id


def contents(store: Store, owner: str = "me") -> dict[str, tuple[str, ...]]:
    return {one.name: one.document_ids for one in store.collections.list(owner)}


def test_documents_are_put_in_and_taken_out(store: Store) -> None:
    one, two = add(store, b"one"), add(store, b"two")
    letters, bills = store.collections.make("me", " Letters\n of 2024 "), store.collections.make("me", "bills")
    store.collections.put("me", letters.id, [two, two])
    store.collections.put("me", letters.id, [one, two])
    store.collections.put("me", bills.id, [one])
    assert list(contents(store)) == ["bills", "Letters of 2024"]
    assert contents(store) == {"bills": (one,), "Letters of 2024": (two, one)}
    store.collections.take_out("me", letters.id, [two, "unknown"])
    assert contents(store)["Letters of 2024"] == (one,)
    assert len(store.documents.list("me")) == 2


def test_names_are_there_and_differ(store: Store) -> None:
    store.collections.make("me", "Letters")
    other = store.collections.make("me", "Other")
    for name, words in (("", "needs a name"), (" \n", "needs a name"), ("LETTERS", "already")):
        with pytest.raises(UsageError, match=words):
            store.collections.make("me", name)
        with pytest.raises(UsageError, match=words):
            store.collections.rename("me", other.id, name)
    store.collections.rename("me", other.id, "Others")
    assert set(contents(store)) == {"Letters", "Others"}
    assert store.collections.make("you", "Letters").name == "Letters"


def test_another_owners_collections_are_neither_seen_nor_changed(store: Store) -> None:
    shared = add(store, b"one")
    mine, theirs = store.collections.make("me", "Mine"), store.collections.make("you", "Theirs")
    store.collections.put("me", mine.id, [shared])
    assert contents(store, "you") == {"Theirs": ()}
    with pytest.raises(UsageError, match="no such document"):
        store.collections.put("you", theirs.id, [shared])
    for change in (
        lambda: store.collections.put("you", mine.id, []),
        lambda: store.collections.take_out("you", mine.id, [shared]),
        lambda: store.collections.rename("you", mine.id, "Taken"),
        lambda: store.collections.remove("you", mine.id),
    ):
        with pytest.raises(UsageError, match="no such collection"):
            change()
    assert contents(store) == {"Mine": (shared,)}


def test_a_removed_document_leaves_its_owners_collections_only(store: Store) -> None:
    shared, other = add(store, b"one"), add(store, b"two")
    add(store, b"one", "you")
    for owner in ("me", "you"):
        store.collections.put(owner, store.collections.make(owner, "Letters").id, [shared])
    store.collections.put("me", store.collections.list("me")[0].id, [other])
    store.documents.remove("me", shared)
    assert contents(store) == {"Letters": (other,)}
    assert contents(store, "you") == {"Letters": (shared,)}


def test_an_owner_who_goes_takes_collections_along(store: Store) -> None:
    store.collections.put("me", store.collections.make("me", "Letters").id, [add(store, b"one")])
    store.collections.make("you", "Letters")
    store.owners.remove("me")
    assert contents(store) == {}
    assert contents(store, "you") == {"Letters": ()}
