import pytest

from pdfqa_core.reading.question_type import question_type


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
