"""Ingestion on its own, with a store and a reader that is scripted; `test_services.py` has it with real PDFs."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from dataclasses import dataclass, field

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.ingest import Source, ingest, sha256
from pdfqa_core.storage import Store
from pdfqa_core.types import Block, Document, DocumentState, Page, Progress


@dataclass(frozen=True)
class Result:
    state: DocumentState = DocumentState.READY
    reason: str = ""
    title: str = "Its title"
    page_count: int = 1
    pages: tuple[Page, ...] = ()
    pages_without_text: tuple[int, ...] = ()


@dataclass
class Reader:
    """Reads a file as one page with its text; the names in `results` end otherwise."""

    results: dict[str, Result] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)

    def __call__(self, source, document_id, report):
        self.read.append(source.filename)
        report(Progress(f"Reading {source.filename}", 1, 1))
        text = source.path.read_text()
        page = Page(document_id, 1, "1", 595, 842, text, blocks=(Block(0, len(text)),))
        return self.results.get(source.filename, Result(pages=(page,)))


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "workspace") as opened:
        yield opened


@pytest.fixture
def run(store):
    """Ingest files for "me" and return all events."""

    def go(sources, read, **options):
        options = {"owner": "me", "extractor": "direct", "max_bytes": 1000, **options}
        return list(ingest(sources, store.documents, store.store_pdf, read, **options))

    return go


@pytest.fixture
def file(tmp_path):
    def write(text, name):
        path = tmp_path / name
        path.write_text(text)
        return Source(path, name)

    return write


def documents(events):
    return [event for event in events if isinstance(event, Document)]


def test_a_file_becomes_a_document_with_pages_and_its_original(run, store, file):
    source = file("one text", "one.pdf")
    events = run([source], Reader())
    assert [event.phase for event in events[:-1]] == ["checking one.pdf", "Reading one.pdf", "storing one.pdf"]
    document = events[-1]
    assert document.id == hashlib.sha256(b"one text").hexdigest() == sha256(source.path)
    assert (document.title, document.filename, document.page_count, document.size) == ("Its title", "one.pdf", 1, 8)
    assert store.documents.list("me") == (document,)
    assert store.documents.page("me", document.id, "direct", 1).text == "one text"
    assert store.pdf_path(document.id).read_bytes() == b"one text"


def test_a_file_without_a_title_is_called_by_its_name(run, file):
    assert (
        documents(run([file("x", "my report.pdf")], Reader({"my report.pdf": Result(title="")})))[0].title
        == "my report"
    )


def test_a_known_file_is_recognised_by_its_content_and_not_read_again(run, store, file):
    read = Reader()
    run([file("same", "first.pdf")], read)
    again = documents(run([file("same", "second.pdf")], read))[0]
    assert (again.filename, again.reason) == ("first.pdf", "second.pdf is already there as first.pdf.")
    assert read.read == ["first.pdf"]
    assert store.documents.list("me")[0].reason == ""


def test_the_same_file_twice_in_one_call_is_read_once(run, store, file):
    read = Reader()
    found = documents(run([file("same", "first.pdf"), file("same", "second.pdf")], read))
    assert [document.reason for document in found] == ["", "second.pdf is already there as first.pdf."]
    assert read.read == ["first.pdf"]


def test_a_known_file_is_read_again_when_asked(run, file):
    read = Reader()
    source = file("same", "first.pdf")
    run([source], read)
    assert documents(run([source], read, again=True))[0].reason == ""
    assert read.read == ["first.pdf", "first.pdf"]


def test_a_known_file_that_could_not_be_used_is_read_again(run, store, file):
    source = file("x", "locked.pdf")
    locked = Result(DocumentState.ENCRYPTED, "locked.pdf is protected by a password.", pages=())
    run([source], Reader({"locked.pdf": locked}))
    assert store.documents.list("me")[0].state is DocumentState.ENCRYPTED
    run([source], Reader())
    assert [document.state for document in store.documents.list("me")] == [DocumentState.READY]


def test_another_owner_gets_the_file_too(run, store, file):
    source, read = file("same", "first.pdf"), Reader()
    run([source], read)
    run([source], read, owner="you")
    assert [document.owner for document in store.documents.list("you")] == ["you"]


def test_a_bad_file_does_not_stop_the_others(run, store, file):
    broken = Result(DocumentState.BROKEN, "bad.pdf is damaged.", "bad", 0)
    sources = [file("a", "a.pdf"), file("b", "bad.pdf"), file("c", "c.pdf")]
    found = documents(run(sources, Reader({"bad.pdf": broken})))
    assert [(d.filename, d.state) for d in found] == [
        ("a.pdf", DocumentState.READY), ("bad.pdf", DocumentState.BROKEN), ("c.pdf", DocumentState.READY),
    ]  # fmt: skip
    assert found[1].reason == "bad.pdf is damaged."
    assert len(store.documents.list("me")) == 3


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_does_not_stop_the_others(run, store, file):
    closed = file("b", "closed.pdf")
    closed.path.chmod(0)
    check_unreadable(
        run, store, [file("a", "a.pdf"), closed, file("c", "c.pdf")], "closed.pdf cannot be read: Permission"
    )


def test_a_file_that_has_gone_does_not_stop_the_others(run, store, file):
    gone = file("b", "gone.pdf")
    gone.path.unlink()
    check_unreadable(
        run, store, [file("a", "a.pdf"), gone, file("c", "c.pdf")], "gone.pdf cannot be read: No such file"
    )


def check_unreadable(run, store, sources, reason):
    found = documents(run(sources, Reader()))
    assert [d.state for d in found] == [DocumentState.READY, DocumentState.BROKEN, DocumentState.READY]
    assert found[1].reason.startswith(reason)
    assert [d.filename for d in store.documents.list("me")] == ["a.pdf", "c.pdf"]


def test_a_file_over_the_limit_is_neither_read_nor_copied(run, store, file):
    read = Reader()
    document = documents(run([file("x" * 2_100_000, "big.pdf")], read, max_bytes=1_000_000))[0]
    assert document.state is DocumentState.TOO_LARGE
    assert document.reason == "big.pdf has 2.1 MB, the limit is 1 MB. Split the file."
    assert read.read == []
    assert not store.pdf_path(document.id).exists()
    assert store.documents.list("me") == (document,)


def test_stop_between_files_keeps_those_that_are_finished(store, file):
    stop, read = threading.Event(), Reader()
    found = []
    for event in ingest(
        [file("a", "a.pdf"), file("b", "b.pdf")], store.documents, store.store_pdf, read,
        owner="me", extractor="direct", max_bytes=1000, stop=stop,
    ):  # fmt: skip
        if isinstance(event, Document):
            found.append(event.filename)
            stop.set()
    assert (found, read.read) == (["a.pdf"], ["a.pdf"])
    assert [d.filename for d in store.documents.list("me")] == ["a.pdf"]


def test_stop_within_a_file_keeps_nothing_of_it(run, store, file):
    def read(source, document_id, report):
        raise StoppedError("Reading was stopped.")

    with pytest.raises(StoppedError):
        run([file("a", "a.pdf")], read)
    assert store.documents.list("me") == ()
    assert list((store.workspace / "pdfs").glob("*")) == []
