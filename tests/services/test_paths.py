"""Workspaces and PDFs in folders with spaces, other scripts and long names, and files that Windows holds open."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfqa_core.errors import StorageError
from pdfqa_core.llm.catalogue import is_path
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.storage import files as stored_files
from pdfqa_core.types import DocumentState
from tests.services.helpers import BM25, built, documents, only
from tests.serving_fakes import FakeModels

FOLDERS = ("Müller & Söhne/日本語/100 % 'quoted' #1 [x] {y}", "a" * 120 + "/" + "b" * 120)


def test_a_path_with_a_drive_names_a_file_and_no_model_of_the_catalogue():
    assert all(map(is_path, (r"C:\Users\Ada\model.gguf", r"D:\models\m", "/home/ada/model.gguf", "model.gguf")))
    assert not is_path("smollm2-135m")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_whole_job_in_a_folder_of_any_name(tmp_path, letter, folder):
    place = tmp_path / folder
    place.mkdir(parents=True)
    pdf = letter.rename(place / f"{'Ordner mit ü ' * 15}.pdf")
    with Services.open(place / "work space", BM25, FakeModels()) as services:
        (document,) = documents(services.documents.ingest(LOCAL_OWNER, [pdf]))
        assert (document.state, document.page_count) == (DocumentState.READY, 1)
        built(services)
        assert services.documents.pages.view(LOCAL_OWNER, document.id, 1).image
    with Services.open(place / "work space", BM25, FakeModels()) as services:
        assert only(services).filename == document.filename
        assert "granite" in services.documents.pages.view(LOCAL_OWNER, document.id, 1).page.text


@pytest.fixture
def held(monkeypatch):
    """Let files that are in the list be open, as Windows treats them: they can be neither deleted nor replaced."""
    open_files: list[Path] = []

    def refusing(act):
        def acting(path, *arguments, **options):
            if {path, *arguments} & set(open_files):
                raise PermissionError(13, "The process cannot access the file", str(path))
            return act(path, *arguments, **options)

        return acting

    monkeypatch.setattr(stored_files, "HELD", True)
    monkeypatch.setattr(Path, "unlink", refusing(Path.unlink))
    monkeypatch.setattr(Path, "replace", refusing(Path.replace))
    return open_files


def test_a_pdf_that_is_open_is_deleted_with_the_next_one(open_services, letter, make_pdf, held):
    services = open_services(empty=True)
    other = make_pdf(["Another page of text."], name="other.pdf")
    first, second = documents(services.documents.ingest(LOCAL_OWNER, [letter, other]))
    path = services.documents.original(LOCAL_OWNER, first.id).path
    held.append(path)
    services.documents.remove(LOCAL_OWNER, first.id)
    assert path.exists()
    assert only(services).id == second.id
    held.clear()
    services.documents.remove(LOCAL_OWNER, second.id)
    assert list(path.parent.iterdir()) == []


def test_a_damaged_pdf_that_is_open_is_not_taken_for_the_new_one(open_services, letter, held):
    services = open_services(empty=True)
    (document,) = documents(services.documents.ingest(LOCAL_OWNER, [letter]))
    path = services.documents.original(LOCAL_OWNER, document.id).path
    path.write_bytes(b"damaged")
    held.append(path)
    with pytest.raises(StorageError, match="cannot be written"):
        list(services.documents.ingest(LOCAL_OWNER, [letter], again=True))


def test_the_program_itself_holds_no_pdf_when_it_is_removed(services):
    document = only(services)
    services.documents.pages.view(LOCAL_OWNER, document.id, 1)
    renderer = services.documents.pages.renderer
    assert renderer.process_id
    services.documents.remove(LOCAL_OWNER, document.id)
    assert renderer.process_id is None
