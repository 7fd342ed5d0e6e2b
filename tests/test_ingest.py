"""Ingestion on its own, with a store and a reader that is scripted; `tests/services` has it with real PDFs."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.extraction.process.worker import ReadResult
from pdfqa_core.ingest import Source, ingest, short_name
from pdfqa_core.storage import Store
from pdfqa_core.types import Block, Document, DocumentState, Page, Progress
from pdfqa_core.whole_files import file_sha256


def result(state=DocumentState.READY, reason="", title="Its title", page_count=1, pages=()):
    return ReadResult(state, reason, title, page_count, pages, authors="Its author")


@dataclass
class Reader:
    """Reads a file as one page with its text; the names in `results` end otherwise."""

    results: dict[str, ReadResult] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)

    def __call__(self, source, document_id, unfinished, report):
        self.read.append(source.filename)
        report(Progress(f"Reading {source.filename}", 1, 1))
        text = source.path.read_text()
        page = Page(document_id, 1, "1", 595, 842, text, blocks=(Block(0, len(text)),))
        return self.results.get(source.filename, result(pages=(page,)))


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "workspace") as opened:
        yield opened


@pytest.fixture
def run(store):
    """Ingest files for "me" and return all events."""

    def go(sources, read, **options):
        options = {"owner": "me", "extractor": "direct", "max_bytes": 1000, **options}
        return list(ingest(sources, store.documents, store.files.store, read, **options))

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
    assert document.id == hashlib.sha256(b"one text").hexdigest() == file_sha256(source.path)
    assert (document.title, document.filename, document.page_count, document.size) == ("Its title", "one.pdf", 1, 8)
    assert document.authors == "Its author"
    assert store.documents.list("me") == (document,)
    assert store.documents.page("me", document.id, "direct", 1).text == "one text"
    assert store.files.path(document.id).read_bytes() == b"one text"


def test_a_known_file_is_recognised_by_its_content_and_not_read_again(run, store, file):
    read = Reader()
    run([file("same", "first.pdf")], read)
    again = documents(run([file("same", "second.pdf")], read))[0]
    assert (again.filename, again.reason) == ("first.pdf", "second.pdf is already there as first.pdf.")
    assert read.read == ["first.pdf"]
    (kept,) = store.documents.list("me")
    assert (kept.filename, kept.other_names, kept.reason) == ("first.pdf", ("second.pdf",), "")
    run([file("same", "third.pdf")], read, again=True)
    (kept,) = store.documents.list("me")
    assert (kept.filename, kept.other_names) == ("third.pdf", ("first.pdf", "second.pdf"))


def test_a_known_file_is_read_with_an_extractor_that_has_not_been_tried_on_it(run, store, file):
    read = Reader()
    sources = [file("same", "first.pdf"), file("same", "second.pdf")]
    known = documents(run(sources[:1], read))[0]
    found = documents(run(sources, read, extractor="visual", tried=()))
    assert [(d.extractor, d.reason) for d in found] == [
        ("visual", ""), ("visual", "second.pdf is already there as first.pdf."),
    ]  # fmt: skip
    assert store.documents.list("me")[0].extractor == "visual"
    assert documents(run(sources[:1], read, extractor="visual", tried=[known.id]))[0].reason
    assert read.read == ["first.pdf", "first.pdf"]


def test_a_known_file_that_could_not_be_used_is_read_again(run, store, file):
    source = file("x", "locked.pdf")
    locked = result(DocumentState.ENCRYPTED, "locked.pdf is protected by a password.", pages=())
    run([source], Reader({"locked.pdf": locked}))
    assert store.documents.list("me")[0].state is DocumentState.ENCRYPTED
    run([source], Reader())
    assert [document.state for document in store.documents.list("me")] == [DocumentState.READY]


def test_a_file_that_has_gone_does_not_stop_the_others(run, store, file):
    gone = file("b", "gone.pdf")
    gone.path.unlink()
    found = documents(run([file("a", "a.pdf"), gone, file("c", "c.pdf")], Reader()))
    assert [d.state for d in found] == [DocumentState.READY, DocumentState.BROKEN, DocumentState.READY]
    assert found[1].reason.startswith("gone.pdf cannot be read: No such file")
    assert [d.filename for d in store.documents.list("me")] == ["a.pdf", "c.pdf"]


def test_a_file_over_the_limit_is_neither_read_nor_copied(run, store, file):
    read = Reader()
    document = documents(run([file("x" * 2_100_000, "big.pdf")], read, max_bytes=1_000_000))[0]
    assert document.state is DocumentState.TOO_LARGE
    assert document.reason == "big.pdf has 2.1 MB, the limit is 1 MB. Split the file."
    assert read.read == []
    assert not store.files.path(document.id).exists()
    assert store.documents.list("me") == (document,)


# ------------------------------------------------------------------ side by side


class Together:
    """A reader whose files wait until so many of them are read at the same time."""

    def __init__(self, count):
        self.barrier = threading.Barrier(count, timeout=10)
        self.unfinished = []

    def __call__(self, source, document_id, unfinished, report):
        self.unfinished.append(unfinished)
        report(Progress(f"Reading {source.filename}", 1, 2))
        self.barrier.wait()
        return result(title=source.filename)


def test_files_are_read_side_by_side_and_stored_by_the_caller(store, file):
    me, stored_by = threading.get_ident(), []

    class Watched:
        def list(self, owner):
            return store.documents.list(owner)

        def add(self, document, extractor="", read_pages=()):
            stored_by.append(threading.get_ident())
            store.documents.add(document, extractor, read_pages)

    read = Together(3)
    sources = [file(name, f"{name}.pdf") for name in "abcdef"]
    events = list(
        ingest(sources, Watched(), store.files.store, read, owner="me", extractor="direct", max_bytes=1000, workers=3)
    )
    assert sorted(d.filename for d in documents(events)) == [f"{name}.pdf" for name in "abcdef"]
    assert stored_by == [me] * 6
    assert max(read.unfinished) == 6
    assert {event.phase for event in events if isinstance(event, Progress)} == {
        f"{verb} {name}.pdf" for verb in ("checking", "Reading", "storing") for name in "abcdef"
    }


def test_twins_side_by_side_are_read_once(store, file):
    read = Reader()
    sources = [file("same", f"{number}.pdf") for number in range(6)]
    found = documents(
        ingest(
            sources, store.documents, store.files.store, read, owner="me", extractor="direct", max_bytes=9, workers=4
        )
    )
    assert len(read.read) == 1
    assert sorted(d.reason for d in found)[0] == ""
    assert [d.reason.endswith(f"already there as {read.read[0]}.") for d in found if d.reason] == [True] * 5


def test_stop_ends_all_files_that_are_read_and_keeps_the_finished(store, file):
    stop, reading, ended = threading.Event(), [], []

    def read(source, document_id, unfinished, report):
        if source.filename == "a.pdf":
            return result()
        reading.append(source.filename)
        if len(reading) == 2:
            stop.set()
        stop.wait(10)
        ended.append(source.filename)
        raise StoppedError("Reading was stopped.")

    sources = [file(name, f"{name}.pdf") for name in "abcdef"]
    events = ingest(
        sources, store.documents, store.files.store, read, owner="me", extractor="direct", max_bytes=9, workers=2,
        stop=stop,
    )  # fmt: skip
    while not isinstance(next(events), Document):
        pass
    with pytest.raises(StoppedError):
        list(events)
    assert sorted(ended) == sorted(reading)
    assert len(reading) == 2
    assert [d.filename for d in store.documents.list("me")] == ["a.pdf"]


def test_nobody_waits_any_more(store, file):
    gone = threading.Event()

    def read(source, document_id, unfinished, report):
        report(Progress(f"Reading {source.filename}", 1, 1))
        if source.filename == "d.pdf":
            gone.set()
        return result()

    events = ingest(
        [file(name, f"{name}.pdf") for name in "abcd"], store.documents, store.files.store, read, owner="me",
        extractor="direct", max_bytes=9,
    )  # fmt: skip
    while not isinstance(next(events), Document):
        pass
    events.close()
    for thread in threading.enumerate():
        if thread.name == "ingest":
            thread.join(10)
            assert not thread.is_alive()
    assert not gone.is_set()
    assert [d.filename for d in store.documents.list("me")] == ["a.pdf"]


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("Mu\u0308ller.pdf", "M\u00fcller.pdf"),
        ("two\nlines\t.pdf", "two lines .pdf"),
        ("safe\u202efdp.exe", "safe fdp.exe"),
        ("caf\udce9.pdf", "caf\ufffd.pdf"),
        ("\x00\x01", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_names_are_made_fit_to_be_shown(name, shown):
    assert short_name(name) == shown
