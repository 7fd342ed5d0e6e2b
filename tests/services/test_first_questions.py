"""Questions to begin with: asked or named by headings, answered by the section below, none rather than a silly one."""

from __future__ import annotations

import pytest

from pdfqa_core.services import LOCAL_OWNER, Outcome
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.synthesis import RULES
from tests.services.helpers import BM25, LITERAL, asked, only, only_id, stored_of

LONG = "Whoever wants it writes to the harbour office before the first of May and says how long the boat is and whose. "


@pytest.fixture
def offered(open_services, make_pdf):
    """Return the services and the questions of a document with these headings, each with some text about a topic."""

    def build(*sections, text=LONG):
        pages = [[f"<font size=20><b>{heading}</b></font>", f"{topic} {2 * text}"] for heading, topic in sections]
        services = open_services(LITERAL, empty=True)
        list(services.documents.ingest(LOCAL_OWNER, [make_pdf(*pages, title="Rules of the harbour")]))
        return services, services.answers.suggestions.first(LOCAL_OWNER, only(services).id, LITERAL)

    return build


def test_what_headings_ask_is_asked_as_it_would_be_typed(offered):
    services, questions = offered(
        ("HOW DO I PAY THE FEE IN OLDHAM?", "The fee is paid in Oldham when you pay at all: nine crowns."),
        ("Winter Storage", "Storage in winter is in the hall."),
        ("Overview", "These are all the pages."),
    )
    assert questions == ("How do I pay the fee in Oldham?", "What is said about “Winter Storage”?")
    turn = stored_of(asked(services, questions[0], LITERAL)).turn
    assert not turn.answer.refused
    assert turn.answer.citations[0].span.page == 1


def test_what_a_heading_names_is_asked_in_the_language_of_the_document(offered):
    german = (
        "Wer das möchte, schreibt dem Hafenamt vor dem ersten Mai und sagt, wie lang das Boot ist und wem es gehört. "
    )
    _, questions = offered(
        ("Winterlager", "Das Winterlager ist in der Halle."), ("Was kostet das Lager?", "Das Lager kostet wenig."),
        text=german,
    )  # fmt: skip
    assert questions == ("Was steht zu „Winterlager“?", "Was kostet das Lager?")


def test_the_sample_has_questions_of_its_own(services):
    questions = services.answers.suggestions.first(LOCAL_OWNER, only(services).id, BM25)
    assert len(questions) == 3
    assert services.answers.suggestions.first(LOCAL_OWNER, only(services).id, BM25) is questions
    for question in questions:
        assert not stored_of(asked(services, question, LITERAL)).turn.answer.refused


def test_accepted_questions_come_first_of_each_document_in_turn(open_services, letter):
    services = open_services(BM25)
    list(services.documents.ingest(LOCAL_OWNER, [letter]))
    sample, other = only_id(services, "harbour-heat.pdf"), only_id(services, "letter.pdf")
    before = services.answers.suggestions.first(LOCAL_OWNER, sample, BM25)
    assert services.answers.suggestions.accepted(LOCAL_OWNER) == ()
    list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0, per_passage=3), BM25))
    made = services.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW], [sample])
    assert services.answers.suggestions.first(LOCAL_OWNER, sample, BM25) == before  # nobody has accepted any
    accepted = services.training.synthesis.kept.decide(LOCAL_OWNER, made[0].id, Outcome.ACCEPTED)
    offered = services.answers.suggestions.first(LOCAL_OWNER, sample, BM25)
    assert offered == (accepted.text, *before[:2])
    assert services.answers.suggestions.accepted(LOCAL_OWNER, (sample,)) == (accepted.text,)
    assert services.answers.suggestions.accepted(LOCAL_OWNER, (other,)) == ()
