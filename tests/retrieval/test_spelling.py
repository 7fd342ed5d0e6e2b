"""Misspelt words of questions are put right by the words of the passages, others stay."""

from __future__ import annotations

import pytest

from pdfqa_core.retrieval import Index, Spelling
from pdfqa_core.types import Passage, Span

TEXTS = (
    "Hearing care services are covered. Types of hearing aids.", "Health insurance should cover services. Tips, tips.",
    "Contact us about the types of plans. A type of TMJ pain.",
)  # fmt: skip
WORDS = {"contract", "cover", "flats"}


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    passages = [Passage(f"p{n}", (Span("d", n, 0, len(text)),), text) for n, text in enumerate(TEXTS, 1)]
    return Spelling(Index.in_memory(passages).postings, WORDS.__contains__)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("What typs of hearin servises?", "What types of hearing services?"),
        ("What shuold Helth insurence do?", "What should Health insurance do?"),
        ("What about the contract?", "What about the contract?"),
        ("Who invented dynamite?", "Who invented dynamite?"),
        ("Is TMY covered?", "Is TMY covered?"),
        ("Is it fre, or 45 dolars?", "Is it fre, or 45 dolars?"),
        ("", ""),
    ],
)
def test_only_misspelt_words_of_the_documents_are_put_right(spelling, typed, meant):
    assert spelling.corrected(typed) == meant


def test_a_right_question_stays_as_it_is(spelling):
    assert spelling.corrected(" ".join(TEXTS)) == " ".join(TEXTS)


def test_of_words_as_near_the_more_frequent_is_taken():
    passages = [Passage(f"p{n}", (Span("d", n, 0, 5),), text) for n, text in enumerate(("hatch", "hitch", "hitch"), 1)]
    assert Spelling(Index.in_memory(passages).postings, WORDS.__contains__).corrected("hxtch") == "hitch"


def test_nothing_is_put_right_without_passages():
    assert Spelling(Index.in_memory([]).postings, WORDS.__contains__).corrected("hearin") == "hearin"
