"""Sentences whose own numbers contradict the word that compares them."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.verdicts import misordered


@pytest.mark.parametrize(
    ("sentence", "contradicts"),
    [
        ("The rate was 15.8%, which is higher than the statutory rate of 21%.", True),
        ("The rate was 15.8%, which is lower than the statutory rate of 21%.", False),
        ("The rate of 12% is less than 10%.", True),
        ("Revenue of $1 billion exceeded the $2 billion of 2022.", True),
        ("Revenue of $3 billion exceeded the $2 billion of 2022.", False),
        ("Sales rose from $5 million to $3 million.", True),
        ("It increased from 20% in 2021 to 15% in 2022.", True),
        ("Sales fell from 5 to 3 units.", False),
        ("The fee is $45, $5 more than the $40 of last year.", False),
        ("Over 15 years, more than 200,000 people came.", False),
        ("The toll ranges from 136 to more than 200.", False),
        ("Sales declined by 3% from 2022 to 2023.", False),
    ],
)
def test_a_comparison_is_held_against_its_numbers(sentence, contradicts):
    assert misordered(sentence) is contradicts
