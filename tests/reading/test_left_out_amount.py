"""Two things are asked for, and the model gives one: the amount is quoted from the sentence that the answer cites."""

from __future__ import annotations

import pytest

from pdfqa_core.reading import GenerativeReader
from pdfqa_core.types import Support
from tests.reading.helpers import hits, read

AMMONIA = "Its refrigerant is 68 kg of ammonia, kept in a gas-tight room. The pump has two compressors."


@pytest.mark.parametrize(
    ("question", "said", "answer"),
    [
        (
            "Which refrigerant is it, and how much of it?", "Its refrigerant is ammonia, kept in a gas-tight room.",
            f"Its refrigerant is ammonia, kept in a gas-tight room. {AMMONIA.partition(' The')[0]}",
        ),
        (
            "Which refrigerant is it?", "Its refrigerant is ammonia, kept in a gas-tight room.",
            "Its refrigerant is ammonia, kept in a gas-tight room.",
        ),
        ("How much refrigerant is it?", "Its refrigerant is 68 kg of ammonia.", "Its refrigerant is 68 kg of ammonia."),
    ],
)  # fmt: skip
def test_an_amount_that_was_asked_for_and_left_out_is_quoted(fake_llm, question, said, answer):
    fake_llm.enqueue([said])
    _, got, _ = read(GenerativeReader(fake_llm), question, hits(AMMONIA))
    assert got.text == answer
    assert all(sentence.support is Support.SUPPORTED for sentence in got.sentences)
