"""Which words of the passages are meant by misspelt ones of a question."""

from __future__ import annotations

import pytest

from pdfqa_core.retrieval import Index, Spelling, in_both_spellings
from pdfqa_core.types import Passage, Query, Span

TEXTS = (
    "Hearing care services are covered. Types of hearing aids.", "Health insurance should cover services. Tips, tips.",
    "Contact us about the types of plans. A type of TMJ pain.",
)  # fmt: skip
WORDS = {"contract", "cover", "flats", "health", "care", "the", "of"}


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    passages = [Passage(f"p{n}", (Span("d", n, 0, len(text)),), text) for n, text in enumerate(TEXTS, 1)]
    return Spelling(Index.in_memory(passages).passages_by_term, WORDS.__contains__)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("What typs of hearin servises?", {"typs": "types", "hearin": "hearing", "servises": "services"}),
        ("What shuold Helth insurence do?", {"shuold": "should", "Helth": "Health", "insurence": "insurance"}),
        ("What about the contract?", {}),
        ("Is healthcare covered?", {"healthcare": "health care"}),
        ("Is thecare or careof a word?", {}),  # of "the" and "of" nothing is made
        ("Who invented dynamite?", {}),
        ("Is TMY covered?", {}),
        ("Is it fre, or 45 dolars?", {}),
        ("", {}),
    ],
)
def test_the_words_of_the_documents_are_found_for_misspelt_ones(spelling, typed, meant):
    assert spelling.corrections(typed) == meant


def test_a_right_question_has_no_misspelt_words(spelling):
    assert spelling.corrections(" ".join(TEXTS)) == {}


def test_of_words_as_near_the_more_frequent_is_taken():
    passages = [Passage(f"p{n}", (Span("d", n, 0, 5),), text) for n, text in enumerate(("hatch", "hitch", "hitch"), 1)]
    spelling = Spelling(Index.in_memory(passages).passages_by_term, WORDS.__contains__)
    assert spelling.corrections("hxtch") == {"hxtch": "hitch"}


def test_nothing_is_found_without_passages():
    assert Spelling(Index.in_memory([]).passages_by_term, WORDS.__contains__).corrections("hearin") == {}


def test_both_spellings_are_searched_for_and_a_word_within_another_stays(spelling):
    query = in_both_spellings(Query("hearin or hearing?"), spelling.corrections)
    assert query.text == "hearin or hearing?"
    assert query.lexical == (("hearin or hearing?", 1.0), ("hearing", 1.0))
    assert query.dense == (("hearin or hearing?", 0.5), ("hearing or hearing?", 0.5))
    assert in_both_spellings(Query("hearing?"), spelling.corrections) == Query("hearing?")


def test_british_spelling_is_no_mistake():
    texts = ("The summaries and the analyst, colouring.", "Centred labels, travels and theatre.")
    passages = [Passage(f"p{n}", (Span("d", n, 0, len(text)),), text) for n, text in enumerate(texts, 1)]
    american = {"summarize", "analyzed", "labor", "labors", "theaters", "theater", "labeled"}
    spelling = Spelling(Index.in_memory(passages).passages_by_term, american.__contains__)
    assert spelling.corrections("Summarise what was analysed: labours labour, labelled, theatres") == {}
    assert spelling.corrections("sumaries") == {"sumaries": "summaries"}
