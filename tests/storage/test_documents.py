from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from sqlalchemy import text

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Store
from pdfqa_core.types import DocumentState, Page
from tests.storage.conftest import NOW, document, pages_of

CONTENT = b"%PDF-1.7 one"


def add(store: Store, content: bytes = CONTENT, owner: str = "me", filename: str = "file.pdf") -> str:
    document_id = store.files.store(content)
    store.documents.add(document(content, owner, filename), "direct", pages_of(document_id, "one", "two"))
    return document_id


def test_document_and_pages_come_back_exactly(store: Store) -> None:
    document_id = add(store)
    assert store.documents.get("me", document_id) == document(CONTENT)
    assert store.documents.list("me") == (document(CONTENT),)
    assert store.documents.pages("me", document_id, "direct") == pages_of(document_id, "one", "two")
    assert store.documents.page("me", document_id, "direct", 2).text == "two"
    assert store.files.path(document_id).read_bytes() == CONTENT


def test_a_pdf_is_stored_from_a_path_under_its_hash(store: Store, tmp_path) -> None:
    source = tmp_path / "upload.pdf"
    source.write_bytes(CONTENT)
    assert store.files.store(source) == document(CONTENT).id
    assert [file.name for file in store.files.folder.iterdir()] == [f"{document(CONTENT).id}.pdf"]
    with pytest.raises(UsageError, match=r"missing\.pdf cannot be read"):
        store.files.store(tmp_path / "missing.pdf")


def test_only_hashes_are_document_ids(store: Store) -> None:
    for wrong in ("../../etc/passwd", "", "A" * 64, "a" * 63):
        with pytest.raises(UsageError, match="is not a document id"):
            store.files.path(wrong)


def test_two_owners_of_one_file_do_not_see_each_other(store: Store) -> None:
    document_id = add(store, owner="me", filename="mine.pdf")
    add(store, owner="you", filename="yours.pdf")
    assert [d.filename for d in store.documents.list("me")] == ["mine.pdf"]
    store.documents.remove("me", document_id)
    assert store.documents.list("me") == ()
    assert store.files.path(document_id).exists()
    assert len(store.documents.pages("you", document_id, "direct")) == 2
    for attempt in (
        lambda: store.documents.get("me", document_id),
        lambda: store.documents.pages("me", document_id, "direct"),
        lambda: store.documents.page("me", document_id, "direct", 1),
        lambda: store.documents.choose("me", document_id, "direct"),
        lambda: store.documents.remove("me", document_id),
        lambda: store.documents.readings("me", document_id),
    ):
        with pytest.raises(UsageError, match="There is no such document"):
            attempt()


def test_the_last_owner_takes_pages_and_file_away(store: Store) -> None:
    document_id = add(store)
    store.documents.remove("me", document_id)
    assert not store.files.path(document_id).exists()
    assert store.documents.readings("me") == ()
    store.documents.add(document(CONTENT))
    assert store.documents.pages("me", document_id, "direct") == ()


def test_a_removal_leaves_the_file_of_an_upload_under_way(store: Store) -> None:
    document_id = add(store, owner="me")
    store.files.store(CONTENT)  # "you" upload the same file; it is being read
    store.documents.remove("me", document_id)
    assert store.files.path(document_id).exists()
    store.documents.add(document(CONTENT, "you"))
    store.documents.remove("you", document_id)
    assert not store.files.path(document_id).exists()


def ocr(document_id: str, *confidences: float) -> tuple[Page, ...]:
    return tuple(
        Page(document_id, i, str(i), 595.0, 842.0, f"ocr {i}", source="ocr", confidence=confidence)
        for i, confidence in enumerate(confidences, start=1)
    )


def test_pages_are_kept_per_reading_and_replaced_as_a_whole(store: Store) -> None:
    document_id = add(store)
    store.documents.add(document(CONTENT), "visual", ocr(document_id, 0.5, 1.0))
    store.documents.add(replace(document(CONTENT), page_count=1), "direct", pages_of(document_id, "new"))
    assert [p.text for p in store.documents.pages("me", document_id, "direct")] == ["new"]
    assert [p.text for p in store.documents.pages("me", document_id, "visual")] == ["ocr 1", "ocr 2"]
    visual, direct = store.documents.readings("me", document_id)
    assert (visual.extractor, visual.page_count, visual.ocr_pages, visual.confidence) == ("visual", 2, 2, 0.75)
    assert (direct.extractor, direct.page_count, direct.ocr_pages, direct.confidence) == ("direct", 1, 0, None)
    assert store.documents.readings("you") == ()
    with pytest.raises(UsageError, match="Page 2 was not read with 'direct'"):
        store.documents.page("me", document_id, "direct", 2)


def test_the_last_usable_reading_counts_and_another_can_be_chosen(store: Store) -> None:
    document_id = add(store)
    store.documents.add(replace(document(CONTENT), page_count=1), "visual", ocr(document_id, 0.9))
    assert store.documents.get("me", document_id) == replace(document(CONTENT), page_count=1, extractor="visual")
    assert store.documents.choose("me", document_id, "direct") == document(CONTENT)
    assert store.documents.list("me") == (document(CONTENT),)
    with pytest.raises(UsageError, match="no text as read by 'pdfplumber'"):
        store.documents.choose("me", document_id, "pdfplumber")


def test_a_failed_reading_takes_nothing_away(store: Store) -> None:
    document_id = add(store)
    slow = replace(document(CONTENT), state=DocumentState.TOO_SLOW, reason="It took too long.", page_count=0)
    store.documents.add(slow, "visual")
    assert store.documents.get("me", document_id) == document(CONTENT)
    assert [(r.extractor, r.state, r.reason) for r in store.documents.readings("me")] == [
        ("direct", DocumentState.READY, ""), ("visual", DocumentState.TOO_SLOW, "It took too long."),
    ]  # fmt: skip
    store.documents.add(replace(document(CONTENT), page_count=1), "visual", ocr(document_id, 0.9))
    store.documents.add(slow, "visual")
    assert store.documents.get("me", document_id) == document(CONTENT)
    store.documents.add(slow, "direct")
    assert store.documents.get("me", document_id) == replace(slow, extractor="direct")
    assert store.documents.pages("me", document_id, "direct") == ()


def test_a_reading_that_only_a_recipe_wants_does_not_count_unless_it_is_the_first_usable_one(store: Store) -> None:
    document_id = add(store)
    store.documents.add(document(CONTENT), "visual", ocr(document_id, 0.9), counts=False)
    assert store.documents.get("me", document_id).extractor == "direct"
    assert len(store.documents.pages("me", document_id, "visual")) == 1
    scan = replace(document(b"scan"), state=DocumentState.NO_TEXT, reason="Pictures.")
    store.documents.add(scan, "direct")
    store.documents.add(document(b"scan"), "visual", ocr(scan.id, 0.9), counts=False)
    assert store.documents.get("me", scan.id) == replace(document(b"scan"), extractor="visual")


def test_a_reading_changes_its_version_with_its_text_for_every_owner(store: Store) -> None:
    def versions() -> set[str]:
        return {reading.version for owner in ("me", "you") for reading in store.documents.readings(owner)}

    document_id = add(store, owner="me")
    add(store, owner="you")
    (first,) = versions()
    add(store, owner="me")
    assert versions() == {first}
    store.documents.add(document(CONTENT, "you"), "direct", pages_of(document_id, "another text"))
    (second,) = versions()
    assert second != first


def test_who_could_not_open_a_file_sees_nothing_of_what_others_read_in_it(store: Store) -> None:
    document_id = add(store, owner="me")
    locked = replace(document(CONTENT, "you"), state=DocumentState.ENCRYPTED, reason="It needs a password.")
    store.documents.add(locked, "direct")
    assert store.documents.pages("you", document_id, "direct") == ()
    with pytest.raises(UsageError, match="was not read"):
        store.documents.page("you", document_id, "direct", 1)
    assert len(store.documents.pages("me", document_id, "direct")) == 2
    store.documents.add(document(CONTENT, "me"), "visual", ocr(document_id, 0.9))
    store.documents.remove("me", document_id)
    with store.database.read() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM pages")).scalar() == 0
    add(store, owner="you")
    assert store.documents.get("you", document_id).state is DocumentState.READY


def test_reading_again_keeps_a_title_but_not_one_that_is_the_name_of_the_file(store: Store) -> None:
    document_id = add(store)
    read = replace(document(CONTENT), title="A TlTLE 0F 0CR")
    store.documents.add(read, "visual", pages_of(document_id, "one", "two"))
    assert store.documents.get("me", document_id).title == "A title"
    store.documents.add(replace(document(b"%PDF-1.7 two"), title="file"))
    named = replace(document(b"%PDF-1.7 two"), title="A title read by OCR")
    store.documents.add(named, "visual", pages_of(named.id, "one"))
    assert store.documents.get("me", named.id).title == "A title read by OCR"


def test_moments_keep_their_instant_and_need_a_zone(store: Store) -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-7)))
    store.documents.add(replace(document(CONTENT), added_at=elsewhere))
    assert store.documents.list("me")[0].added_at == NOW
    with pytest.raises(UsageError, match="has no zone"):
        store.documents.add(replace(document(b"another"), added_at=datetime(2026, 1, 1)))


def test_text_that_databases_refuse_is_replaced(store: Store) -> None:
    store.documents.add(replace(document(CONTENT), title="a\x00b\ud800c 😀", filename="x\udc80.pdf"))
    found = store.documents.list("me")[0]
    assert (found.title, found.filename) == ("a�b�c 😀", "x�.pdf")
