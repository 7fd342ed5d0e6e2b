"""Names of a question that no page mentions: which words count as names, and what counts as mentioned."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.declining import CONFIDENCE, NOT_ANSWERED
from pdfqa_core.reading.outcomes import nothing_words
from pdfqa_core.reading.unmentioned import no_page_mentions, unmentioned
from pdfqa_core.types import Answer
from tests.reading.helpers import hits

KNOWN = {"apple", "germany", "revenue", "iphone", "net", "sales", "earnings", "intelligence", "contoso"}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What was the revenue of Tesla?", ("Tesla",)),
        ("What was Tesla's or Sony's revenue, and that of PlayStation?", ("Tesla", "Sony", "PlayStation")),
        ("What was the revenue of Apple?", ()),
        ("How much was sold to German customers?", ()),  # "Germany" is there
        ("What is the EPS in Q3, and the IRO's view?", ()),  # abbreviations stand for words
        ("What was sold in March, and on Monday?", ()),
        ("Tesla sold how many?", ()),  # any sentence begins so
        ("What Were The Net Sales Of Tesla?", ()),  # capitals say nothing here
        ("I am Maria. What was the revenue?", ()),
        ("I am Maria. What did Dell say of “Alienware”?", ("Dell", "Alienware")),
        ("what did tesla pay?", ()),
        ("", ()),
    ],
)
def test_names_that_no_page_mentions(question, names):
    assert unmentioned(question, KNOWN) == names


def test_a_misspelt_name_is_mentioned():
    assert unmentioned("Who leads Contosso?", {"acme"}) == ("Contosso",)
    assert unmentioned("Who leads Contosso?", {"acme"}, {"Contosso": "Contoso"}) == ()


def test_the_refusal_says_which():
    note = no_page_mentions(("Tesla", "Sony"))
    assert note == "No page mentions “Tesla” or “Sony”."
    refused = Answer("", refused=True, hits=tuple(hits("Apple sells phones.")), notes=(note, f"{CONFIDENCE} 0.10"))
    assert nothing_words(refused) == (NOT_ANSWERED, note)
