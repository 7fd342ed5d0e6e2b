"""Accuracy and HR@k of what people judged, by turn, intent and conversation."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pdfqa_core.metrics.human_results import (
    ACCURACY,
    CONVERSATION,
    INTENT,
    NO_INTENT,
    OVERALL,
    TURN,
    JudgedTurn,
    ResultRow,
    clustered_mean,
    human_results,
    majority,
)


def cells(rows: tuple[ResultRow, ...], group: str, measure: str) -> dict[str, tuple[float | None, int, int]]:
    chosen = [row for row in rows if (row.group, row.measure) == (group, measure)]
    return {row.value: (row.summary.mean, row.summary.n, row.summary.unscored) for row in chosen}


TURNS = (
    JudgedTurn("c1", 1, "extractive", 1.0, (0.0, 1.0)),
    JudgedTurn("c1", 2, "boolean", 0.0, (0.0, 0.0)),
    JudgedTurn("c2", 1, "extractive", 1.0, (1.0, None)),
    JudgedTurn("c2", 2, "", None, (None, None)),
)


def test_every_group_has_its_means_and_what_is_unscored() -> None:
    rows = human_results([("Ada", TURNS)], intents=("boolean", "extractive"))
    assert cells(rows, OVERALL, ACCURACY) == {"": (pytest.approx(2 / 3), 3, 1)}
    assert cells(rows, OVERALL, "HR@1") == {"": (pytest.approx(1 / 3), 3, 1)}
    assert cells(rows, OVERALL, "HR@2") == {"": (pytest.approx(2 / 3), 3, 1)}
    assert cells(rows, TURN, ACCURACY) == {"1": (1.0, 2, 0), "2": (0.0, 1, 1)}
    assert cells(rows, CONVERSATION, "HR@2") == {"c1": (0.5, 2, 0), "c2": (1.0, 1, 1)}
    assert cells(rows, INTENT, ACCURACY) == {"boolean": (0, 1, 0), "extractive": (1, 2, 0), NO_INTENT: (None, 0, 1)}
    assert list(cells(rows, INTENT, ACCURACY)) == ["boolean", "extractive", NO_INTENT]
    assert {row.measure for row in rows} == {ACCURACY, "HR@1", "HR@2"}
    assert next(row for row in rows if row.group == OVERALL).conversations == 2


def test_a_hit_is_unscored_where_an_open_passage_would_decide_it() -> None:
    assert JudgedTurn("c", 1, passages=(None, 1.0)).hit(2) == 1
    assert JudgedTurn("c", 1, passages=(None, 1.0)).hit(1) is None
    assert JudgedTurn("c", 1, passages=(0.0, None)).hit(1) == 0
    assert JudgedTurn("c", 1, passages=(0.0, None)).hit(2) is None
    assert JudgedTurn("c", 1, answer=0.0).hit(5) == 0  # judged, and nothing was found
    assert JudgedTurn("c", 1).hit(5) is None  # not judged at all


@pytest.mark.parametrize(
    ("values", "most"),
    [("11", "1"), ("10", ""), ("1", ""), ("", ""), ("110", "1"), ("1100", ""), ("abb", "b"), ("abc", "")],
)
def test_the_majority_is_more_than_half_of_two_or_more(values: str, most: str) -> None:
    assert majority([*values]) == most


def test_the_interval_is_the_percentile_bootstrap_over_conversations() -> None:
    rng = random.Random(3)
    groups = [[float(rng.random() < chance) for _ in range(9)] for chance in (0.2, 0.5, 0.6, 0.7, 0.9, 0.95)]
    values = [value for group in groups for value in group]
    clusters = [place for place, group in enumerate(groups) for _ in group]
    found = clustered_mean(values, clusters, resamples=20_000)
    draws = np.random.default_rng(7).integers(0, len(groups), (20_000, len(groups)))
    means = np.array([sum(group) for group in groups])[draws].sum(axis=1) / 54
    low, high = np.percentile(means, [2.5, 97.5])
    assert (found.low, found.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))
    alone = clustered_mean(values, range(len(values)), resamples=20_000)
    assert found.high - found.low > 1.5 * (alone.high - alone.low)  # turns of a conversation are alike
    assert clustered_mean(values, clusters, seed=1) == clustered_mean(values, clusters, seed=1)


def test_intervals_without_a_spread() -> None:
    exact = clustered_mean([1.0] * 6, "aabbcc", proportion=True)
    assert (exact.mean, exact.low, exact.high) == (1, pytest.approx(0.025 ** (1 / 3)), 1)
    assert clustered_mean([1.0] * 6, "aabbcc").low is None  # the lowest of four marks is no proportion
    single = clustered_mean([1.0, 0.0], "aa")
    assert (single.mean, single.low, single.high) == (0.5, None, None)
    nothing = clustered_mean([None], "a")
    assert (nothing.n, nothing.unscored, nothing.mean) == (0, 1, None)
