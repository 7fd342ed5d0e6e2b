import pytest

from pdfqa_core.reading.question_type import asks_twice, question_type


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Does the plan cover glasses?", "boolean"), ("And is it free?", "boolean"), ("isn't it free?", "boolean"),
        ("Can you explain the deductible?", "abstractive"), ("Do you know when it was released?", "extractive"),
        ("Is Wellington on the north or the south island?", "extractive"), ("How do I file a claim?", "abstractive"),
        ("Why was it denied?", "abstractive"), ("Describe the appeal.", "abstractive"),
        ("Can you tell me how many days I have?", "abstractive"), ("How many days of leave are there?", "extractive"),
        ("How much is the copay?", "extractive"), ("How much is it, and why?", "abstractive"),
        ("What is the deductible?", "extractive"), ("Who pays?", "extractive"), ("deductible", "extractive"),
        ("", "extractive"),
    ],
)  # fmt: skip
def test_the_type_of_a_question(question, expected):
    assert question_type(question) == expected


@pytest.mark.parametrize(
    ("question", "twice"),
    [
        ("Which refrigerant does the heat pump use, and how much of it?", True),
        ("When was it built? And what did it cost?", True),
        ("Who pays and to whom?", True),
        ("How much is the deductible of the Standard and the Plus plan?", False),
        ("Is it so?", False),
    ],
)
def test_a_question_that_asks_for_two_things(question, twice):
    assert asks_twice(question) is twice
