"""The model gives a part of what is asked for: the amount or the names left out are quoted from what it cites."""

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


VOTE = "Against it voted Ada Low and two members of the Greens, Ben Oak and Cy Ash. The chair, Dora Elm, voted for it."


@pytest.mark.parametrize(
    ("question", "said", "whole"),
    [
        ("And who voted against the wall?", "Ada Low voted against it.", True),
        ("Who voted against the wall?", "Ada Low, Ben Oak and Cy Ash voted against it.", False),
        ("Who voted for it?", "The chair, Dora Elm, voted for it.", False),
        ("How did Ada Low vote?", "Ada Low voted against it.", False),
    ],
)
def test_names_that_are_joined_to_the_one_given_are_quoted_where_people_are_asked_for(fake_llm, question, said, whole):
    fake_llm.enqueue([said])
    _, got, _ = read(GenerativeReader(fake_llm), question, hits(VOTE))
    assert got.text == (f"{said} {VOTE.partition(' The')[0]}" if whole else said)


def test_the_name_that_is_given_may_be_the_last_one(fake_llm):
    vote = "The charge was carried by 8 votes to 6. All five Labour members and Ada Low voted against the charge."
    fake_llm.enqueue(["Ada Low voted against the charge."])
    _, got, _ = read(GenerativeReader(fake_llm), "Who voted against the charge?", hits(vote))
    assert got.text.endswith("charge. All five Labour members and Ada Low voted against the charge.")
