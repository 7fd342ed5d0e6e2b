"""Folders of PDFs: which files are read, and the collections that an uploaded folder offers."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.collections import files_of
from tests.services.helpers import only, only_id

FILES = ("a.pdf", "B.PDF", "notes.txt", ".hidden.pdf", "drafts/c.pdf", "drafts/old/d.pdf", ".git/e.pdf")


@pytest.fixture
def folder(tmp_path):
    for name in FILES:
        path = tmp_path / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%PDF-1.7")
    return tmp_path / "reports"


def chosen(found, folder):
    return [path.relative_to(folder).as_posix() for path in found.chosen]


def test_the_pdfs_of_a_folder_and_its_sub_folders_are_read(folder):
    found = files_of(folder)
    assert chosen(found, folder) == ["B.PDF", "a.pdf", "drafts/c.pdf", "drafts/old/d.pdf"]
    assert {one.path: one.reason for one in found.left_out} == {".hidden.pdf": "hidden", "notes.txt": "not *.pdf"}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"recursive": False}, ["B.PDF", "a.pdf"]),
        ({"exclude": ["drafts/*"]}, ["B.PDF", "a.pdf"]),
        ({"exclude": ["a.pdf", "old"]}, ["B.PDF", "drafts/c.pdf", "drafts/old/d.pdf"]),
        ({"include": ["drafts/*"]}, ["drafts/c.pdf", "drafts/old/d.pdf"]),
        ({"include": ["*.PDF", "*.txt"], "exclude": ["./drafts/*"]}, ["B.PDF", "a.pdf", "notes.txt"]),
    ],
)
def test_patterns_choose(folder, options, names):
    assert chosen(files_of(folder, **options), folder) == names


# ------------------------------------------------------------ what was uploaded


def test_sub_folders_are_offered_as_collections_of_what_has_been_read(services, letter):
    report = only(services).id
    services.documents.collections.note_folder(
        LOCAL_OWNER, {"town/heat/report.pdf": report, "town/letter.pdf": "not read yet"}, ["town/notes.txt"]
    )
    offer = services.documents.collections.offered(LOCAL_OWNER)
    assert offer.name == "town"
    assert offer.folders == {"town": (report,), "town/heat": (report,)}
    assert offer.left_out == ("town/notes.txt",)
    assert offer.count == 1
    assert services.documents.collections.offered("visitor") is None


def test_an_accepted_folder_is_a_collection_and_is_offered_no_more(services, letter):
    report = only(services).id
    list(services.documents.ingest(LOCAL_OWNER, [letter]))
    services.documents.collections.note_folder(
        LOCAL_OWNER, {"town/a/r.pdf": report, "town/b/l.pdf": only_id(services, "letter.pdf")}
    )
    made = services.documents.collections.accept_folder(LOCAL_OWNER, "town/a")
    (kept,) = services.documents.collections.kept.list(LOCAL_OWNER)
    assert (kept.id, kept.name, kept.document_ids) == (made.id, "town/a", (report,))
    assert set(services.documents.collections.offered(LOCAL_OWNER).folders) == {"town", "town/b"}
    with pytest.raises(UsageError, match="not offered"):
        services.documents.collections.accept_folder(LOCAL_OWNER, "town/a")
    services.documents.collections.decline_folder(LOCAL_OWNER)
    assert services.documents.collections.offered(LOCAL_OWNER) is None
