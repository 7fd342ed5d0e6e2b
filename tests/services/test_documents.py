"""PDFs in and pages out."""

from __future__ import annotations

import os
import time

import pytest

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Document, DocumentState, Progress
from tests.extraction.hostile import endless_text
from tests.services.helpers import (
    BM25,
    SECRET,
    documents,
    only,
    only_id,
)
from tests.serving_fakes import PDF, FakeModels


def test_ingest_the_sample_and_a_made_pdf(open_services, letter):
    services = open_services(empty=True)
    events = list(services.documents.ingest(LOCAL_OWNER, [PDF, letter]))
    found = {d.filename: d for d in documents(events)}  # as they are finished
    assert {(d.filename, d.state, d.page_count) for d in found.values()} == {
        ("harbour-heat.pdf", DocumentState.READY, 8), ("letter.pdf", DocumentState.READY, 1),
    }  # fmt: skip
    steps = [event for event in events if isinstance(event, Progress)]
    assert Progress("Reading harbour-heat.pdf", 8, 8) in steps
    assert [step.phase for step in steps if step.phase.startswith("checking")] == [
        "checking harbour-heat.pdf", "checking letter.pdf",
    ]  # fmt: skip
    assert services.documents.has_sample(LOCAL_OWNER)
    assert "granite by the tonne" in services.documents.pages.view(LOCAL_OWNER, found["letter.pdf"].id, 1).page.text


def test_a_broken_file_between_two_good_ones(services, letter, make_pdf, tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nand nothing more")
    other = make_pdf(["Another page of text."], name="other.pdf")
    found = documents(services.documents.ingest(LOCAL_OWNER, [letter, broken, other]))
    assert {d.filename: d.state for d in found} == {
        "letter.pdf": DocumentState.READY, "broken.pdf": DocumentState.BROKEN, "other.pdf": DocumentState.READY,
    }  # fmt: skip
    assert "broken.pdf is damaged" in next(d.reason for d in found if not d.state.usable)
    assert set(services.index.passage_counts(LOCAL_OWNER, BM25)) == {only_id(services, n) for n in GOOD}


GOOD = ("harbour-heat.pdf", "letter.pdf", "other.pdf")


def test_an_encrypted_file_is_read_again_with_its_password_under_its_name(open_services, locked_pdf):
    services = open_services(empty=True)
    locked = documents(services.documents.ingest(LOCAL_OWNER, [locked_pdf]))[0]
    assert locked.state is DocumentState.ENCRYPTED
    assert services.index.passage_counts(LOCAL_OWNER, BM25) == {}
    source = services.documents.original(LOCAL_OWNER, locked.id)
    assert (source.filename, source.path.name) == ("locked.pdf", f"{locked.id}.pdf")
    wrong = documents(services.documents.ingest(LOCAL_OWNER, [source], password="guess", again=True))[0]
    assert (wrong.state, "does not open locked.pdf" in wrong.reason) == (DocumentState.ENCRYPTED, True)
    opened = documents(services.documents.ingest(LOCAL_OWNER, [source], password=SECRET, again=True))[0]
    assert (opened.id, opened.filename, opened.state) == (locked.id, "locked.pdf", DocumentState.READY)
    assert [d.filename for d in services.documents.kept.list(LOCAL_OWNER)] == ["locked.pdf"]
    assert services.documents.pages.view(LOCAL_OWNER, opened.id, 1).page.text == "Behind the lock lies granite."
    # Pages are kept once for all owners; who has the file but not the password still does not see them.
    documents(services.documents.ingest("stranger", [locked_pdf]))
    with pytest.raises(UsageError, match=r"locked\.pdf has no pages to show: encrypted"):
        services.documents.pages.view("stranger", opened.id, 1)
    assert services.index.passages("stranger", BM25) == []


def test_stop_within_a_file_keeps_the_files_before(open_services, letter, tmp_path):
    services, long = open_services(empty=True), tmp_path / "long.pdf"
    long.write_bytes(endless_text(300_000))
    events = services.documents.ingest(LOCAL_OWNER, [letter, long], task="page")
    while not isinstance(next(events), Document):
        pass
    services.tasks.stop("page")
    with pytest.raises(StoppedError, match=r"Reading long\.pdf was stopped"):
        list(events)
    assert only(services).filename == "letter.pdf"
    assert [path.stem for path in (services.workspace / "pdfs").iterdir()] == [only(services).id]
    documents(services.documents.ingest(LOCAL_OWNER, [letter], task="page"))  # the name is free again


def test_documents_by_name_title_or_id(services, letter):
    services_letter = documents(services.documents.ingest(LOCAL_OWNER, [letter]))[0]
    sample = only_id(services, "harbour-heat.pdf")
    title = services.documents.kept.get(LOCAL_OWNER, sample).title
    assert services.documents.document_ids(LOCAL_OWNER, [title, "letter.pdf", sample]) == (sample, services_letter.id)
    with pytest.raises(UsageError, match=r"no document 'other\.pdf'.*harbour-heat\.pdf, letter\.pdf"):
        services.documents.document_ids(LOCAL_OWNER, ["other.pdf"])


def test_pages_and_thumbnails_are_images(services):
    document = only(services)
    view = services.documents.pages.view(LOCAL_OWNER, document.id, 3, width=300)
    small = services.documents.pages.thumbnail(LOCAL_OWNER, document.id, 3)
    assert (view.page.number, view.document, view.message) == (3, document, "")
    assert view.mime.startswith("image/")
    assert 0 < len(small.data) < len(view.image)
    with pytest.raises(UsageError, match="Page 9 was not read"):
        services.documents.pages.view(LOCAL_OWNER, document.id, 9)


def test_opening_moves_files_aside_that_no_document_knows(open_services):
    folder = open_services().workspace / "pdfs"
    old, new = folder / f"{'a' * 64}.pdf", folder / f"{'b' * 64}.pdf"
    for path in (old, new):
        path.write_bytes(b"%PDF")
    os.utime(old, (time.time() - 100_000,) * 2)
    open_services()
    assert (old.exists(), new.exists()) == (False, True)
    assert (folder.parent / "unknown-pdfs" / old.name).exists()


def test_an_unknown_strategy_is_told_before_anything_is_made(tmp_path):
    with pytest.raises(UsageError, match="no retriever called 'magic'"):
        Services.open(tmp_path / "workspace", BM25.changed("retrieval", retriever="magic"), FakeModels())
    assert not (tmp_path / "workspace").exists()
