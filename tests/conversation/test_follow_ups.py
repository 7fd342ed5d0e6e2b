"""Suggested questions: right English, about something, and none rather than a silly one."""

from __future__ import annotations

import pytest

from pdfqa_core.conversation.follow_ups import Section, follow_ups, topic


def questions(*headings: str, asked: tuple[str, ...] = (), title: str = "") -> list[str]:
    sections = [Section(heading, "d", 1, title) for heading in headings]
    return [one.question for one in follow_ups(sections, asked)]


@pytest.mark.parametrize(
    ("heading", "named"),
    [
        ("Calendar Year Deductible", "Calendar Year Deductible"),
        ("3.2 Noise at the pier", "Noise at the pier"),
        ("Section 4 Cost of heat", "Cost of heat"),
        ("Retaliation Prohibited:", "Retaliation Prohibited"),
        ("SUMMARY OF YOUR COSTS", "Summary of your costs"),
        ("Coinsurance", "Coinsurance"),
        ("COVERED SERVICES: Virtual Care", "Virtual Care"),
        ("YOUR COSTS - CONTINUITY OF CARE", "Continuity of care"),
    ],
)
def test_a_heading_names_its_topic(heading: str, named: str):
    assert topic(heading) == named


@pytest.mark.parametrize(
    "heading",
    [
        "Overview", "Tips", "Exceptions:", "3.", "2023", "Table 4", "", "the", "What about the", "and so on",
        "continued from the page before", "Costs. They rise", "Costs,", "Contents .......... 3", "| a | b |",
        "A heading that goes on and on for far too many words", "$5,000 / $10,000", "Are there any exceptions?", "No",
        "See the table of the",
    ],
)  # fmt: skip
def test_what_names_nothing_makes_no_question(heading: str):
    assert questions(heading) == []


def test_headings_become_questions_and_questions_stay_as_they_are():
    assert questions("Balance Billing Protection", "What is covered abroad?", "Know your limits") == [
        "What is said about “Balance Billing Protection”?",
        "What is covered abroad?",
        "What is said about “Know your limits”?",
    ]
    assert questions("Are there any tips I should know about?", "Does it cover eye exams?") == []


def test_what_was_asked_is_not_suggested_again():
    asked = ("What is the calendar year deductible of the plan?",)
    assert questions("Calendar Year Deductible", "Coinsurance", "COINSURANCE", asked=asked) == [
        "What is said about “Coinsurance”?"
    ]


def test_one_of_two_headings_on_the_same_topic_is_enough():
    assert questions("Acupuncture", "Tips for Acupuncture", "Benefits of Acupuncture") == [
        "What is said about “Acupuncture”?"
    ]


def test_the_document_is_named_where_there_are_several():
    assert questions("Coinsurance", title="Northwind Standard") == [
        "What does Northwind Standard say about “Coinsurance”?"
    ]
    for title in ("a_file_name", "A title that is much too long to be read within one suggested question"):
        assert questions("Coinsurance", title=title) == ["What is said about “Coinsurance”?"]
