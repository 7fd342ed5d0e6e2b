"""Follow-ups that name another period become the last question for that period."""

import pytest

from pdfqa_core.conversation import Concatenation
from pdfqa_core.conversation.periods import for_another_period

INCOME = ("What was the net income in 2023?", "Net income was $96,995 million.")
QUARTER = ("What were iPad net sales in the third quarter of 2023?", "They were $5,791 million.")
JANUARY = ("How much electricity was used in January 2023?", "82.1 MWh.")
UNDATED = ("What was the turnover of the harbour?", "In 2022 the harbour turned over €4 million.")


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        ([INCOME], "And the year before?", "What was the net income in 2022?"),
        ([INCOME], "what about the previous year", "What was the net income in 2022?"),
        ([INCOME], "And the following year?", "What was the net income in 2024?"),
        ([INCOME], "And in 2019?", "What was the net income in 2019?"),
        ([INCOME], "2021?", "What was the net income in 2021?"),
        ([INCOME], "What about fiscal 2021?", "What was the net income in 2021?"),
        ([INCOME], "How much was it the year before that?", "What was the net income in 2022?"),
        ([QUARTER], "And the quarter before?", "What were iPad net sales in the second quarter of 2023?"),
        ([QUARTER], "And in the first quarter?", "What were iPad net sales in the first quarter of 2023?"),
        ([QUARTER], "And the second quarter of 2022?", "What were iPad net sales in the second quarter of 2022?"),
        ([QUARTER], "And the year before?", "What were iPad net sales in the third quarter of 2022?"),
        ([("What was EPS in Q1 2023?", "$1.88")], "And the previous quarter?", "What was EPS in Q4 2022?"),
        ([("Profit of the 4th quarter?", "5")], "And the quarter before?", "Profit of the 3rd quarter?"),
        ([JANUARY], "And the month before?", "How much electricity was used in December 2022?"),
        ([JANUARY], "And in March?", "How much electricity was used in March 2023?"),
        ([UNDATED], "And the year before?", "What was the turnover of the harbour in 2021?"),
        ([UNDATED], "And in 2020?", "What was the turnover of the harbour in 2020?"),
        ([INCOME, ("And the year before?", "$99,803 million.")], "And the year before that?",
         "What was the net income in 2021?"),
    ],
)  # fmt: skip
def test_the_last_question_is_asked_for_another_period(history, question, expected):
    assert for_another_period(question, history) == expected


@pytest.mark.parametrize(
    ("history", "question"),
    [
        ([], "And the year before?"),
        ([INCOME], "And?"),
        ([INCOME], "And for families?"),
        ([INCOME], "Why was the year before better?"),
        ([INCOME], "What was the net income the year before?"),
        ([INCOME], "And the quarter before?"),
        ([("How did sales change from 2021 to 2022?", "They rose.")], "And the year before?"),
        ([("What is the deductible?", "It is $2,000.")], "And the year before?"),
        ([("Profit of the first quarter?", "5")], "And the quarter before?"),  # of which year?
        ([("How much is it?", "In 2022 it was 5.")], "And the year before?"),
        ([INCOME], "May I see it?"),
    ],
)
def test_what_is_not_clear_is_left_to_other_rules(history, question):
    assert for_another_period(question, history) == ""


def test_it_is_searched_and_read_as_a_question_that_stands_alone():
    found = Concatenation().rewrite("And the year before?", [INCOME])
    assert found.question == "What was the net income in 2022?"
    assert found.query.text == found.question
    assert not found.leans
    assert Concatenation(language="german").rewrite("And the year before?", [INCOME]).question != found.question
