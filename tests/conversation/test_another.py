"""Follow-ups that name another thing become the last question about that."""

import numpy as np
import pytest

from pdfqa_core.conversation import Concatenation
from pdfqa_core.conversation.another import for_another_thing

FEE = "What is the fee for late payment?"
STUDIO = "How much does the Private Studio cost?"
KINDS = {"desk": "studio", "studio": "studio", "pump": "pump", "screen": "pump", "south": "way", "north": "way"}


def encode(texts):
    """Vectors of which those of one kind of thing are alike: 1 beside another of the kind, else 0."""
    names = sorted({*KINDS.values()})
    rows = []
    for text in texts:
        found = {kind for word, kind in KINDS.items() if word in text.casefold()}
        row = np.array([float(name in found) for name in names])
        rows.append(row / max(1.0, float(np.linalg.norm(row))))
    return np.asarray(rows)


@pytest.mark.parametrize(
    ("last", "question", "expected"),
    [
        (STUDIO, "and the fixed desk?", "How much does the fixed desk cost?"),
        (STUDIO, "What about the Hot Desk", "How much does the Hot Desk cost?"),
        ("When was the drum screen fitted?", "and the pump?", "When was the pump fitted?"),
        ("How tall is the north tower?", "And the south one?", "How tall is the south tower?"),
        ("What is the deductible for an individual?", "And for a family?", "What is the deductible for a family?"),
        (FEE, "and for cancelling?", "What is the fee for cancelling?"),
        ("How many helped in Bergen in 2022?", "And in Oslo?", "How many helped in Oslo in 2022?"),
        (
            "What did the board decide about dredging?",
            "and about the crane",
            "What did the board decide about the crane?",
        ),
        ("How many people helped?", "And in Oslo?", "How many people helped in Oslo?"),
        ("Thanks. When was the drum screen fitted?", "and the pump?", "When was the pump fitted?"),
    ],
)
def test_the_last_question_is_asked_about_another_thing(last, question, expected):
    assert for_another_thing(question, [(last, "")], encode) == expected


@pytest.mark.parametrize(
    ("last", "question", "language", "expected"),
    [
        (
            "Was kostet die Betreuung für 6 Stunden?",
            "und für 8 Stunden?",
            "german",
            "Was kostet die Betreuung für 8 Stunden?",
        ),
        ("Wie viele Besucher kamen im Juli?", "und im August?", "german", "Wie viele Besucher kamen im August?"),
        ("Wer hat gegen den Antrag gestimmt?", "und dafür?", "german", ""),
        ("Quel est le loyer de l'appartement ?", "Et pour le garage ?", "french", ""),
        ("Qui dirige le service de police ?", "et le service de santé ?", "french", ""),
    ],
)
def test_in_other_languages_a_common_preposition_tells_the_place(last, question, language, expected):
    assert for_another_thing(question, [(last, "")], None, language) == expected


@pytest.mark.parametrize(
    "question",
    [
        "and why?", "And the fixed desk, what does it cost?", "the fixed desk", "and it?", "And the last?", "and then?",
        "Okay. Should I?", "And the price of all other rooms that one can rent?", "", "  ", "and", "And for losing it?",
    ],
)  # fmt: skip
def test_what_asks_more_or_names_nothing_is_left_alone(question):
    assert for_another_thing(question, [(STUDIO, "£610")], encode) == ""


@pytest.mark.parametrize(
    ("last", "question", "expected"),
    [
        ("Which site has the most street lamps?", "and the fewest?", "Which site has the fewest street lamps?"),
        ("Which is the highest hill?", "what about the lowest one", "Which is the lowest hill?"),
        ("Which plan has the most members?", "and the cheapest?", ""),  # "the cheapest members" is nothing
        ("Which plan has the most interest?", "and the rest?", ""),
        ("Which site has the most lamps and the longest path?", "and the fewest?", ""),  # which of the two?
        ("Which site has the most lamps?", "and the most?", ""),
        ("Which of them has the most lamps?", "and the fewest?", ""),  # of whom?
    ],
)
def test_an_extreme_takes_the_place_of_the_other(last, question, expected):
    assert for_another_thing(question, [(last, "")], None) == expected


def test_nothing_takes_the_place_of_nothing():
    assert for_another_thing("and the fixed desk?", [], encode) == ""
    assert for_another_thing("and the fixed desk?", [("", "")], encode) == ""
    assert for_another_thing("and the fixed desk?", [("How much is it?", "£5")], encode) == ""  # what is “it”?
    assert for_another_thing("and the fixed desk?", [("Who is the chair?", "Ana")], encode) == ""  # unlike anything
    assert for_another_thing("and the pump?", [("How many screens do I have to give?", "2")], encode) == ""  # no count


def test_without_an_encoder_only_a_preposition_tells():
    assert for_another_thing("and the fixed desk?", [(STUDIO, "")], None) == ""
    assert for_another_thing("and for cancelling?", [(FEE, "")], None) == "What is the fee for cancelling?"


def test_another_period_and_another_thing_follow_each_other():
    history = [("How many helped in Bergen in 2022?", "9"), ("and the year before?", "7")]
    assert Concatenation().rewrite("And in Oslo?", history).question == "How many helped in Oslo in 2021?"
    history.append(("And in Oslo?", "3"))
    assert Concatenation().rewrite("and in 2020?", history).question == "How many helped in Oslo in 2020?"


def test_it_stands_alone_and_what_follows_leans_on_it():
    rewriter = Concatenation(encode=encode)
    found = rewriter.rewrite("and the fixed desk?", [(STUDIO, "£610")])
    assert (found.question, found.leans) == ("How much does the fixed desk cost?", False)
    after = rewriter.rewrite("Is it lockable?", [(STUDIO, "£610"), ("and the fixed desk?", "£240")])
    assert "fixed desk" in after.question
    assert "Private Studio" not in after.question


def test_only_the_last_question_and_the_one_that_opened_the_topic_are_added():
    history = [
        ("What is the deductible of the Standard plan?", ""), ("Is it higher than that of coinsurance?", ""),
        ("Does it count for dental care?", ""),
    ]  # fmt: skip
    shown = Concatenation().rewrite("Why is it so?", history).question
    assert shown == "Why is it so? (deductible, Standard plan, count, dental care)"
