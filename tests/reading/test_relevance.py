"""Which sentence a question wants: by rare words, and by what is asked of the document rather than by its name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdfqa_core.reading.matching import quotes
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.relevance import RANK_BONUS, relevance
from tests.reading.helpers import hit

NAMED = "With PerksPlus, employees stay healthy."
ASKED = "Food and supplements are left out."
AXES = ("perksplus", "food")


def of_words(texts):
    """A vector per text: which of two words it has, the name of the document three times as heavy."""
    rows = np.asarray([[3.0 * (AXES[0] in text.lower()), float(AXES[1] in text.lower()), 0.1] for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def scored(question, *texts, heading="", meaning=None):
    found = [replace(one, passage=replace(one.passage, heading=heading)) for one in [hit(" ".join(texts))]]
    candidates = [quote for one in found for quote in quotes(one, longest=1)]
    assert [quote.text for quote in candidates] == list(texts)
    return relevance(question, candidates, meaning)


def test_nothing_is_scored_without_sentences():
    assert relevance("Why?", []) == []


def test_a_sentence_without_a_word_of_the_question_has_no_score_and_no_bonus():
    none, some = scored("What about food?", NAMED, ASKED)
    assert none == 0
    assert some == pytest.approx(1 + RANK_BONUS)


def test_the_name_of_the_document_does_not_outweigh_what_is_asked_of_it():
    question, meaning = "Does PerksPlus pay for food?", Meaning(of_words)
    unknown = scored(question, NAMED, ASKED, meaning=meaning)
    assert unknown[0] > unknown[1]
    known = scored(question, NAMED, ASKED, heading="PerksPlus: What is not covered", meaning=meaning)
    assert known[1] > known[0]


def test_a_question_of_nothing_but_the_name_is_scored_as_it_is():
    named, other = scored("What is PerksPlus?", NAMED, ASKED, heading="PerksPlus", meaning=Meaning(of_words))
    assert named > other
