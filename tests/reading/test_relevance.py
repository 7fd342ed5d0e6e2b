"""How well sentences fit a question: by the words they share, rare ones first, by meaning, and by what they follow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from pdfqa_core.reading.evidence import BEFORE, MEANING_WEIGHT, NEXT, Meaning, Vectors, quotes, relevance
from pdfqa_core.types import Hit
from tests.reading.helpers import hit, hits

LEAVE, DOGS, CATS = "Leave is paid.", "Dogs may come along.", "Cats sleep."
ASKED = "Is there leave?"
BEFORE_THAT = "And dogs?"


def scored(question: str, found: Sequence[Hit], meaning: Meaning | None = None, before: str = "") -> list[float]:
    candidates = [quote for one in found for quote in quotes(one, longest=1)]
    return relevance(question, candidates, meaning, before=before)


def vectors(texts: Sequence[str]) -> Vectors:
    """Return made-up directions: leave is near the question, dogs are near the one before, cats are opposite."""
    known = {ASKED: (1.0, 0.0), BEFORE_THAT: (0.0, 1.0), LEAVE: (0.8, 0.6), DOGS: (0.0, 1.0), CATS: (-1.0, 0.0)}
    return np.asarray([known[text] for text in texts], dtype=np.float32)


def test_a_sentence_has_the_share_of_the_questions_words_of_which_rare_ones_count_more():
    often, rare = math.log(1 + 3 / 3), math.log(1 + 3 / 2)  # in two of the three sentences, in one
    found = hits("The plan covers dogs.", "The plan covers food.", CATS)
    assert scored("Which plan has dogs?", found) == pytest.approx([1, often / (often + rare), 0])


def test_a_word_that_no_sentence_has_counts_against_all():
    (score,) = scored("Is leave for pilots?", hits(LEAVE))
    assert score == pytest.approx(math.log(1 + 1 / 2) / (math.log(1 + 1 / 2) + math.log(1 + 1)))


def test_the_meaning_counts_beside_the_words_and_an_opposite_one_is_worth_nothing():
    said = 1 - MEANING_WEIGHT
    assert scored(ASKED, hits(LEAVE, CATS), Meaning(vectors)) == pytest.approx([said + MEANING_WEIGHT * 0.8, 0])


def test_a_sentence_behind_a_good_one_is_nearly_as_good_within_its_passage():
    found = [hit(f"{LEAVE} {DOGS} {CATS}"), hit(DOGS, 2, page=2)]
    assert scored(ASKED, found) == pytest.approx([1, NEXT, NEXT * NEXT, 0])


def test_the_question_before_counts_less_than_the_question():
    leave, dogs, cats = scored(ASKED, hits(LEAVE, DOGS, CATS), before=BEFORE_THAT)
    assert (leave, dogs, cats) == pytest.approx((1 / (1 + BEFORE), BEFORE / (1 + BEFORE), 0))
    assert scored(ASKED, hits(LEAVE, DOGS), before=" ") == scored(ASKED, hits(LEAVE, DOGS))
