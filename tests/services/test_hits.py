"""What is found for a question: in one document that it names, in all of a document, with the words that are meant."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, answers
from pdfqa_core.settings import BY_MODEL
from tests.services.helpers import BM25, LITERAL, METERS, asked, only, stored_of

HYBRID = LITERAL.changed("retrieval", retriever="hybrid")


def test_a_question_that_names_its_document_is_searched_for_there(open_services, make_pdf):
    services = open_services(LITERAL)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(["Meters cost 9 crowns."], name="town_budget.pdf")]))
    answer = stored_of(asked(services, "What do the meters cost in the town budget?")).turn.answer
    names = services.documents.filenames(LOCAL_OWNER)
    assert {names[hit.passage.document_id] for hit in answer.hits} == {"town_budget.pdf"}
    assert answer.rewriting == "Searched in “town_budget.pdf”, which the question names."
    answer = stored_of(asked(services, "What do the meters cost?")).turn.answer
    assert len({names[hit.passage.document_id] for hit in answer.hits}) == 2
    assert answer.rewriting == ""


BUDGET = "The budget of the town is 9 million crowns in the year 2023."


@pytest.mark.parametrize(("question", "count"), [("What are these about?", 2), ("Sum up the budget", 1)])
def test_a_summary_is_of_all_documents_or_of_the_one_that_is_named(
    open_services, make_pdf, monkeypatch, question, count
):
    monkeypatch.setattr(answers, "asks_for_summary", lambda question, meaning: True)
    services = open_services(HYBRID)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf([BUDGET], name="budget.pdf")]))
    answer = stored_of(asked(services, question)).turn.answer
    assert answer.outcome == "answer"
    assert answer.citations
    assert len({hit.passage.document_id for hit in answer.hits}) == count


def test_a_summary_that_the_model_writes_is_an_answer_with_its_times(open_services, make_pdf, fake_llm, monkeypatch):
    monkeypatch.setattr(answers, "asks_for_summary", lambda question, meaning: True)
    settings = HYBRID.changed("reading", reader="generative").changed("llm", model="smollm2-135m")
    services = open_services(settings, llm=fake_llm)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf([BUDGET], name="budget.pdf")]))
    fake_llm.enqueue([BUDGET])
    answer = stored_of(asked(services, "Sum up the budget", settings)).turn.answer
    assert (answer.reader, answer.outcome) == ("generative", "answer")
    assert {"read", "check", "first_token", "write", "total"} <= answer.seconds.keys()


def test_a_document_that_is_removed_while_it_is_searched_is_named(open_services, monkeypatch):
    services = open_services(LITERAL)
    opened = services.index.opened_in_time

    def removed_meanwhile(*given):
        index = yield from opened(*given)
        services.documents.remove(LOCAL_OWNER, only(services).id)
        return index

    monkeypatch.setattr(services.index, "opened_in_time", removed_meanwhile)
    with pytest.raises(UsageError, match="removed while it was asked about"):
        asked(services, METERS)


def test_the_reader_follows_the_model_unless_one_is_chosen(open_services, fake_llm):
    auto = BM25.changed("reading", reader=BY_MODEL)
    tiny, large = auto.changed("llm", model="smollm2-135m"), auto.changed("llm", model="qwen2.5-1.5b")
    services = open_services(tiny, llm=fake_llm)
    assert services.answers.reader_name(tiny) == "extractive"
    assert services.answers.reader_name(tiny.changed("reading", reader="generative")) == "generative"
    assert stored_of(asked(services, METERS)).turn.answer.reader == "extractive"
    assert open_services(large, llm=fake_llm).answers.reader_name(large) == "generative"
