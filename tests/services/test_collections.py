"""Collections as scope: what they stand for when a question is asked; newer versions take a place in them."""

from __future__ import annotations

from dataclasses import replace

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
from tests.services.helpers import LITERAL, METERS, asked, built, only_id, stored_of, stored_pages
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


# ------------------------------------------------------------ newer versions


@pytest.fixture
def versions(open_services):
    """Services, and what reads a document of pages, some changed, under a name and a title, as the page does."""
    services = open_services(LITERAL, empty=True)

    def read(*changed, name="report.pdf", title=""):
        texts = [f"Chapter {n} tells of pumps, pipes and valves." for n in range(1, 7)]
        for n in changed:
            texts[n - 1] = f"Everything is new in part {n}."
        document = stored_pages(services, name, *texts, title=title)
        services.documents.versions.look(LOCAL_OWNER, document)
        return document

    return services, read


def test_the_same_file_name_with_other_bytes_is_noticed(versions):
    services, read = versions
    first, second = read(), read(2, 5)
    (notice,) = services.documents.versions.notices(LOCAL_OWNER).values()
    assert (notice.document_id, notice.earlier.id) == (second.id, first.id)
    assert notice.words == "looks like a new version of report.pdf (4 of 6 pages the same)"
    assert len(services.documents.kept.list(LOCAL_OWNER)) == 2


def test_other_documents_are_no_versions(versions):
    services, read = versions
    read(title="Pumps of the harbour", name="old.pdf")
    read(1, 2, 3, 4, 5, 6, title="Pumps of the harbour", name="new.pdf")  # another text
    read(4, title="Pumps of the town", name="third.pdf")  # another title
    read(1, 2, 3, 4, 5, 6, name="old.pdf")  # the name of the file, and nothing else
    assert services.documents.versions.notices(LOCAL_OWNER) == {}


def test_the_newer_one_takes_the_place_in_collections_and_scopes_and_what_was_cited_stays(versions):
    services, read = versions
    first = read()
    made = services.documents.collections.make(LOCAL_OWNER, "Pumps", [first.id])
    built(services)
    stored = stored_of(asked(services, "What does chapter 2 tell of?", LITERAL, document_ids=[first.id]))
    second = read(5)
    services.documents.versions.replace(LOCAL_OWNER, second.id, first.id)
    assert [one.id for one in services.documents.kept.list(LOCAL_OWNER)] == [second.id]
    assert services.documents.collections.kept.list(LOCAL_OWNER) == (replace(made, document_ids=(second.id,)),)
    kept = services.answers.conversations.get(LOCAL_OWNER, stored.conversation_id)
    assert services.documents.collections.resolve(LOCAL_OWNER, kept.document_ids).document_ids == (second.id,)
    assert services.documents.collections.resolve(LOCAL_OWNER, kept.document_ids).notes == ()
    assert {hit.passage.document_id for hit in kept.turns[0].answer.hits} == {first.id}
    assert services.documents.names(LOCAL_OWNER, kept.id)[first.id] == "report.pdf (removed)"
    third = read(5, 6)
    services.documents.versions.replace(LOCAL_OWNER, third.id, second.id)
    assert services.documents.collections.resolve(LOCAL_OWNER, [first.id]).chosen == (third.id,)


def test_files_that_the_page_reads_are_compared(versions, make_pdf):
    services, read = versions
    first = read()
    newer = make_pdf(*([f"Chapter {n} tells of pumps, pipes and valves."] for n in range(1, 6)), name="report.pdf")
    list(services.documents.jobs.begin(LOCAL_OWNER, [newer], extraction=LITERAL.extraction).events())
    (notice,) = services.documents.versions.notices(LOCAL_OWNER).values()
    assert notice.earlier.id == first.id
