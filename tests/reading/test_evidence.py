"""Which sentences of passages a model is shown where not all of them fit."""

from __future__ import annotations

from pdfqa_core.reading.evidence import Evidence, best, gather
from tests.reading.helpers import hit, hits


def chosen(question: str, text: str, words: int) -> str:
    """Return what is shown of a passage where so many words fit."""

    def fits(evidence: Evidence) -> bool:
        return sum(len(shown.split()) for shown in evidence.texts()) <= words

    found = best(question, gather(hits(text), 1), fits)
    assert found is not None
    return found.texts()[0]


def test_a_sentence_that_leans_on_the_best_one_is_shown_with_it():
    text = (
        "The pump reached a performance factor of 3.13. That is a little short of the promise. Dogs may come along. "
        "A factor is a ratio."
    )
    shown = chosen("Which performance factor did the pump reach?", text, 17)
    assert shown == "The pump reached a performance factor of 3.13. That is a little short of the promise."


def test_lines_of_a_table_of_contents_are_left_out():
    contents = "1 Results by winter 2\n\n2 The first winter 3\n\n3 Costs of winter 4\n\n"
    shown = chosen("What was the first winter like?", f"{contents}The first winter was cold. Fish were few.", 30)
    assert shown == "The first winter was cold. Fish were few."


def test_few_labels_with_numbers_are_no_table_of_contents():
    shown = chosen("How many dogs are there?", "Dogs 12\n\nCats 7\n\nThey live in the yard.", 30)
    assert shown.startswith("Dogs 12\n\nCats 7")


def test_the_row_that_is_asked_for_comes_before_prose():
    table = "Costs:\n\n| | 2023 |\n| --- | --- |\n| Office rent | $ 20 |\n| Net income | $ 50 |"
    prose = "Net income rose as the income of the net business did. Net income is what is left of income."
    assert chosen("What was the net income?", f"{table}\n\n{prose}", 6) == "Costs:\nNet income: 2023: $ 50"


def test_marks_of_footnotes_do_not_hide_the_row_that_is_asked_for():
    table = "Net sales:\n\n| | 2022 |\n| --- | --- |\n| iPhone® (1) | $ 65 (2) |\n| Mac (1)(2) | $ 49 |"
    prose = "Net sales of iPhone and the net sales of others are net sales of iPhone and others."
    assert chosen("What were the net sales of iPhone?", f"{table}\n\n{prose}", 8).startswith(
        "Net sales:\niPhone: 2022: $ 65"
    )


def test_an_item_of_a_list_comes_with_the_line_that_introduces_it():
    text = (
        "Lessons are part of the programme. Some things are not covered.\n\nThese include:\n\n• Travel\n\n"
        "• Food and supplements\n\nGyms have food and supplements of their own brand in their own shops."
    )
    shown = chosen("Are food and supplements paid?", text, 12)
    assert shown == "Some things are not covered.\n\nThese include: … • Food and supplements"


def test_the_items_of_a_list_that_is_asked_for_come_before_other_sentences():
    text = (
        "Our values guide us.\n\nCompany values:\n\n1. Quality: Parts are made well. Each is measured.\n\n"
        "2. Honesty.\n\nValues of stocks fall and rise. Our company buys values."
    )
    shown = chosen("What are the company's values?", text, 20)
    assert shown.startswith("Company values:\n\n1. Quality: Parts are made well.")
    assert "2. Honesty." in shown


def test_a_paragraph_ends_a_list():
    text = "Values:\n\n• Quality\n\nThe canteen opens at noon.\n\n• Coffee"
    evidence = gather(hits(text), 1)
    best_of = best("Which values are there?", evidence, lambda part: len(part.places) <= 2)
    assert best_of is not None
    assert best_of.texts() == ["Values:\n\n• Quality"]
    coffee = best("Who drinks coffee?", evidence, lambda part: len(part.places) <= 1)
    assert coffee is not None
    assert coffee.texts() == ["• Coffee"]  # without a line that is not its own


def test_a_list_goes_on_in_a_passage_that_overlaps():
    found = [hit("Company values:\n\n• Quality\n\n• Honesty", 1, start=0), hit("• Honesty\n\n• Safety", 2, start=28)]
    evidence = gather(found, 2)
    best_of = best("What are the company values?", evidence, lambda part: len(part.places) <= 4)
    assert best_of is not None
    assert [quote.text for quote in (best_of.sentences[place] for place in best_of.places)] == [
        "Company values:", "• Quality", "• Honesty", "• Safety",
    ]  # fmt: skip
