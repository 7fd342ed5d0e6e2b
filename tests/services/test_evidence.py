"""The sentence that fits a selection, and questions to ask next."""

from __future__ import annotations

from dataclasses import replace

from pdfqa_core.services import LOCAL_OWNER
from tests.services.helpers import HYBRID, LITERAL, METERS, asked, built, stored_of


def test_a_selection_finds_its_sentence_in_the_evidence(open_services):
    services = open_services(LITERAL)
    turn = stored_of(asked(services, METERS)).turn
    found = services.answers.best_sentence(turn, "read  every\n15 minutes", LITERAL)
    assert found.quote == "All meters are read every 15 minutes."
    hit = next(hit for hit in turn.answer.hits if hit.rank == found.number)
    assert (hit.passage.id, found.quote in hit.passage.text, found.span.page) == (found.passage_id, True, 4)
    assert services.answers.best_sentence(turn, "read every 15 minutes", HYBRID).quote == found.quote
    for nothing in ("", " ", "zebra crossing"):
        assert services.answers.best_sentence(turn, nothing, LITERAL) is None


def test_a_heading_is_offered_if_it_relates_and_a_search_for_it_finds_its_page(open_services, make_pdf):
    services = open_services(LITERAL, empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(
        ["<font size=20><b>Harbour Fees</b></font>", "A ship pays nine crowns for each night it lies at the pier."],
        ["<font size=20><b>Winter Storage</b></font>", "Boats are kept in the hall during the winter, under a roof."],
        ["<font size=20><b>Overview</b></font>", "This page says where the other pages are to be found."],
    )]))  # fmt: skip
    built(services, HYBRID)
    turn = stored_of(asked(services, "What does a ship pay for a night?")).turn
    about = replace(turn, standalone_question="And what of winter storage?")
    assert services.answers.suggestions.follow_ups(LOCAL_OWNER, [about], HYBRID) == (
        "What is said about “Winter Storage”?",
    )
    assert services.answers.suggestions.follow_ups(LOCAL_OWNER, [turn], LITERAL) == ()  # no encoder tells what relates
    refused = replace(about, answer=replace(about.answer, refused=True))
    assert services.answers.suggestions.follow_ups(LOCAL_OWNER, [refused], HYBRID) == ()


def test_a_heading_at_the_end_of_a_page_is_offered_for_what_the_next_page_says(open_services, make_pdf):
    services = open_services(LITERAL, empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(
        ["<font size=20><b>Harbour Fees</b></font>", "A ship pays nine crowns for each night it lies at the pier."],
        ["Whoever pays late pays ten.", "<font size=20><b>Winter Storage</b></font>"],
        ["Boats are kept in the hall during the winter, under a roof."],
    )]))  # fmt: skip
    built(services, HYBRID)
    turn = replace(
        stored_of(asked(services, "What does a ship pay for a night?")).turn, standalone_question="In winter?"
    )
    assert services.answers.suggestions.follow_ups(LOCAL_OWNER, [turn], HYBRID) == (
        "What is said about “Winter Storage”?",
    )


def test_a_removed_document_is_still_called_by_its_name(open_services):
    services = open_services(LITERAL)
    stored = stored_of(asked(services, METERS))
    (document_id,) = {hit.passage.document_id for hit in stored.turn.answer.hits}
    assert services.documents.names(LOCAL_OWNER, stored.conversation_id) == {document_id: "harbour-heat.pdf"}
    services.documents.remove(LOCAL_OWNER, document_id)
    assert services.documents.names(LOCAL_OWNER, stored.conversation_id) == {document_id: "harbour-heat.pdf (removed)"}
    assert services.documents.names(LOCAL_OWNER) == {}
