"""What a model wrote that is no answer is put aside: a quote is asked for, then there is a refusal."""

from __future__ import annotations

import pytest

from pdfqa_core.reading import GenerativeReader
from pdfqa_core.reading.guard import counts_else, flaw, plainly
from pdfqa_core.reading.prompts import QUOTE
from pdfqa_core.types import Progress
from tests.reading.helpers import hits, read

PLAN = "The plan began in 2010. The deductible is $2,000 per year."
FLAWED = [
    "",
    "How much is the deductible?",
    "The answer to the question is:",
    'Passage 1: """',
    "Dragons sleep in May.",
]


@pytest.mark.parametrize("reply", FLAWED)
def test_what_is_no_answer_is_asked_for_again_as_a_quote(fake_llm, reply):
    fake_llm.enqueue([reply, "The deductible is $2,000 per year."])
    _, answer, events = read(GenerativeReader(fake_llm), "How much is the deductible?", hits(PLAN))
    assert answer.text == "The deductible is $2,000 per year."
    assert fake_llm.history[1][0].content.endswith(QUOTE)
    assert answer.notes[0].startswith("What the model wrote first was put aside: it ")
    assert Progress("asking for a quote") in events


@pytest.mark.parametrize("reply", FLAWED[:-1])
def test_after_two_of_them_the_nearest_sentences_are_the_answer(fake_llm, reply):
    fake_llm.enqueue([reply, reply])
    _, answer, _ = read(GenerativeReader(fake_llm), "How much is the deductible?", hits(PLAN))
    assert answer.text == "The deductible is $2,000 per year."
    assert [citation.verified for citation in answer.citations] == [True]
    assert "nearest to the question" in answer.notes[-1]


@pytest.mark.parametrize("replies", [(FLAWED[-1], "Dragons sleep until June."), (FLAWED[-1], ""), ("", FLAWED[-1])])
def test_what_has_no_support_and_no_quote_is_a_refusal(fake_llm, replies):
    fake_llm.enqueue(list(replies))
    _, answer, _ = read(GenerativeReader(fake_llm), "How much is the deductible?", hits(PLAN))
    assert answer.refused
    assert answer.citations == ()
    assert len(answer.notes) == 2


def test_a_quote_about_something_else_is_a_refusal(fake_llm):
    fake_llm.enqueue([FLAWED[-1], "Call us on Mondays."])
    found = hits("The deductible is $2,000 per year. Call us on Mondays.")
    _, answer, _ = read(GenerativeReader(fake_llm), "Which company insures the deductible?", found)
    assert answer.refused
    assert "quoted something else than was asked for" in answer.notes[-1]


TOWN = "Kestrel Bay had the plant built in 2021. It heats 84 flats and two schools."


def test_a_number_of_other_things_than_were_asked_for_is_a_refusal(fake_llm):
    fake_llm.enqueue(["The plant of Kestrel Bay heats 84 flats.", "It heats 84 flats and two schools."])
    _, answer, _ = read(GenerativeReader(fake_llm), "How many people live in Kestrel Bay?", hits(TOWN))
    assert answer.refused
    assert "counted something else than was asked for" in answer.notes[0]


@pytest.mark.parametrize(
    ("question", "text", "otherwise"),
    [
        ("How many people live in Kestrel Bay?", "The plant heats 84 flats.", True),
        ("How many people live in Kestrel Bay?", "About 3,000 live there, in 84 flats.", False),
        ("How many people live in Kestrel Bay?", "The 84 flats are home to 210 people.", False),
        ("How many small fish were found?", "In the basket were 4 fish.", False),
        ("How many days of leave are there?", "There are two weeks of leave.", False),
        ("How many flats does it have?", "84.", False),
        ("How much does it cost?", "It has 84 flats.", False),
        ("How many people live there?", "The text does not say so.", False),
    ],
)
def test_what_the_numbers_of_an_answer_count(question, text, otherwise):
    assert counts_else(text, question) is otherwise


@pytest.mark.parametrize(
    ("question", "text", "wrong"),
    [
        ("What is the name of the chief executive officer?", "The name is CEO.", "repeated the question"),
        ("What is the name of the chief executive officer?", "The name is Ada.", ""),
        ("What is the abbreviation of chief executive officer?", "The abbreviation is CEO.", ""),
    ],
)
def test_an_abbreviation_of_the_question_is_no_answer(question, text, wrong):
    assert flaw(text, question) == wrong


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ('The passage states that "The pump ran all winter."', "The pump ran all winter."),
        ("No. Passage 2 says that “Sales fell.” Costs rose.", "No. Sales fell. Costs rose."),
        ('The passages say that "cold water" is best.', 'The passages say that "cold water" is best.'),
        ('The north passage states that "It is deep."', 'The north passage states that "It is deep."'),
    ],
)
def test_a_quoted_sentence_stands_without_the_words_that_it_is_one(written, plain):
    assert plainly(written) == plain


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("It is paid. Additionally, the passage mentions that a form is needed.",
         "It is paid. Additionally, a form is needed."),
        ("The passage outlines that it is paid.", "It is paid."),
        ("No, it is not. According to Passage 1, in May it is left out.", "No, it is not. In May it is left out."),
        ("It is paid, according to Passage 1, in May.", "It is paid, in May."),
        ("Follow the tips provided in Passage 2, which are four.", "Follow the tips, which are four."),
        ("It was 3.13. The passage 2 also confirms this by saying 3.13. Passage 4 provides a table with 3.40.",
         "It was 3.13."),
        ("Passage 3 tells more. It was 3.13.", "It was 3.13."),
        ("Passage 3 provides a table.", "Passage 3 provides a table."),
        ("The rows listed in passage are old. The passage of time heals.",
         "The rows listed in passage are old. The passage of time heals."),
        ("Ships, the passage through Suez being closed, went round.",
         "Ships, the passage through Suez being closed, went round."),
    ],
)  # fmt: skip
def test_no_sentence_speaks_of_the_numbers_that_passages_have_in_the_prompt(written, plain):
    assert plainly(written) == plain


def test_numbers_of_passages_that_the_question_has_stay():
    told = "Passage 3 is about whales. They sing, as the lines given in Passage 3 say."
    assert plainly(told, "What is passage 3 about?") == told
    assert plainly(told, "What is it about?") == "They sing, as the lines say."


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("No:, dogs are not allowed upstairs.", "No, dogs are not allowed upstairs."),
        ('"Yes": the fee is waived.', "Yes, the fee is waived."),
        ("Yes.", "Yes."),
        ("No, it is closed.? It opens in May.", "No, it is closed. It opens in May."),
        ("Why? Because.", "Why? Because."),
    ],
)
def test_the_marks_behind_yes_and_no_and_sentences_are_plain(written, shown):
    assert plainly(written) == shown
