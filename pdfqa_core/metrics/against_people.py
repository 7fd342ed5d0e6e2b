"""How far an automatic measure says what people say of the same answers: which of them can be trusted on these items.

Pure functions over scores and labels (1: people call the answer correct, 0: they do not).
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import agreement
from pdfqa_core.metrics.statistics import Interval, cluster_bootstrap, cluster_sums

if TYPE_CHECKING:
    from pdfqa_core.metrics.statistics import Floats


RESAMPLES = 2_000
FOLDS = 5
LEAST = 4  # items of which both labels must be there for anything to be said
_MOST_VALUES = 500  # different scores that intervals tell apart; of more the next ones count as one


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval; None where it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """What a measure's scores are worth on `n` items that people judged; `unscored` of theirs it gave no score.

    `spearman` and `kendall` (tau-b) are correlations of score and label; `auroc` is the chance that an answer which
    people call correct has the higher score than one which they do not, ties counting half. `kappa` is Cohen's, of
    people and the scores at a threshold: chosen on the other folds, never on the items that it is tried on.
    `threshold` is the median of those that were chosen. `note` says what is undefined and why.
    """

    measure: str
    n: int
    unscored: int
    spearman: Estimate = Estimate()
    kendall: Estimate = Estimate()
    auroc: Estimate = Estimate()
    kappa: Estimate = Estimate()
    threshold: float | None = None
    note: str = ""


def against_people(
    measure: str,
    scores: Sequence[float | None],
    labels: Sequence[float | None],
    *,
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Trust:
    """Return what the scores of a measure are worth; `scores[i]` and `labels[i]` (1, 0 or None) are of the same item.

    `clusters[i]` names what item i shares with others: clusters are resampled for the intervals, and are never parted
    between folds. Raises UsageError if the lengths differ or a label is neither 0 nor 1.
    Sources: Spearman 1904; Kendall 1945 (tau-b); Hanley and McNeil 1982 (AUROC); Cohen 1960; percentile bootstrap over
    clusters, Davison and Hinkley 1997, section 3.8.
    """
    if len(scores) != len(labels):
        raise UsageError(f"There are {len(scores)} scores and {len(labels)} labels.", "Give one of each for an item.")
    if not {*labels} <= {0, 1, None}:
        raise UsageError("Labels are 1 (correct) or 0 (incorrect).", "Leave out items that people did not judge.")
    both = [
        (score, int(label), cluster)
        for score, label, cluster in zip(scores, labels, clusters or range(len(scores)), strict=True)
        if score is not None and label is not None
    ]
    unscored = sum(label is not None for label in labels) - len(both)
    x, y, groups = [one for one, _, _ in both], [one for _, one, _ in both], [one for _, _, one in both]
    if len(both) < LEAST or len({*y}) < 2 or len({*x}) < 2:
        return Trust(measure, len(both), unscored, note=_why_not(x, y))
    from scipy.stats import kendalltau, spearmanr
    from sklearn.metrics import roc_auc_score

    sums = cluster_sums(_counts(x, y), groups)
    points = (float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic), float(roc_auc_score(y, x)))
    spearman, kendall, auroc = (
        _estimate(point, cluster_bootstrap(sums, statistic, seed=seed, resamples=resamples))
        for point, statistic in zip(points, (_spearman, _kendall, _auroc), strict=True)
    )
    kappa, threshold, note = _held_out(x, y, groups, seed, resamples)
    return Trust(measure, len(both), unscored, spearman, kendall, auroc, kappa, threshold, note)


def best_threshold(scores: Sequence[float], labels: Sequence[int]) -> float:
    """Return the score from which on calling an answer correct agrees best (by kappa) with the labels."""
    import numpy as np

    counts = _counts(scores, labels, most=len(scores)).sum(axis=0)
    values = np.unique(np.asarray(scores, dtype=float))
    cuts = np.array([values[0], *((values[:-1] + values[1:]) / 2)])
    wrong, right = counts[:, 0], counts[:, 1]
    from_here = np.cumsum((wrong + right)[::-1])[::-1]
    rightly = np.cumsum(right[::-1])[::-1]
    wrongly = from_here - rightly
    agreed = (rightly + wrong.sum() - wrongly) / len(scores)
    share, true = from_here / len(scores), right.sum() / len(scores)
    chance = share * true + (1 - share) * (1 - true)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappas = np.where(chance < 1, (agreed - chance) / (1 - chance), -1.0)
    return float(cuts[int(np.argmax(kappas))])


def thresholds_of_folds(
    scores: Sequence[float], labels: Sequence[int], groups: Sequence[Hashable], seed: int
) -> tuple[list[float], list[float]]:
    """Return the thresholds that agree best with all folds but one, of each fold, and of each item's.

    Items of one group are in one fold. Nothing is returned where all items of the other folds have one label.
    """
    names = list(dict.fromkeys(groups))
    random.Random(seed).shuffle(names)  # noqa: S311 - not a secret
    fold_of = {name: place % FOLDS for place, name in enumerate(names)}
    folds = [fold_of[group] for group in groups]
    chosen: dict[int, float] = {}
    for fold in sorted({*folds}):
        others = [place for place, own in enumerate(folds) if own != fold]
        if len({labels[place] for place in others}) < 2:
            return [], []
        chosen[fold] = best_threshold([scores[place] for place in others], [labels[place] for place in others])
    return list(chosen.values()), [chosen[fold] for fold in folds]


def _held_out(
    x: Sequence[float], y: Sequence[int], groups: Sequence[Hashable], seed: int, resamples: int
) -> tuple[Estimate, float | None, str]:
    """Return kappa over the items of all folds, each judged by the threshold of the others."""
    from statistics import median

    thresholds, by_item = thresholds_of_folds(x, y, groups, seed)
    if not thresholds:
        return Estimate(), None, "Too few conversations to choose a threshold on some and try it on others."
    said = [str(int(score >= threshold)) for score, threshold in zip(x, by_item, strict=True)]
    found = agreement(said, [str(one) for one in y], labels=("0", "1"), clusters=groups, seed=seed, resamples=resamples)
    return Estimate(found.kappa, found.low, found.high), median(thresholds), ""


def _why_not(x: Sequence[float], y: Sequence[int]) -> str:
    if len(x) < LEAST:
        return f"Items with a score and a label: {len(x)}; {LEAST} are needed."
    if len({*y}) < 2:
        return f"People call all of the answers {'correct' if y[0] else 'incorrect'}, so no score can tell them apart."
    return "The scores are all the same."


def _estimate(value: float, bounds: Interval) -> Estimate:
    return Estimate(value, bounds.low, bounds.high)


def _counts(x: Sequence[float], y: Sequence[int], most: int = _MOST_VALUES) -> Floats:
    """Return a 1 for each item at its score's place and its label, as (items, scores in order, 2)."""
    import numpy as np

    values, places = np.unique(np.asarray(x, dtype=float), return_inverse=True)
    if len(values) > most:
        places = places * most // len(values)
    counts = np.zeros((len(x), int(places.max()) + 1, 2))
    counts[np.arange(len(x)), places, np.asarray(y)] = 1
    return counts


def _auroc(counts: Floats) -> Floats:
    import numpy as np

    wrong, right = counts[:, :, 0], counts[:, :, 1]
    below = np.cumsum(wrong, axis=1) - wrong / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((right * below).sum(axis=1) / (right.sum(axis=1) * wrong.sum(axis=1)))


def _kendall(counts: Floats) -> Floats:
    """Return tau-b of scores with labels of two kinds: (C - D) / sqrt(pairs apart in score · pairs apart in label)."""
    import numpy as np

    wrong, right = counts[:, :, 0].sum(axis=1), counts[:, :, 1].sum(axis=1)
    total, tied = wrong + right, counts.sum(axis=2)
    apart = (total * (total - 1) - (tied * (tied - 1)).sum(axis=1)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((2 * _auroc(counts) - 1) * wrong * right / np.sqrt(apart * wrong * right))


def _spearman(counts: Floats) -> Floats:
    """Return the correlation of the scores' mean ranks with the labels."""
    import numpy as np

    tied = counts.sum(axis=2)
    total = tied.sum(axis=1, keepdims=True)
    ranks = np.cumsum(tied, axis=1) - (tied - 1) / 2 - (total + 1) / 2  # about their mean
    share = counts[:, :, 1].sum(axis=1) / total[:, 0]
    top = (ranks * counts[:, :, 1]).sum(axis=1)
    spread = (ranks**2 * tied).sum(axis=1) * total[:, 0] * share * (1 - share)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(top / np.sqrt(spread))
