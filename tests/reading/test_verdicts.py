"""Sentences whose own numbers contradict the word that compares them."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.verdicts import misordered, sets_against


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


@pytest.mark.parametrize(
    ("sentence", "half"),
    [
        ("Northwind Standard covers emergency room services, while Northwind Health Plus does not.", True),
        ("Plus covers glasses, but Standard doesn't.", True),
        ("Unlike Plus, which does, Standard covers no glasses.", True),
        ("Standard covers glasses, while Plus covers contact lenses too.", False),
        ("The pump runs at night but is not heard in the flats.", False),
        ("It does not.", False),
    ],
)
def test_half_a_clause_has_nothing_to_compare(sentence: str, half: bool) -> None:
    assert sets_against(sentence) is half
