"""Suggested questions: right English, about something, and none rather than a silly one."""

from __future__ import annotations

import pytest

from pdfqa_core.conversation.follow_ups import (
    ASKED_IN,
    Heading,
    Section,
    asked_about,
    asks,
    follow_ups,
    related_parts,
    says_again,
    topic,
)
from pdfqa_core.types import Span


def questions(*headings: str, asked: tuple[str, ...] = (), title: str = "") -> list[str]:
    sections = [Section(heading, "d", 1, title) for heading in headings]
    return [one.question for one in follow_ups(sections, asked)]


@pytest.mark.parametrize(
    ("heading", "named"),
    [
        ("Calendar Year Deductible", "Calendar Year Deductible"),
        ("3.2 Noise at the pier", "Noise at the pier"),
        ("IV. Cost of heat", "Cost of heat"),
        ("Item 1A. Noise and fees", "Noise and fees"),
        ("Pier 19: noise at night", "Pier 19: noise at night"),
        ("Note 3 – Financial Instruments", "Financial Instruments"),
        ("Retaliation Prohibited:", "Retaliation Prohibited"),
        ("SUMMARY OF YOUR COSTS", "Summary of your costs"),
        ("Coinsurance", "Coinsurance"),
        ("Fees", "Fees"),
    ],
)
def test_a_heading_names_its_topic(heading: str, named: str):
    assert topic(heading) == named


@pytest.mark.parametrize(
    ("heading", "text", "language", "said"),
    [
        ("Boats", "The boat lies here.", "english", True),
        ("Note 3 – Leases", "The lease of the pier ends.", "english", True),
        ("Note 3 – Leases", "This note is about the pier.", "english", False),
        ("Overview", "Boats lie here in winter.", "english", False),
        ("Other rules of storage", "Boats lie here in winter.", "english", False),
        ("Boats", "", "english", False),
        ("Kosten", "Es kostet drei Kronen.", "german", True),
        ("Allgemeines", "Boote liegen im Winter hier.", "german", False),
        ("Généralités", "Les bateaux restent ici en hiver.", "french", False),
    ],
)
def test_whether_a_text_says_a_word_of_its_heading_again(heading: str, text: str, language: str, said: bool):
    assert says_again(heading, text, language) is said


@pytest.mark.parametrize(
    "heading",
    [
        "3.", "2023", "", "the", "What about the", "and so on", "continued from the page before", "Costs. They rise",
        "Costs,", "Contents .......... 3", "| a | b |", "A heading that goes on and on for far too many words",
        "$5,000 / $10,000", "Are there any exceptions?", "See the table of the",
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
    assert questions("Should I know about it?", "Who are they?") == []


def test_parts_of_the_section_and_of_the_one_around_it_are_near():
    outline = [
        ("Plan", 1, 1), ("Costs", 2, 2), ("Deductible", 3, 2), ("Copay", 3, 3), ("Claims", 2, 4), ("Staff", 1, 6),
        ("Hiring", 2, 7),
    ]  # fmt: skip
    headings = [Heading(text, level, page, 10 * level, "") for text, level, page in outline]

    def near(page: int, start: int) -> list[str]:
        return [one.text for one in related_parts(headings, Span("d", page, start, start + 5))]

    assert near(2, 25) == ["Deductible", "Copay", "Claims"]
    assert near(3, 90) == ["Deductible"]
    assert near(5, 0) == ["Costs"]
    assert near(6, 50) == ["Hiring", "Plan"]
    assert near(1, 0) == []


def test_what_was_asked_is_not_suggested_again():
    asked = ("What is the calendar year deductible of the plan?",)
    assert questions("Calendar Year Deductible", "Coinsurance", "COINSURANCE", asked=asked) == [
        "What is said about “Coinsurance”?"
    ]


@pytest.mark.parametrize(("language", "heading"), [("german", "Kosten"), ("french", "Frais"), ("dutch", "Kosten")])
def test_what_was_asked_in_another_language_is_not_suggested_again(language: str, heading: str):
    section = Section(heading, "d", 1, language=language)
    (made,) = follow_ups([section], [])
    assert list(follow_ups([section], [made.question])) == []


def test_a_heading_asks_where_two_words_say_what_about():
    assert asks("What is covered abroad?")
    assert asks("Was kostet das Lager?", "german")
    assert not asks("Are there any exceptions?")
    assert not asks("Fees and deposits")


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


def test_a_question_of_a_heading_tells_its_heading():
    for language in ASKED_IN:
        for title, words in (("", "Coinsurance"), ("The Plan", "Coinsurance · The Plan")):
            (made,) = follow_ups([Section("Coinsurance", "d", 1, title, language)], [])
            assert asked_about(made.question) == words
    assert asked_about("What is covered abroad?") == ""


def test_a_heading_that_says_the_title_once_more_is_none_to_ask_about():
    assert questions("Pressure washer KESTREL HD 140", "Safety", title="Manual KESTREL HD 140") == [
        "What does Manual KESTREL HD 140 say about “Safety”?"
    ]
    assert questions("The heat pump", title="Heat from the harbour") == [
        "What does Heat from the harbour say about “The heat pump”?"
    ]
