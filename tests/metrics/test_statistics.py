from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.statistics import Summary, holm, paired_difference, permutation_test, summarise


def test_unscored_items_are_counted_and_not_zero() -> None:
    result = summarise([1.0, None, 0.0, 1.0, None, 1.0])
    assert (result.n, result.unscored, result.mean) == (4, 2, 0.75)
    assert 0 <= result.low < 0.75 < result.high <= 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Summary(0, 0, None, None, None)),
        ([None, None], Summary(0, 2, None, None, None)),
        ([0.5], Summary(1, 0, 0.5, None, None)),
        ([0.5, 0.5, None], Summary(2, 1, 0.5, None, None)),
    ],
)
def test_too_little_for_an_interval(values: list[float | None], expected: Summary) -> None:
    assert summarise(values) == expected


def test_a_proportion_of_equal_values_has_an_exact_interval() -> None:
    """Known answers of Clopper and Pearson for 5 of 5 and 0 of 10."""
    for values, low, high in (([1.0] * 5, 0.4782, 1), ([0.0] * 10, 0, 0.3085)):
        found = summarise(values, proportion=True)
        assert (found.low, found.high, found.exact) == (*(pytest.approx(one, abs=5e-5) for one in (low, high)), True)
        other = summarise(values)  # as MRR: nothing is known of values that were not seen
        assert (other.mean, other.low, other.high, other.exact) == (found.mean, None, None, False)
    same = paired_difference([1.0] * 5, [1.0] * 5)
    assert (same.low, same.high) == (0, 0)  # no proportion: systems that never differ


def test_values_that_share_a_conversation_are_drawn_together() -> None:
    chance = random.Random(2)
    talks = [chance.random() for _ in range(40)]
    values = [min(1.0, max(0.0, talk + chance.gauss(0, 0.05))) for talk in talks for _ in range(5)]
    clusters = [number for number in range(40) for _ in range(5)]
    apart, together = summarise(values), summarise(values, clusters=clusters)
    assert together.mean == apart.mean
    assert together.high - together.low > 1.8 * (apart.high - apart.low)
    assert summarise([1.0, 1.0, 1.0, None], proportion=True, clusters="aabc").low == pytest.approx(0.025**0.5)
    assert summarise([1.0, 0.0], clusters="aa").low is None
    others = [value - chance.gauss(0.02, 0.04) for value in values]
    assert permutation_test(values, others, clusters=clusters) > 0
    assert paired_difference(values, others, clusters=clusters).low is not None
    assert permutation_test([1.0, 1.0], [0.0, 0.0], clusters="aa") is None


def test_the_interval_of_a_large_sample_is_close_to_the_normal_one() -> None:
    values = [float(i % 2) for i in range(400)]
    result = summarise(values)
    half = 1.96 * 0.5 / math.sqrt(400)
    assert result.low == pytest.approx(0.5 - half, abs=0.006)
    assert result.high == pytest.approx(0.5 + half, abs=0.006)


def test_a_paired_difference_uses_items_scored_on_both_sides() -> None:
    first, second = [0.9, 0.8, None, 0.7, 1.0], [0.5, 0.5, 0.1, None, 0.4]
    result = paired_difference(first, second)
    assert (result.n, result.unscored) == (3, 2)
    assert result.mean == pytest.approx((0.4 + 0.3 + 0.6) / 3)
    assert result.low > 0
    with pytest.raises(UsageError, match="on 1 and 2 items"):
        paired_difference([1.0], [1.0, 0.0])


def test_the_permutation_test_is_exact_for_few_items():
    assert permutation_test([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]) == pytest.approx(2 / 2**4)
    assert permutation_test([0.5, 0.2], [0.5, 0.2]) == 1.0
    assert permutation_test([1.0, None, 1.0], [None, 0.0, 0.0]) is None
    with pytest.raises(UsageError, match="1 and 2 items"):
        permutation_test([1.0], [1.0, 0.0])


def test_holm_adjusts_by_rank():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


SCORES = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=12)


@given(st.lists(st.floats(0, 1), max_size=8), st.randoms())
def test_holm_keeps_the_order_and_never_lowers(p_values, rng):
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    places = rng.sample(range(len(p_values)), len(p_values))
    assert holm([p_values[place] for place in places]) == [adjusted[place] for place in places]


@given(SCORES)
@settings(deadline=None, max_examples=40)
def test_a_summary_counts_every_item_and_its_interval_holds_the_mean(values):
    found = summarise(values, resamples=99)
    assert found.n + found.unscored == len(values)
    assert (found.mean is None) == (found.n == 0)
    if found.low is not None and {*values} - {None} not in ({0.0}, {1.0}):
        assert found.low - 1e-9 <= found.high
        assert min(v for v in values if v is not None) - 1e-9 <= found.low
        assert found.high <= max(v for v in values if v is not None) + 1e-9
