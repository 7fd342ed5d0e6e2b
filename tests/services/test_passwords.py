"""Passwords of opened documents: in memory only, per owner, for the images of their pages."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import DocumentError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.secret_words import Passwords
from pdfqa_core.types import DocumentState
from tests.services.helpers import SECRET, documents


def test_passwords_are_kept_per_owner_and_forgotten():
    known = Passwords()
    known.keep("ann", "doc", SECRET)
    known.keep("bob", "doc", "other")
    known.keep("bob", "more", "third")
    assert (known.get("ann", "doc"), known.get("bob", "doc"), known.get("ann", "more")) == (SECRET, "other", None)
    assert SECRET not in repr(known)
    known.forget("ann", "doc")
    known.forget("ann", "never known")
    known.forget_owners(["bob"])
    assert [known.get(*key) for key in (("ann", "doc"), ("bob", "doc"), ("bob", "more"))] == [None] * 3


def test_the_pages_of_an_opened_document_have_images_until_the_program_ends(open_services, locked_pdf):
    services = open_services(empty=True)
    (opened,) = documents(services.documents.ingest(LOCAL_OWNER, [locked_pdf], password=SECRET))
    assert opened.state is DocumentState.READY
    view = services.documents.pages.view(LOCAL_OWNER, opened.id, 1)
    assert (view.image[8:12], view.message, view.locked) == (b"WEBP", "", False)
    assert services.documents.pages.thumbnail(LOCAL_OWNER, opened.id, 1).data[8:12] == b"WEBP"
    services.close()

    again = open_services(empty=True)
    view = again.documents.pages.view(LOCAL_OWNER, opened.id, 1)
    assert (view.image, view.mime, view.locked) == (b"", "", True)
    assert view.message == "The page image needs the password: enter it again."
    assert view.page.text == "Behind the lock lies granite."
    assert again.documents.pages.thumbnail(LOCAL_OWNER, opened.id, 1).data == b""
    with pytest.raises(DocumentError, match=r"does not open locked\.pdf") as wrong:
        again.documents.pages.enter_password(LOCAL_OWNER, opened.id, "guess")
    assert wrong.value.state is DocumentState.ENCRYPTED
    assert again.documents.pages.view(LOCAL_OWNER, opened.id, 1).locked
    again.documents.pages.enter_password(LOCAL_OWNER, opened.id, SECRET)
    assert again.documents.pages.view(LOCAL_OWNER, opened.id, 1).image[8:12] == b"WEBP"


def test_a_password_opens_the_images_of_its_owner_only(open_services, locked_pdf):
    services = open_services(empty=True)
    (opened,) = documents(services.documents.ingest("ann", [locked_pdf], password=SECRET))
    documents(services.documents.ingest("bob", [locked_pdf]))
    assert services.documents.pages.view("ann", opened.id, 1).image
    assert services.documents.pages.thumbnail("bob", opened.id, 1).data == b""


def test_a_removed_document_takes_its_password_along(open_services, locked_pdf):
    services = open_services(empty=True)
    (opened,) = documents(services.documents.ingest(LOCAL_OWNER, [locked_pdf], password=SECRET))
    services.documents.remove(LOCAL_OWNER, opened.id)
    assert documents(services.documents.ingest(LOCAL_OWNER, [locked_pdf]))[0].state is DocumentState.ENCRYPTED


def test_a_password_is_written_nowhere(open_services, locked_pdf, caplog):
    caplog.set_level("DEBUG")
    services = open_services(empty=True)
    documents(services.documents.ingest(LOCAL_OWNER, [locked_pdf], password=SECRET))
    services.close()
    files = [path for path in services.workspace.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
    assert SECRET not in caplog.text
