"""Held-out scores: ranks, HR@k, MRR and the loss against hand-computed values, and which step counts as better."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pdfqa_core.retrieval import index_text
from pdfqa_core.training import Pair, RankedPairs, Scored
from tests.training.corpus import corpus


class Fixed:
    """A model whose similarities are given."""

    scale = 2.0

    def __init__(self, *rows):
        self.rows = np.asarray(rows, dtype=np.float32)

    def similarities(self, questions, passages, **_):
        assert self.rows.shape == (len(questions), len(passages))
        return self.rows


def ranked(*positives):
    passages = corpus()[:3]
    pairs = tuple(Pair(str(place), "?", passages[one]) for place, one in enumerate(positives))
    return RankedPairs(pairs, tuple(passages), index_text)


def test_the_loss_is_that_of_the_right_passage_among_all_by_the_models_own_scale():
    found = ranked(0, 2).score(Fixed([0.5, 0.0, 0.0], [1.0, 0.0, 0.5]), 1)
    first = math.log(math.e + 1 + 1) - 1
    second = math.log(math.e**2 + 1 + math.e) - 1
    assert (found.hit_rate, found.mrr) == (0.5, 0.75)
    assert found.loss == pytest.approx((first + second) / 2)


def test_a_scale_of_the_settings_comes_before_the_models_own():
    found = ranked(1).score(Fixed([0.0, 0.3, 0.0]), 1, 10.0)
    assert found.loss == pytest.approx(math.log(math.e**3 + 2) - 3)


def test_large_scores_do_not_overflow():
    assert ranked(0).score(Fixed([5000.0, 4990.0, 0.0]), 1).loss == pytest.approx(0, abs=1e-6)


def test_without_a_right_passage_or_a_question_there_is_no_loss():
    elsewhere = RankedPairs((Pair("0", "?", corpus("b")[0]),), tuple(corpus("a")[:2]), index_text)
    found = elsewhere.score(Fixed([0.5, 0.1]), 1)
    assert (found.hit_rate, found.mrr, found.loss) == (0, 0, None)
    assert RankedPairs((), tuple(corpus()), index_text).score(Fixed(), 1).loss is None


def test_the_loss_decides_only_where_all_else_is_equal():
    by_key = sorted(
        [
            Scored(1, 4, 1.0, 1.0, 0.2), Scored(1, 3, 1.0, 1.0, 0.4), Scored(1, 2, 1.0, 0.9, 0.1),
            Scored(1, 1, 0.9, 0.9, 0.0), Scored(1, 0, 1.0, 1.0),
        ],
        key=lambda one: one.key,
    )  # fmt: skip
    assert [one.step for one in by_key] == [1, 2, 0, 3, 4]
    assert Scored(1, 5, 1.0, 1.0, 0.2001).key == by_key[-1].key  # what the eye does not see is no gain
