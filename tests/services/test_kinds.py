"""Kinds of questions through the services: what is searched, who reads it, and the reader by model."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.settings import BY_MODEL
from pdfqa_core.types import Progress, Retrieved, Support
from tests.services.helpers import BM25, LITERAL, METERS, asked, only, stored_of
from tests.serving_fakes import WordEncoder


def test_a_document_is_summarised_section_by_section_without_being_judged(open_services):
    services = open_services(LITERAL.changed("reading", confidence_threshold=1))
    events = asked(services, "What is this document about?")
    answer = stored_of(events).turn.answer
    assert not answer.refused
    assert answer.confidence is None
    assert "1 Purpose: In 2019 the council of Kestrel Bay decided" in answer.text
    assert len(answer.text.splitlines()) == len(answer.citations) == len(answer.hits)
    assert sum(isinstance(event, Progress) and event.phase == "reading sections" for event in events) == len(
        answer.hits
    )


def test_a_summary_of_a_document_with_the_model_begins_with_what_it_is_about(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    fake_llm.enqueue(["The report is about a heat pump."] + ["Bananas are yellow and sweet."] * 12)
    answer = stored_of(asked(services, "Summarise this document")).turn.answer
    assert answer.text.startswith("The report is about a heat pump.\n")
    assert "Bananas" not in answer.text
    assert (answer.reader, answer.model) == ("generative", "fake")


def test_a_comparison_is_read_whole_by_the_models_with_its_instruction(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    fake_llm.enqueue(["The heat pump delivered 1,179 MWh in the first winter."] * 2)
    answer = stored_of(asked(services, "Compare the first winter with the second winter")).turn.answer
    assert "Searched for “first winter” and for “second winter”." in answer.rewriting
    prompt = fake_llm.history[0][-1].content
    assert "Compare the two" in prompt
    assert prompt.count("Passage ") >= 3


def test_a_comparison_is_judged_by_each_side(open_services):
    services = open_services(LITERAL.changed("reading", confidence_threshold=0.35))
    both = stored_of(asked(services, "Compare the first winter with the second winter")).turn.answer
    assert not both.refused
    one = stored_of(asked(services, "Compare the heat pump with the vegetarian canteen lunch")).turn.answer
    assert one.refused
    assert "Least is found for “What is vegetarian canteen lunch?”" in one.notes[0]


def shelf(open_services, make_pdf):
    """Open services on the sample, a lab report and an invoice."""
    services = open_services(LITERAL.changed("reading", confidence_threshold=0.35))
    lab = ["Solar cells were cooled in the lab.", "The warranty of the cells holds for ten years."]
    bill = ["The warranty of the dishwasher holds for 24 months.", "The price is 649 euros."]
    made = [make_pdf(lab, name="lab_report.pdf"), make_pdf(bill, name="invoice.pdf")]
    list(services.documents.ingest(LOCAL_OWNER, made))
    return services


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Give me a summary of the lab report", "lab_report.pdf"),
        ("Summarise the invoice", "invoice.pdf"),
    ],
)
def test_a_named_document_is_summarised_as_a_whole(open_services, make_pdf, question, name):
    services = shelf(open_services, make_pdf)
    answer = stored_of(asked(services, question)).turn.answer
    names = services.documents.filenames(LOCAL_OWNER)
    assert {names[hit.passage.document_id] for hit in answer.hits} == {name}
    assert answer.rewriting.startswith("Summarised “")
    assert not answer.refused
    assert answer.confidence is None


def test_a_section_is_summarised_where_its_heading_is_asked_for(open_services, make_pdf):
    services = shelf(open_services, make_pdf)
    answer = stored_of(asked(services, "Summarise the section on complaints")).turn.answer
    assert "Read the section “" in answer.rewriting
    assert "omplaints" in answer.rewriting
    assert not answer.refused


def test_a_question_that_names_its_document_is_searched_for_there(open_services, make_pdf):
    services = open_services(LITERAL)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(["Meters cost 9 crowns."], name="town_budget.pdf")]))
    answer = stored_of(asked(services, "What do the meters cost in the town budget?")).turn.answer
    names = services.documents.filenames(LOCAL_OWNER)
    assert {names[hit.passage.document_id] for hit in answer.hits} == {"town_budget.pdf"}
    assert answer.rewriting == "Searched in “town_budget”, which the question names."
    answer = stored_of(asked(services, "What do the meters cost?")).turn.answer
    assert len({names[hit.passage.document_id] for hit in answer.hits}) == 2
    assert answer.rewriting == ""


def test_this_document_is_the_one_that_the_last_answer_is_about(open_services, make_pdf):
    services = open_services(LITERAL)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(["Meters cost 9 crowns in town."], name="budget.pdf")]))
    (budget,) = services.documents.document_ids(LOCAL_OWNER, ["budget.pdf"])
    first = stored_of(asked(services, "What do the meters cost in the town?", document_ids=[budget]))
    asked_next = "What does this document say of refrigerants?"
    second = stored_of(asked(services, asked_next, conversation_id=first.conversation_id, document_ids=[])).turn.answer
    assert "Searched in “budget.pdf” alone, which the last answer is about." in second.notes
    names = services.documents.filenames(LOCAL_OWNER)
    assert {names[hit.passage.document_id] for hit in second.hits} <= {"budget.pdf"}
    alone = stored_of(asked(services, asked_next)).turn.answer
    assert not any("alone" in note for note in alone.notes)


def test_misspelt_words_are_searched_for_as_the_documents_spell_them_too(open_services, monkeypatch):
    monkeypatch.setattr(WordEncoder, "token_spans", lambda self, text: [(n, n + 1) for n in range(len(text))])
    question = "Is electrcity metered?"
    turn = stored_of(asked(open_services(LITERAL), question)).turn
    assert (turn.question, turn.standalone_question) == (question, question)
    assert turn.answer.rewriting == "Searched for “electricity” too."
    assert "lectricity" in turn.answer.hits[0].passage.text
    off = stored_of(asked(open_services(LITERAL.changed("retrieval", spelling=False)), question)).turn
    assert off.answer.rewriting == ""
    assert off.answer.hits != turn.answer.hits


def test_a_document_that_is_removed_while_it_is_searched_is_named(open_services, monkeypatch):
    services = open_services(LITERAL)
    opened = services.indexes.opened_in_time

    def removed_meanwhile(*given):
        index = yield from opened(*given)
        services.documents.remove(LOCAL_OWNER, only(services).id)
        return index

    monkeypatch.setattr(services.indexes, "opened_in_time", removed_meanwhile)
    with pytest.raises(UsageError, match="removed while it was asked about"):
        asked(services, METERS)


def test_kinds_can_be_turned_off(open_services):
    services = open_services(LITERAL.changed("reading", kinds=False))
    events = asked(services, "List all complaints")
    assert all(hit.retriever != "section" for event in events if isinstance(event, Retrieved) for hit in event.hits)
    assert stored_of(asked(open_services(LITERAL), "List all complaints")).turn.answer.hits[0].retriever == "section"


@pytest.mark.parametrize("question", ["List all complaints", "What is said about “Complaints”?"])
def test_the_section_is_the_one_that_the_question_names(open_services, question):
    services = open_services(LITERAL)
    answer = stored_of(asked(services, question)).turn.answer
    assert answer.rewriting == "Read the section “7 Complaints”."
    assert answer.hits[0].passage.heading.endswith("7 Complaints")


def test_what_a_section_says_is_told_in_its_own_words_with_exceptions(open_services, fake_llm, make_pdf):
    said = ("Dogs are welcome here.", "Upstairs they are not allowed.", "Phones have to be mute.")
    rules = ["<font size=16><b>House rules</b></font>", f"{said[0]} {said[1]}", said[2]]
    prices = ["<font size=16><b>Prices</b></font>", "A desk costs £10 for each day that it is used by a member."]
    services = open_services(empty=True, llm=fake_llm)
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(rules, prices, name="terms.pdf")]))
    answer = stored_of(asked(services, "What is said about “House rules”?")).turn.answer
    assert answer.text == "\n".join(said)
    assert fake_llm.history == []


def test_a_list_of_a_section_is_read_from_it_alone(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    fake_llm.enqueue(["- a complaint about the hum"])
    answer = stored_of(asked(services, "List all complaints")).turn.answer
    assert {hit.retriever for hit in answer.hits} == {"section"}


def test_where_no_heading_names_what_is_listed_no_section_is_claimed(open_services):
    services = open_services(LITERAL)
    answer = stored_of(asked(services, "List all pipes")).turn.answer
    assert answer.rewriting == ""
    assert answer.hits[0].retriever != "section"


def test_the_reader_follows_the_model_unless_one_is_chosen(open_services, fake_llm):
    auto = BM25.changed("reading", reader=BY_MODEL)
    tiny, large = auto.changed("llm", model="smollm2-135m"), auto.changed("llm", model="qwen2.5-1.5b")
    services = open_services(tiny, llm=fake_llm)
    assert services.answers.reader_name(tiny) == "extractive"
    assert services.answers.reader_name(tiny.changed("reading", reader="generative")) == "generative"
    assert stored_of(asked(services, METERS)).turn.answer.reader == "extractive"
    assert open_services(large, llm=fake_llm).answers.reader_name(large) == "generative"


def test_the_documents_that_speak_of_something_are_told_each_with_its_sentence(open_services, make_pdf):
    services = shelf(open_services, make_pdf)
    stored = stored_of(asked(services, "Which documents talk about the warranty?"))
    answer = stored.turn.answer
    assert sorted(answer.text.splitlines()) == [
        "- invoice: The warranty of the dishwasher holds for 24 months.",
        "- lab_report: The warranty of the cells holds for ten years.",
    ]
    assert answer.rewriting == "Looked for “warranty” in each of 3 documents."
    assert {sentence.support for sentence in answer.sentences} == {Support.SUPPORTED}
    assert [answer.text[one.start : one.end].startswith("The warranty") for one in answer.citations] == [True, True]
    names = services.documents.filenames(LOCAL_OWNER)
    assert {names[one.span.document_id] for one in answer.citations} == {"invoice.pdf", "lab_report.pdf"}


def test_what_no_document_speaks_of_is_an_ordinary_question(open_services, make_pdf):
    answer = stored_of(asked(shelf(open_services, make_pdf), "Which documents mention giraffes?")).turn.answer
    assert answer.refused
    assert "Looked for" not in answer.rewriting
