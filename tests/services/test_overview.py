"""Overviews: title, authors, contents and what could be read better; and summaries that are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.extraction.layout.outline import OutlineEntry
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.overview import overview
from pdfqa_core.types import Done, Token
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, LITERAL, StoppingLLM, documents, only, store_of
from tests.serving_fakes import PDF


@pytest.fixture
def headed(make_pdf):
    return make_pdf(
        ["<font size=20><b>Harbour Fees</b></font>", "A ship pays nine crowns for each night it lies at the pier."],
        ["<font size=20><b>Winter Storage</b></font>", "Boats are kept in the hall during the winter, under a roof."],
        name="rules.pdf", title="Rules of the harbour",
    )  # fmt: skip


def test_bookmarks_are_the_contents(services):
    found = services.overviews.of(LOCAL_OWNER, only(services).id, BM25)
    assert found.bookmarks
    assert (found.document.page_count, found.authors) == (8, "Kestrel Bay Heat Works")
    assert [(one.level, one.title, one.page) for one in found.contents[:3]] == [
        (1, "1 Purpose", 3), (1, "2 How the system works", 3), (2, "2.1 From the sea to the plant room", 3)
    ]  # fmt: skip
    assert found.first_contents == found.contents
    assert services.overviews.of(LOCAL_OWNER, only(services).id, BM25) is found
    with pytest.raises(UsageError, match="no such document"):
        services.overviews.of("visitor", only(services).id, BM25)


def test_headings_are_the_contents_where_there_are_no_bookmarks(open_services, headed):
    services = open_services(empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [headed]))
    found = services.overviews.of(LOCAL_OWNER, only(services).id, BM25)
    assert not found.bookmarks
    assert [(one.title, one.page) for one in found.contents] == [("Harbour Fees", 1), ("Winter Storage", 2)]
    assert (found.document.title, found.authors, found.pictures) == ("Rules of the harbour", "", ())


def test_the_authors_are_no_line_of_the_contents(make_pdf, open_services):
    names = "<font size=16><b>Ingrid Halvorsen1, Priya Ramanathan2</b></font>"
    pdf = make_pdf(
        ["<font size=20><b>Bats of the valley</b></font>", names, "University of Aberford", "Abstract: many bats."],
        ["<font size=20><b>Methods</b></font>", "The bats were counted with microphones for three summers in a row."],
        name="bats.pdf", title="Bats of the valley",
    )  # fmt: skip
    services = open_services(empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [pdf]))
    found = services.overviews.of(LOCAL_OWNER, only(services).id, BM25)
    assert found.authors == "Ingrid Halvorsen; Priya Ramanathan"
    assert [one.title for one in found.contents] == ["Methods"]


def test_bookmarks_that_lead_nowhere_are_left_out(services):
    pages = services.documents.pages(LOCAL_OWNER, only(services).id, BM25)
    outline = [OutlineEntry(2, "Fees", 1), OutlineEntry(3, "Boats", 2), OutlineEntry(1, "Beyond", 99)]
    found = overview(only(services), pages, outline)
    assert [(one.level, one.title) for one in found.contents] == [(1, "Fees"), (2, "Boats")]
    assert not overview(only(services), pages, outline[:1]).bookmarks


def test_a_document_without_text_has_its_facts_only(open_services, tmp_path):
    (tmp_path / "bad.pdf").write_bytes(b"no PDF")
    services = open_services(empty=True)
    (document,) = documents(services.documents.ingest(LOCAL_OWNER, [tmp_path / "bad.pdf"]))
    found = services.overviews.of(LOCAL_OWNER, document.id, BM25)
    assert (found.document.filename, found.contents) == ("bad.pdf", ())
    with pytest.raises(PdfQAError, match="no text to summarise"):
        services.summaries.begin(LOCAL_OWNER, document.id, BM25)


def test_a_file_that_cannot_be_opened_any_more_shows_its_headings(services):
    document = only(services)
    services.documents.original(LOCAL_OWNER, document.id).path.unlink()
    found = services.overviews.of(LOCAL_OWNER, document.id, BM25)
    assert not found.bookmarks
    assert "4.3 Emissions" in [one.title for one in found.contents]


def test_the_overview_of_a_long_document_folds_what_is_deep(open_services, shared_data):
    services = open_services(empty=True)
    list(
        services.documents.ingest(
            LOCAL_OWNER, [shared_data / "northwind" / "Northwind_Health_Plus_Benefits_Details.pdf"]
        )
    )
    document = only(services)
    pages = services.documents.pages(LOCAL_OWNER, document.id, BM25)
    found = overview(document, pages)
    assert [one.title for one in found.first_contents][:2] == ["Summary of Benefits", "SUMMARY OF YOUR COSTS"]
    assert len(found.contents) > 2 * len(found.first_contents)


# ------------------------------------------------------------------ summaries


def summarised(services, settings=LITERAL):
    """Return the events of a summary of the only document."""
    return list(services.summaries.begin(LOCAL_OWNER, only(services).id, settings).events())


def test_a_summary_in_quotes_is_the_abstract_and_is_kept(open_services):
    services = open_services(LITERAL)
    answer = summarised(services)[-1].answer
    assert "Its seasonal performance factor was 3.13 in the first winter" in answer.text
    assert {citation.span.page for citation in answer.citations} == {2}
    assert all(citation.verified for citation in answer.citations)
    kept = services.summaries.get(LOCAL_OWNER, only(services).id, LITERAL)
    assert kept.answer == answer
    assert services.summaries.of(LOCAL_OWNER, only(services).id) is None
    assert services.summaries.get("visitor", only(services).id, LITERAL) is None


def test_a_summary_by_the_model_is_streamed_checked_and_kept(open_services):
    llm = FakeLLM()
    llm.enqueue(["The heat pump has run since 4 October 2022 and supplies five customers. Penguins like marzipan."])
    services = open_services(BM25, llm)
    events = summarised(services, BM25)
    assert any(isinstance(event, Token) for event in events)
    answer = events[-1].answer
    assert (answer.model, answer.stopped) == ("fake", False)
    assert answer.citations[0].span.page == 2
    assert services.summaries.get(LOCAL_OWNER, only(services).id, BM25).answer == answer


def test_a_stopped_summary_is_kept_as_far_as_it_was_written(open_services):
    llm = StoppingLLM(lambda: services.summaries.stop(LOCAL_OWNER, only(services).id))
    llm.enqueue(2 * ["The heat pump has run since 4 October 2022 and supplies five customers."])
    services = open_services(BM25, llm)
    answer = summarised(services, BM25)[-1].answer
    assert answer.stopped
    assert answer.text == "The heat pump"
    assert services.summaries.get(LOCAL_OWNER, only(services).id, BM25).answer.stopped
    whole = summarised(services, LITERAL)[-1].answer
    assert summarised(services, BM25)[-1].answer.stopped  # a part does not take the place of the whole
    assert services.summaries.get(LOCAL_OWNER, only(services).id, BM25).answer == whole


def test_a_summary_goes_with_its_text_and_its_document(open_services):
    services = open_services(LITERAL)
    document = only(services)
    assert isinstance(summarised(services)[-1], Done)
    with store_of(services) as store:
        pages = [
            replace(page, text=page.text + " ") for page in store.documents.pages(LOCAL_OWNER, document.id, "direct")
        ]
        store.documents.add(document, "direct", pages)
    assert services.summaries.get(LOCAL_OWNER, document.id, LITERAL) is None
    summarised(services)
    services.documents.remove(LOCAL_OWNER, document.id)
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    assert services.summaries.get(LOCAL_OWNER, document.id, LITERAL) is None


def test_what_fails_while_a_summary_is_written_is_told_to_whoever_looks_on(open_services):
    class Failing(FakeLLM):
        def write(self, schema, stop):
            raise PdfQAError("The model is gone.", "Start it again.")
            yield ""

    services = open_services(BM25, Failing())
    with pytest.raises(PdfQAError, match="The model is gone"):
        summarised(services, BM25)
    assert services.summaries.get(LOCAL_OWNER, only(services).id, BM25) is None
