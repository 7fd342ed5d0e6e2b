"""Which measure can be trusted: correlations with people, thresholds on held-out folds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.against_people import (
    _auroc,
    _counts,
    _kendall,
    _spearman,
    against_people,
    best_threshold,
)


def data(n: int, skill: float, seed: int = 1) -> tuple[list[float | None], list[float | None]]:
    rng = random.Random(seed)
    labels = [float(rng.random() < 0.6) for _ in range(n)]
    return [skill * label + rng.gauss(0, 0.5) for label in labels], list(labels)


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=4, max_size=40)


@given(PAIRS)
def test_resampled_statistics_are_those_of_scipy_and_sklearn(pairs: list[tuple[int, int]]) -> None:
    x, y = [float(score) for score, _ in pairs], [label for _, label in pairs]
    if len({*x}) < 2 or len({*y}) < 2:
        return
    counts = _counts(x, y).sum(axis=0)[None]
    assert _spearman(counts)[0] == pytest.approx(spearmanr(x, y).statistic)
    assert _kendall(counts)[0] == pytest.approx(kendalltau(x, y).statistic)
    assert _auroc(counts)[0] == pytest.approx(roc_auc_score(y, x))


def test_a_good_measure_and_a_worthless_one() -> None:
    good, noise = against_people("good", *data(200, 1.2)), against_people("noise", *data(200, 0.0))
    assert good.auroc.low is not None
    assert good.auroc.low > 0.85
    assert noise.auroc.low < 0.5 < noise.auroc.high
    assert good.kappa.value > 0.5
    assert noise.kappa.value < 0.2
    for found in (good, noise):
        for one in (found.spearman, found.kendall, found.auroc, found.kappa):
            assert one.low <= one.value <= one.high
    assert against_people("good", *data(200, 1.2)) == good


def test_the_threshold_is_never_chosen_on_the_items_it_is_tried_on() -> None:
    """Noise with as many different scores as items: chosen and tried on the same items kappa would be over 0."""
    kappas, flattered = [], []
    for seed in range(30):
        scores, labels = data(40, 0.0, seed)
        kappas.append(against_people("noise", scores, labels, seed=seed, resamples=0).kappa.value)
        cut = best_threshold(scores, [int(one) for one in labels])
        flattered.append(cohen_kappa_score([score >= cut for score in scores], labels))
    assert np.mean(kappas) < 0.05
    assert np.mean(flattered) > 0.1


def test_the_best_threshold_parts_what_can_be_parted() -> None:
    assert best_threshold([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]) == 0.5
    assert best_threshold([1.0, 1.0, 0.0, 1.0], [1, 1, 0, 0]) == 0.5


def test_turns_of_a_conversation_stay_together() -> None:
    scores, labels = data(120, 0.8)
    copies = [place // 6 for place in range(120)]
    alike = [scores[6 * talk] for talk in copies], [labels[6 * talk] for talk in copies]
    together = against_people("m", *alike, clusters=copies)
    apart = against_people("m", *alike)
    assert together.auroc.high - together.auroc.low > 1.5 * (apart.auroc.high - apart.auroc.low)


def test_what_cannot_be_told_is_said() -> None:
    one_kind = against_people("m", [0.1, 0.5, 0.2, 0.3, None], [1, 1, 1, 1, 1])
    assert (one_kind.n, one_kind.unscored, one_kind.auroc.value) == (4, 1, None)
    assert one_kind.note == "People call all of the answers correct, so no score can tell them apart."
    assert against_people("m", [0.5] * 4, [1, 0, 1, 0]).note == "The scores are all the same."
    assert against_people("m", [0.5], [1]).note == "Items with a score and a label: 1; 4 are needed."
    two_talks = against_people("m", [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], clusters="aabb")
    assert two_talks.auroc.value == 1
    assert "Too few conversations" in two_talks.note
    with pytest.raises(UsageError, match="2 scores and 1 labels"):
        against_people("m", [1.0, 2.0], [1])
    with pytest.raises(UsageError, match="1 \\(correct\\) or 0"):
        against_people("m", [1.0], [3])
