import pytest

from pdfqa_core.reading.outcomes import declines


@pytest.mark.parametrize(
    "reply",
    [
        "Insufficient context.",
        "I don't know.",
        "I’m sorry, but I cannot answer this question based on the passages.",
        "The passages do not mention a parking space.",
        "The context provided does not contain this. The text above does not say more.",
        "There is no information about parking.",
        "The price is not mentioned in the passages.",
        "The text provides no information about it.",
        "This cannot be determined from the given text.",
    ],
)
def test_a_reply_that_declines(reply):
    assert declines(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Dental care is not covered by the plan.",
        "The plan does not include eye exams.",
        "You cannot use the card abroad.",
        "The deductible is $2,000. The passages do not mention the year.",
        "No, employees do not get a parking space.",
        "The contract does not specify a date of delivery.",
    ],
)
def test_an_answer_that_says_no_does_not_decline(reply):
    assert not declines(reply)
