"""Reading in the background: it goes on when nobody looks, and after the program ended."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from pdfqa_core.errors import StoppedError, StorageError
from pdfqa_core.ingest import Source
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.settings import Settings
from pdfqa_core.types import Document, Progress
from tests.services.helpers import until
from tests.serving_fakes import FakeModels

DIRECT = Settings().extraction


@pytest.fixture
def opened(tmp_path):
    made = []

    def open_again():
        services = Services.open(tmp_path / "workspace", Settings(), FakeModels())
        made.append(services)
        return services

    yield open_again
    for services in made:
        services.close()


@pytest.fixture
def held(monkeypatch):
    """Reading that waits at its beginning until the event is set."""
    go = threading.Event()
    whole = DocumentService.ingest

    def ingest(self, *arguments, task="", **options):
        for event in whole(self, *arguments, task=task, **options):
            yield event
            while not go.wait(0.01):
                if self._tasks._stops[task].is_set():
                    raise StoppedError("Reading was stopped.")

    monkeypatch.setattr(DocumentService, "ingest", ingest)
    return go


@pytest.fixture
def uploads(make_pdf, tmp_path):
    """Copies of PDFs as the browser's upload leaves them, by name."""

    def build(*names):
        folder = tmp_path / "uploads"
        folder.mkdir(exist_ok=True)
        return [Path(shutil.move(make_pdf([f"The {name} is read."], name=f"{name}.pdf"), folder)) for name in names]

    return build


def names(services):
    return {document.filename for document in services.documents.kept.list(LOCAL_OWNER)}


def incoming(services):
    folder = services.workspace / "incoming"
    return sorted(file.suffix for file in folder.iterdir()) if folder.is_dir() else []


def test_uploads_are_read_and_nothing_is_left_of_them(opened, uploads):
    services, files = opened(), uploads("one", "two")
    batch = services.documents.jobs.begin(LOCAL_OWNER, files, keep=True, extraction=DIRECT)
    events = list(batch.events())
    assert {event.filename for event in events if isinstance(event, Document)} == {"one.pdf", "two.pdf"}
    assert any(isinstance(event, Progress) for event in events)
    assert names(services) == {"one.pdf", "two.pdf"}
    assert incoming(services) == []
    assert not any(file.exists() for file in files)
    assert services.documents.jobs.of(LOCAL_OWNER) == (batch,)
    assert batch.ended


def test_the_next_program_reads_what_the_last_one_left(opened, uploads, held):
    services = opened()
    services.documents.jobs.begin(LOCAL_OWNER, uploads("one", "two"), keep=True, extraction=DIRECT)
    until(lambda: services.documents.jobs.of(LOCAL_OWNER)[0].steps)
    services.close()
    assert incoming(services) == [".pdf", ".pdf"]
    held.set()
    again = opened()
    again.documents.jobs.resume()
    until(lambda: again.documents.jobs.of(LOCAL_OWNER)[0].ended)
    assert names(again) == {"one.pdf", "two.pdf"}
    assert incoming(again) == []


def test_stopping_ends_what_is_read_and_what_waits(opened, uploads, held):
    services = opened()
    first = services.documents.jobs.begin(LOCAL_OWNER, uploads("one"), keep=True, extraction=DIRECT)
    until(lambda: first.steps)
    second = services.documents.jobs.begin(LOCAL_OWNER, uploads("two"), keep=True, extraction=DIRECT)
    other = services.documents.jobs.begin("somebody else", uploads("three"), keep=True, extraction=DIRECT)
    services.documents.jobs.stop(LOCAL_OWNER)
    until(lambda: first.ended and second.ended)
    assert isinstance(first.error, StoppedError)
    with pytest.raises(StoppedError):
        list(first.events())
    held.set()
    until(lambda: other.ended)
    assert names(services) == set()
    assert [one.filename for one in services.documents.kept.list("somebody else")] == ["three.pdf"]
    assert incoming(services) == []


def test_a_folder_that_cannot_be_written_is_told(opened, make_pdf):
    services = opened()
    (services.workspace / "incoming").write_text("in the way")
    with pytest.raises(StorageError, match="The uploads in"):
        services.documents.jobs.begin(LOCAL_OWNER, [make_pdf(["text"])], keep=True, extraction=DIRECT)


def test_files_that_are_gone_are_left_out(opened, uploads, held):
    services = opened()
    services.documents.jobs.begin(
        LOCAL_OWNER, [Source(path, path.name) for path in uploads("one", "two")], extraction=DIRECT
    )
    until(lambda: services.documents.jobs.of(LOCAL_OWNER)[0].steps)
    services.close()
    held.set()
    services.documents.jobs.of(LOCAL_OWNER)[0].sources[0].path.unlink()
    again = opened()
    again.documents.jobs.resume()
    until(lambda: again.documents.jobs.of(LOCAL_OWNER)[0].ended)
    assert names(again) == {"two.pdf"}
