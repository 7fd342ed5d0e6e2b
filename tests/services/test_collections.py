"""Collections as scope: what they stand for when a question is asked."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.collections import (
    ALL_COLLECTIONS_GONE,
    ALL_GONE,
    COLLECTION_GONE,
    EMPTY,
    SOME_GONE,
)
from tests.services.helpers import LITERAL, METERS, asked, built, only_id, stored_of
from tests.serving_fakes import PDF

VISITOR = "visitor-one"


@pytest.fixture
def both(open_services, letter):
    """The sample report and a letter."""
    services = open_services(LITERAL)
    list(services.documents.ingest(LOCAL_OWNER, [letter]))
    built(services)
    return services


def asked_in(services, *scope):
    return stored_of(asked(services, METERS, LITERAL, document_ids=scope))


def test_a_collection_stands_for_its_documents_when_the_question_is_asked(both):
    report, letter = only_id(both, PDF.name), only_id(both, "letter.pdf")
    made = both.documents.collections.make(LOCAL_OWNER, "Mine", [letter])
    first = asked_in(both, made.id)
    assert {hit.passage.document_id for hit in first.turn.answer.hits} <= {letter}
    both.documents.collections.kept.put(LOCAL_OWNER, made.id, [report])
    both.documents.collections.kept.take_out(LOCAL_OWNER, made.id, [letter])
    later = stored_of(asked(both, METERS, LITERAL, conversation_id=first.conversation_id))
    assert {hit.passage.document_id for hit in later.turn.answer.hits} == {report}
    assert "every 15 minutes" in later.turn.answer.text
    assert both.answers.conversations.get(LOCAL_OWNER, first.conversation_id).document_ids == (made.id,)


def test_a_removed_document_leaves_its_collection_and_an_empty_one_is_said(both):
    letter = only_id(both, "letter.pdf")
    made = both.documents.collections.make(LOCAL_OWNER, "Mine", [letter])
    both.documents.remove(LOCAL_OWNER, letter)
    with pytest.raises(PdfQAError, match="The collection “Mine” holds no documents that can be searched") as error:
        asked_in(both, made.id)
    assert "Documents tab" in error.value.hint
    answer = asked_in(both, made.id, only_id(both, PDF.name)).turn.answer
    assert answer.notes[0] == EMPTY.format("Mine")
    assert "every 15 minutes" in answer.text


def test_what_is_gone_is_said(both):
    made = both.documents.collections.make(LOCAL_OWNER, "Mine", [only_id(both, PDF.name)])
    other = both.documents.collections.make(LOCAL_OWNER, "Other")
    both.documents.collections.kept.remove(LOCAL_OWNER, other.id)
    assert asked_in(both, other.id).turn.answer.notes[0] == ALL_COLLECTIONS_GONE
    assert asked_in(both, other.id, made.id).turn.answer.notes[0] == COLLECTION_GONE
    assert both.documents.collections.resolve(LOCAL_OWNER, ["gone", made.id, other.id]).notes == (
        SOME_GONE,
        COLLECTION_GONE,
    )
    assert both.documents.collections.resolve(LOCAL_OWNER, ["gone", other.id]).notes == (ALL_GONE,)


def test_another_owners_collection_is_gone_for_everybody_else(both):
    made = both.documents.collections.make(LOCAL_OWNER, "Mine", [only_id(both, PDF.name)])
    list(both.documents.ingest(VISITOR, [PDF]))
    assert both.documents.collections.kept.list(VISITOR) == ()
    assert both.documents.collections.resolve(VISITOR, [made.id]).document_ids == ()
    assert both.documents.collections.resolve(VISITOR, [made.id]).notes == (ALL_COLLECTIONS_GONE,)
    with pytest.raises(UsageError, match="no collection 'Mine'"):
        both.documents.collections.ids(VISITOR, ["Mine"])
    with pytest.raises(UsageError, match="does not know whose"):
        both.documents.collections.make("", "Nobody's")
