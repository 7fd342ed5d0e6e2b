"""Sentences that a small word, another part of the sentence or another unit makes wrong, and right ones beside them."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.checking import Checker, says_the_same
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Hit, Passage, Span, Support


def ticked(text: str, statement: str, question: str, language: str = "english") -> bool:
    hit = Hit(Passage("p", (Span("d", 1, 0, len(text)),), text, language=language), 1.0, 1, "")
    checked = result_of(Checker().check(statement, [hit], question=question))
    return all(one.support is Support.SUPPORTED for one in checked.sentences)


DAM = "The dam was completed in 1958 and the power station in 1964. It lies on the upper river."
DEBT = "At year end we had cash of $612 million and long-term debt of $1.1 billion."
INCOME = "Operating income rose 9 percent to $318 million, while net income fell 4 percent to $207 million."
DOOR = "The west entrance is locked at 9 pm and the east entrance at 11 pm."


@pytest.mark.parametrize(
    ("text", "question", "right", "wrong"),
    [
        (DAM, "When was the power station completed?", "The power station was completed in 1964.",
         "The power station was completed in 1958."),
        (DEBT, "How much long-term debt was there?", "Long-term debt was $1.1 billion.",
         "Long-term debt was $612 million."),
        (INCOME, "What was net income?", "Net income was $207 million.", "Net income was $318 million."),
        (DOOR, "When is the east entrance locked?", "The east entrance is locked at 11 pm.",
         "The east entrance is locked at 9 pm."),
        # a small word decides
        ("Net sales rose by $35 million to $420 million in 2023.", "How did net sales develop?",
         "Net sales rose by $35 million.", "Net sales rose to $35 million."),
        ("The motion was carried by seven votes to four.", "How was the vote?",
         "The motion was carried by seven votes to four.", "The motion was carried by four votes to seven."),
        ("Recovery was slower in older patients than in younger patients.", "In whom was recovery slower?",
         "Recovery was slower in older patients than in younger patients.",
         "Recovery was slower in younger patients than in older patients."),
        ("The battery lasts up to 18 hours on one charge.", "How long does the battery last?",
         "The battery lasts up to 18 hours.", "The battery lasts 18 hours on one charge."),
        ("The tenant must not sublet the flat unless the landlord agrees in writing.", "May the tenant sublet?",
         "The tenant must not sublet the flat unless the landlord agrees in writing.",
         "The tenant must not sublet the flat."),
        ("The rent is £1,240 a calendar month, payable in advance.", "What is the rent?",
         "The rent is £1,240 a calendar month.", "The rent is €1,240 a calendar month."),
        ("Staff may work from home two days a week.", "How often may staff work from home?",
         "Staff may work from home two days a week.", "Staff may work from home two days a month."),
        ("The dose was 50 mg once daily for twelve weeks.", "What was the dose?",
         "The dose was 50 mg once daily.", "The dose was 50 g once daily."),
        ("Gross margin declined to 41.2 percent, a fall of 1.4 percentage points.", "How did gross margin develop?",
         "Gross margin declined to 41.2 percent.", "Gross margin increased to 41.2 percent."),
        ("The report must be filed no later than 90 days after the event.", "When must the report be filed?",
         "The report must be filed at most 90 days after the event.",
         "The report must be filed no earlier than 90 days after the event."),
    ],
)  # fmt: skip
def test_what_is_said_of_two_things_in_one_sentence_and_a_small_word_are_told_apart(text, question, right, wrong):
    assert ticked(text, right, question)
    assert not ticked(text, wrong, question)


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("Schalten Sie das Gerät vor der Reinigung aus.", "Schalten Sie das Gerät vor der Reinigung aus.",
         "Schalten Sie das Gerät nach der Reinigung aus."),
        ("Frau Berger leitet den Einkauf, Herr Yilmaz den Vertrieb.", "Frau Berger leitet den Einkauf.",
         "Frau Berger leitet den Vertrieb."),
        ("Die Halle öffnet um 8 Uhr und schließt um 22 Uhr.", "Die Halle öffnet um 8 Uhr.",
         "Die Halle öffnet um 22 Uhr."),
        ("Der Mieter darf die Wohnung nur mit Zustimmung des Vermieters untervermieten.",
         "Der Mieter darf die Wohnung nur mit Zustimmung des Vermieters untervermieten.",
         "Der Mieter darf die Wohnung untervermieten."),
        ("Die Miete beträgt 870 Euro im Monat. Die Kaution von 2.610 Euro wird verzinst.",
         "Die Miete beträgt 870 Euro im Monat.", "Die Miete beträgt 2.610 Euro."),
    ],
)  # fmt: skip
def test_in_german_nothing_that_decides_is_left_out(text, right, wrong):
    assert ticked(text, right, "", "german")
    assert not ticked(text, wrong, "", "german")


def test_long_repetitions_are_not_tried_in_every_way():
    assert says_the_same("Der Hund " * 40, "Der Hund " * 200, "german")
    assert not says_the_same("Der Hund " * 40 + "schläft", "Der Hund " * 200, "german")
    assert not says_the_same("Der Hund " * 200, "Der Hund " * 300, "german")


def test_in_other_languages_small_words_count_too():
    text = "Les clés sont rendues après le départ."
    assert ticked(text, text, "", "french")
    assert not ticked(text, "Les clés sont rendues avant le départ.", "", "french")
