"""Conversations as files: the cited pages come as pictures, marked where the quote stands."""

from __future__ import annotations

import io
import zipfile

import docx
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.conversation_files import conversation_file
from tests.services.helpers import LITERAL, METERS, asked, only, stored_of


def pages_of(services, conversation_id):
    file = conversation_file(services.documents, services.answers.conversations, LOCAL_OWNER, "zip", [conversation_id])
    with zipfile.ZipFile(io.BytesIO(file.data)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_the_cited_line_is_marked_in_the_picture_of_its_page(open_services):
    from PIL import Image

    services = open_services(LITERAL)
    stored = stored_of(asked(services, METERS))
    files = pages_of(services, stored.conversation_id)
    places = {(c.span.document_id, c.span.page) for c in stored.turn.answer.citations}
    pictures = [name for name in files if name.endswith(".jpg")]
    assert len(pictures) == len(places) > 0
    assert all(f"]({name})" in files["conversation.md"].decode() for name in pictures)
    image = Image.open(io.BytesIO(files[pictures[0]])).convert("RGB")
    assert image.width == 900
    marked = sum(r > 230 and 170 < g < 225 and b < 140 for r, g, b in image.get_flattened_data())
    assert marked > 500


def test_a_file_has_the_name_of_its_conversation_and_word_opens_it(open_services):
    services = open_services(LITERAL)
    stored = stored_of(asked(services, METERS))
    file = conversation_file(services.documents, services.answers.conversations, LOCAL_OWNER, "docx")
    assert (file.name, file.rows) == ("How often are the meters read.docx", 1)
    assert len(docx.Document(io.BytesIO(file.data)).inline_shapes) > 0
    assert conversation_file(
        services.documents, services.answers.conversations, LOCAL_OWNER, "html", [METERS]
    ).data.startswith(b"<!doctype html>")
    with pytest.raises(UsageError, match="no conversation 'other'"):
        conversation_file(services.documents, services.answers.conversations, LOCAL_OWNER, "html", ["other"])
    with pytest.raises(UsageError, match="no odt form"):
        conversation_file(
            services.documents, services.answers.conversations, LOCAL_OWNER, "odt", [stored.conversation_id]
        )


def test_a_document_that_was_removed_has_no_picture_but_its_words(open_services):
    services = open_services(LITERAL)
    stored = stored_of(asked(services, METERS))
    services.documents.remove(LOCAL_OWNER, only(services).id)
    files = pages_of(services, stored.conversation_id)
    assert list(files) == ["conversation.md"]
    assert "its page cannot be shown any more" in files["conversation.md"].decode()
    assert "every 15 minutes" in files["conversation.md"].decode()
    assert "harbour-heat.pdf (removed), p. " in files["conversation.md"].decode()
