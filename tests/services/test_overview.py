"""Overviews: title, authors, contents and what could be read better; and summaries that are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, SUMMARY, job_name
from pdfqa_core.types import Done, Token
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, LITERAL, StoppingLLM, only, store_of
from tests.serving_fakes import PDF


@pytest.fixture
def headed(make_pdf):
    return make_pdf(
        ["<font size=20><b>Harbour Fees</b></font>", "A ship pays nine crowns for each night it lies at the pier."],
        ["<font size=20><b>Winter Storage</b></font>", "Boats are kept in the hall during the winter, under a roof."],
        name="rules.pdf", title="Rules of the harbour",
    )  # fmt: skip


def test_bookmarks_are_the_contents(services):
    found = services.answers.overviews.of(LOCAL_OWNER, only(services).id, BM25)
    assert found.bookmarks
    assert (found.document.page_count, found.authors) == (8, "Kestrel Bay Heat Works")
    assert [(one.level, one.title, one.page) for one in found.contents[:3]] == [
        (1, "1 Purpose", 3), (1, "2 How the system works", 3), (2, "2.1 From the sea to the plant room", 3)
    ]  # fmt: skip
    assert found.first_contents == found.contents
    assert services.answers.overviews.of(LOCAL_OWNER, only(services).id, BM25) is found
    with pytest.raises(UsageError, match="no such document"):
        services.answers.overviews.of("visitor", only(services).id, BM25)


def test_headings_are_the_contents_where_there_are_no_bookmarks(open_services, headed):
    services = open_services(empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [headed]))
    found = services.answers.overviews.of(LOCAL_OWNER, only(services).id, BM25)
    assert not found.bookmarks
    assert [(one.title, one.page) for one in found.contents] == [("Harbour Fees", 1), ("Winter Storage", 2)]
    assert (found.document.title, found.authors, found.pictures) == ("Rules of the harbour", "", ())


# ------------------------------------------------------------------ summaries


def summarised(services, settings=LITERAL):
    """Return the events of a summary of the only document."""
    return list(services.answers.overviews.summarise(LOCAL_OWNER, only(services).id, settings).events())


def test_a_summary_in_quotes_is_the_abstract_and_is_kept(open_services):
    services = open_services(LITERAL)
    answer = summarised(services)[-1].answer
    assert "Its seasonal performance factor was 3.13 in the first winter" in answer.text
    assert {citation.span.page for citation in answer.citations} == {2}
    assert all(citation.verified for citation in answer.citations)
    kept = services.answers.overviews.summary(LOCAL_OWNER, only(services).id, LITERAL)
    assert kept.answer == answer
    assert services.tasks.job(job_name(SUMMARY, LOCAL_OWNER, only(services).id)) is None
    assert services.answers.overviews.summary("visitor", only(services).id, LITERAL) is None


def test_a_summary_by_the_model_is_streamed_checked_and_kept(open_services):
    llm = FakeLLM()
    llm.enqueue(["The heat pump has run since 4 October 2022 and supplies five customers. Penguins like marzipan."])
    services = open_services(BM25, llm)
    events = summarised(services, BM25)
    assert any(isinstance(event, Token) for event in events)
    answer = events[-1].answer
    assert (answer.model, answer.stopped) == ("fake", False)
    assert answer.citations[0].span.page == 2
    assert services.answers.overviews.summary(LOCAL_OWNER, only(services).id, BM25).answer == answer


def test_a_stopped_summary_is_kept_as_far_as_it_was_written(open_services):
    llm = StoppingLLM(lambda: services.tasks.stop(job_name(SUMMARY, LOCAL_OWNER, only(services).id)))
    llm.enqueue(2 * ["The heat pump has run since 4 October 2022 and supplies five customers."])
    services = open_services(BM25, llm)
    answer = summarised(services, BM25)[-1].answer
    assert answer.stopped
    assert answer.text == "The heat pump"
    assert services.answers.overviews.summary(LOCAL_OWNER, only(services).id, BM25).answer.stopped
    whole = summarised(services, LITERAL)[-1].answer
    assert summarised(services, BM25)[-1].answer.stopped  # a part does not take the place of the whole
    assert services.answers.overviews.summary(LOCAL_OWNER, only(services).id, BM25).answer == whole


def test_a_summary_goes_with_its_text_and_its_document(open_services):
    services = open_services(LITERAL)
    document = only(services)
    assert isinstance(summarised(services)[-1], Done)
    with store_of(services) as store:
        pages = [
            replace(page, text=page.text + " ") for page in store.documents.pages(LOCAL_OWNER, document.id, "direct")
        ]
        store.documents.add(document, "direct", pages)
    assert services.answers.overviews.summary(LOCAL_OWNER, document.id, LITERAL) is None
    summarised(services)
    services.documents.remove(LOCAL_OWNER, document.id)
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    assert services.answers.overviews.summary(LOCAL_OWNER, document.id, LITERAL) is None
