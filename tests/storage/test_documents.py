from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Store
from pdfqa_core.types import DocumentState
from tests.storage.conftest import NOW, document, pages_of

CONTENT = b"%PDF-1.7 one"


def add(store: Store, content: bytes = CONTENT, owner: str = "me", filename: str = "file.pdf") -> str:
    document_id = store.store_pdf(content)
    store.documents.add(document(content, owner, filename), "direct", pages_of(document_id, "one", "two"))
    return document_id


def test_document_and_pages_come_back_exactly(store: Store) -> None:
    document_id = add(store)
    assert store.documents.get("me", document_id) == document(CONTENT)
    assert store.documents.list("me") == (document(CONTENT),)
    assert store.documents.pages("me", document_id, "direct") == pages_of(document_id, "one", "two")
    assert store.documents.page("me", document_id, "direct", 2).text == "two"
    assert store.pdf_path(document_id).read_bytes() == CONTENT


def test_a_pdf_is_stored_from_a_path_under_its_hash(store: Store, tmp_path) -> None:
    source = tmp_path / "upload.pdf"
    source.write_bytes(CONTENT)
    assert store.store_pdf(source) == document(CONTENT).id
    assert [file.name for file in store.files.folder.iterdir()] == [f"{document(CONTENT).id}.pdf"]
    with pytest.raises(UsageError, match=r"missing\.pdf cannot be read"):
        store.store_pdf(tmp_path / "missing.pdf")


@pytest.mark.parametrize("wrong", ["../../etc/passwd", "", "A" * 64, "a" * 63])
def test_only_hashes_are_document_ids(store: Store, wrong: str) -> None:
    with pytest.raises(UsageError, match="is not a document id"):
        store.pdf_path(wrong)


def test_two_owners_of_one_file_do_not_see_each_other(store: Store) -> None:
    document_id = add(store, owner="me", filename="mine.pdf")
    add(store, owner="you", filename="yours.pdf")
    assert [d.filename for d in store.documents.list("me")] == ["mine.pdf"]
    store.documents.remove("me", document_id)
    assert store.documents.list("me") == ()
    assert store.pdf_path(document_id).exists()
    assert len(store.documents.pages("you", document_id, "direct")) == 2
    for attempt in (
        lambda: store.documents.get("me", document_id),
        lambda: store.documents.pages("me", document_id, "direct"),
        lambda: store.documents.page("me", document_id, "direct", 1),
        lambda: store.documents.put_pages("me", document_id, "direct", ()),
        lambda: store.documents.set_state("me", document_id, DocumentState.BROKEN),
        lambda: store.documents.remove("me", document_id),
        lambda: store.documents.extractors("me", document_id),
    ):
        with pytest.raises(UsageError, match="There is no document"):
            attempt()


def test_the_last_owner_takes_pages_and_file_away(store: Store) -> None:
    document_id = add(store)
    store.documents.remove("me", document_id)
    assert not store.pdf_path(document_id).exists()
    store.documents.add(document(CONTENT))
    assert store.documents.extractors("me", document_id) == ()


def test_a_removal_leaves_the_file_of_an_upload_under_way(store: Store) -> None:
    document_id = add(store, owner="me")
    store.store_pdf(CONTENT)  # "you" upload the same file; it is being read
    store.documents.remove("me", document_id)
    assert store.pdf_path(document_id).exists()
    store.documents.add(document(CONTENT, "you"))
    store.documents.remove("you", document_id)
    assert not store.pdf_path(document_id).exists()


def test_pages_are_kept_per_extractor_and_replaced_as_a_whole(store: Store) -> None:
    document_id = add(store)
    store.documents.put_pages("me", document_id, "visual", pages_of(document_id, "ocr"))
    store.documents.put_pages("me", document_id, "direct", pages_of(document_id, "new"))
    assert store.documents.extractors("me", document_id) == ("direct", "visual")
    assert [p.text for p in store.documents.pages("me", document_id, "direct")] == ["new"]
    assert [p.text for p in store.documents.pages("me", document_id, "visual")] == ["ocr"]
    with pytest.raises(UsageError, match="Page 2 was not read with 'direct'"):
        store.documents.page("me", document_id, "direct", 2)
    with pytest.raises(UsageError, match="name of the extractor"):
        store.documents.put_pages("me", document_id, "", pages_of(document_id, "x"))


def test_the_state_changes_and_the_rest_stays(store: Store) -> None:
    document_id = add(store)
    changed = store.documents.set_state(
        "me", document_id, DocumentState.PARTIAL, "Page 2 has no text.", pages_without_text=[2]
    )
    expected = replace(
        document(CONTENT), state=DocumentState.PARTIAL, reason="Page 2 has no text.", pages_without_text=(2,)
    )
    assert changed == expected == store.documents.get("me", document_id)


def test_adding_again_replaces(store: Store) -> None:
    add(store, filename="old.pdf")
    add(store, filename="new.pdf")
    assert [d.filename for d in store.documents.list("me")] == ["new.pdf"]


def test_moments_keep_their_instant_and_need_a_zone(store: Store) -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-7)))
    store.documents.add(replace(document(CONTENT), added_at=elsewhere))
    assert store.documents.list("me")[0].added_at == NOW
    with pytest.raises(UsageError, match="has no zone"):
        store.documents.add(replace(document(CONTENT), added_at=datetime(2026, 1, 1)))


def test_text_that_databases_refuse_is_replaced(store: Store) -> None:
    store.documents.add(replace(document(CONTENT), title="a\x00b\ud800c 😀", filename="x\udc80.pdf"))
    found = store.documents.list("me")[0]
    assert (found.title, found.filename) == ("a�b�c 😀", "x�.pdf")


def test_strays_of_interrupted_uploads_are_removed(store: Store) -> None:
    kept = add(store)
    stray = store.files.folder / f"{'0' * 64}.pdf"
    half = store.files.folder / "tmpabc.tmp"
    other = store.files.folder / "notes.txt"
    fresh = store.files.folder / f"{'1' * 64}.pdf"
    for file in (stray, half, other, fresh):
        file.write_bytes(b"x")
    old = time.time() - 7200
    for file in (stray, half, other, store.pdf_path(kept)):
        os.utime(file, (old, old))
    assert store.documents.remove_strays(older_than_seconds=3600) == 2
    assert sorted(f.name for f in store.files.folder.iterdir()) == sorted(
        [f"{kept}.pdf", "notes.txt", f"{'1' * 64}.pdf"]
    )
