"""Agreement between two annotators: raw agreement, Cohen's kappa with its interval, and what explains it.

On ordinal scales kappa has weights too, so that a disagreement counts the more, the further the two labels lie apart:
κ_w = 1 - Σ w·observed / Σ w·expected, with w = |i - j| (linear) or (i - j)² (quadratic) over places on the scale.

Pure functions over labels; knows nothing of studies, files or screens.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.resampling import Interval, bootstrap, cluster_sums, exact_interval, turn_of

if TYPE_CHECKING:
    from pdfqa_core.metrics.resampling import Floats

RESAMPLES = 10_000
WEIGHTS = ("linear", "quadratic")
_LONGEST_SCALE = 101  # whole numbers that a scale is filled up to
_HIGH, _APART = 0.8, 0.2  # raw agreement, and AC1 above kappa, from which on a low kappa misleads
_WORDS = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


@dataclass(frozen=True, slots=True)
class Judgement:
    """One cell of the long format: what an annotator said about an item under a criterion.

    An item is a turn, a passage ("TURN#RANK") or anything else; `conversation` is that of the turn, where it is known.
    """

    item: str
    annotator: str
    criterion: str
    value: str
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class WeightedKappa:
    """κ_w with its 95 % bootstrap interval, None if that is undefined; `weights` is one of WEIGHTS."""

    weights: str
    kappa: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on the `n` items that both annotators judged; a number that is undefined is None.

    `agreement`: share of items with the same label, with its 95 % interval `agreement_low` to `agreement_high`, exact
    where it is 0 or 1. `kappa` with its 95 % bootstrap interval `low` to `high`.
    `pabak`, `ac1`: chance-corrected without the annotators' own label frequencies. `prevalence_index` and
    `bias_index`: 0 to 1, defined for two labels. `confusion[i][j]`: items that the first annotator gave `labels[i]`
    and the second `labels[j]`. `words`: kappa after Landis and Koch. `note`: sentences on what is undefined and why.
    `weighted`: kappa with linear and quadratic weights, for ordinal scales of more than two labels.
    """

    criterion: str
    annotators: tuple[str, str]
    n: int
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    agreement: float | None = None
    agreement_low: float | None = None
    agreement_high: float | None = None
    kappa: float | None = None
    low: float | None = None
    high: float | None = None
    pabak: float | None = None
    ac1: float | None = None
    prevalence_index: float | None = None
    bias_index: float | None = None
    words: str = ""
    note: str = ""
    weighted: tuple[WeightedKappa, ...] = ()


def agreement(
    first: Sequence[str],
    second: Sequence[str],
    *,
    labels: Sequence[str] = (),
    criterion: str = "",
    annotators: tuple[str, str] = ("first", "second"),
    ordinal: bool | None = None,
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Return the agreement of two annotators; `first[i]` and `second[i]` are their labels of the same item.

    `labels` gives the scale's labels in order; without it the ones that occur, sorted. `ordinal`: whether that order
    means something; None: it does where all labels are whole numbers, of which those between count as labels of the
    scale too. `clusters[i]` names what item i shares with others, as passages share a turn: they are resampled then.
    Raises UsageError if the two differ in length or hold a label that is not on the scale.

    Sources: Cohen 1960 (kappa), 1968 (with weights); Byrt, Bishop and Carlin 1993 (PABAK, for k labels
    (k·p_o - 1) / (k - 1); prevalence and bias index, here without sign); Gwet 2008 (AC1); percentile bootstrap over
    items, Efron and Tibshirani 1993, ch. 13, or over clusters, Davison and Hinkley 1997, section 3.8; Clopper and
    Pearson 1934 (exact interval).
    """
    if len(first) != len(second):
        raise UsageError(f"The annotators judged {len(first)} and {len(second)} items.", "Give the shared items only.")
    found = set(first) | set(second)
    if labels and not found <= set(labels):
        raise UsageError(f"{min(found - set(labels))!r} is not on the scale {', '.join(labels)}.")
    scale = tuple(labels) or ordered(list(found))
    each = _confusions(first, second, scale)
    confusion = tuple(tuple(map(int, row)) for row in each.sum(axis=0))
    counted = Agreement(criterion, annotators, len(first), scale, confusion)
    if not first:
        return replace(counted, note="The annotators share no item, so nothing can be compared.")
    observed = sum(confusion[i][i] for i in range(len(scale))) / len(first)
    prevalence, bias = _byrt_indices(confusion, len(first))
    occurring = ordered(list(found))  # draws depend on the labels' order: the same ratings have one interval
    sums = cluster_sums(_confusions(first, second, occurring), clusters)
    if observed in (0, 1):
        raw = exact_interval(observed, len(sums))
    else:
        raw = bootstrap(sums, _observed, seed=seed, resamples=resamples)
    described = replace(
        counted,
        agreement=observed,
        agreement_low=raw.low,
        agreement_high=raw.high,
        pabak=(len(scale) * observed - 1) / (len(scale) - 1) if len(scale) > 1 else observed,
        ac1=_gwet_ac1(confusion, observed, len(first)),
        prevalence_index=prevalence,
        bias_index=bias,
    )
    if len(first) < 2:
        return replace(described, note="Kappa needs at least 2 shared items, there is 1.")
    if len(found) == 1:
        label = next(iter(found))
        return replace(
            described,
            note=f"Both annotators gave every item the label {label!r}: agreement by chance would be complete too, "
            "so kappa is undefined.",
        )
    from sklearn.metrics import cohen_kappa_score

    def kappa_of(scale: tuple[str, ...], weights: str | None) -> tuple[float, Interval]:
        sums = cluster_sums(_confusions(first, second, scale), clusters)
        statistic = partial(_kappas, weights=_distances(len(scale), weights))
        kappa = float(cohen_kappa_score(list(first), list(second), labels=list(scale), weights=weights))
        return kappa, bootstrap(sums, statistic, seed=seed, resamples=resamples)

    kappa, interval = kappa_of(occurring, None)
    steps = whole_scale(scale) or (scale if ordinal else ()) if ordinal is not False else ()
    weighted = []
    for weights in WEIGHTS if len(steps) > 2 else ():
        value, bounds = kappa_of(steps, weights)
        weighted.append(WeightedKappa(weights, value, bounds.low, bounds.high))
    return replace(
        described, kappa=kappa, low=interval.low, high=interval.high, words=landis_koch(kappa),
        note=" ".join(filter(None, (_misleading(described, kappa), _interval_note(interval, resamples)))),
        weighted=tuple(weighted),
    )  # fmt: skip


def ordered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels once each: as numbers where all are numbers, else by their text."""
    try:
        return tuple(sorted(set(labels), key=float))
    except ValueError:
        return tuple(sorted(set(labels)))


def whole_scale(labels: Sequence[str]) -> tuple[str, ...]:
    """Return every step of the scale that whole numbers among the labels span; empty if they are not all such."""
    unique = set(labels)
    if not unique or not all(label.lstrip("-").isdecimal() and label == str(int(label)) for label in unique):
        return ()
    first, last = min(map(int, unique)), max(map(int, unique))
    return tuple(map(str, range(first, last + 1))) if last - first < _LONGEST_SCALE else ordered(labels)


def landis_koch(kappa: float) -> str:
    """Return the word for a kappa, from "poor" to "almost perfect". Source: Landis and Koch 1977, p. 165."""
    return next((word for bound, word in _WORDS if (kappa < 0 if bound == 0 else kappa <= bound)), "almost perfect")


def by_criterion(judgements: Iterable[Judgement]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the values by criterion, annotator and item. Raises UsageError if an annotator judged an item twice."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in judgements:
        given = found.setdefault(row.criterion, {}).setdefault(row.annotator, {})
        if row.item in given:
            raise UsageError(f"{row.annotator} judged {row.criterion!r} of item {row.item!r} twice.", "Keep one.")
        given[row.item] = row.value
    return found


def conversations_of(judgements: Iterable[Judgement]) -> dict[str, str]:
    """Return the conversation of each turn, where it is known."""
    return {turn_of(row.item): row.conversation for row in judgements if row.conversation}


def _gwet_ac1(confusion: tuple[tuple[int, ...], ...], observed: float, n: int) -> float:
    shares = [
        (sum(row) + sum(column)) / (2 * n) for row, column in zip(confusion, zip(*confusion, strict=True), strict=True)
    ]
    # With one label the share is 1 and chance agreement 0, however many labels the scale has.
    chance = sum(share * (1 - share) for share in shares) / max(1, len(shares) - 1)
    return float((observed - chance) / (1 - chance))


def _byrt_indices(confusion: tuple[tuple[int, ...], ...], n: int) -> tuple[float | None, float | None]:
    if len(confusion) == 1:
        return 1.0, 0.0
    if len(confusion) != 2:
        return None, None
    (a, b), (c, d) = confusion
    return abs(a - d) / n, abs(b - c) / n


def _confusions(first: Sequence[str], second: Sequence[str], labels: Sequence[str]) -> Floats:
    """Return the confusion matrix of each item, a single 1, as (items, labels, labels)."""
    import numpy as np

    place = {label: i for i, label in enumerate(labels)}
    cells = np.zeros((len(first), len(labels), len(labels)))
    cells[range(len(first)), [place[one] for one in first], [place[other] for other in second]] = 1
    return cells


def _observed(counts: Floats) -> Floats:
    """Return the raw agreement of each confusion matrix (…, labels, labels)."""
    import numpy as np

    return np.asarray(np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2)))


def _distances(size: int, weights: str | None) -> Floats:
    """Return what a disagreement costs by the places of the two labels; without weights all cost the same."""
    import numpy as np

    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    return np.minimum(apart, 1) if weights is None else apart ** (WEIGHTS.index(weights) + 1)


def _kappas(counts: Floats, weights: Floats) -> Floats:
    """Return κ_w of each confusion matrix (…, labels, labels), NaN where it is undefined."""
    import numpy as np

    shares = counts / counts.sum(axis=(1, 2), keepdims=True)
    expected = shares.sum(axis=2)[:, :, None] * shares.sum(axis=1)[:, None, :]
    top, bottom = (shares * weights).sum(axis=(1, 2)), (expected * weights).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > 1e-12, 1 - top / bottom, np.nan)


def _misleading(found: Agreement, kappa: float) -> str:
    """Return why kappa says little here; empty where it does not mislead. Source: Feinstein and Cicchetti 1990."""
    rows = [sum(row) for row in found.confusion]
    columns = [sum(column) for column in zip(*found.confusion, strict=True)]
    for name, counts in zip(found.annotators, (rows, columns), strict=True):
        if max(counts) == found.n:
            label = found.labels[counts.index(found.n)]
            return f"{name} gave every item the label {label!r}, so kappa can only be 0, whatever the other one says."
    if found.agreement is None or found.ac1 is None or found.agreement < _HIGH or found.ac1 - kappa < _APART:
        return ""
    shares = [(row + column) / (2 * found.n) for row, column in zip(rows, columns, strict=True)]
    label = found.labels[shares.index(max(shares))]
    return (
        f"Kappa is low although the annotators agree on {found.agreement:.0%} of the items, because "
        f"{max(shares):.0%} of their labels are {label!r} (prevalence paradox): read PABAK and AC1 beside it."
    ).replace("%", " %")


def _interval_note(interval: Interval, resamples: int) -> str:
    if interval.low is None:
        return "The items are too few or too much alike for an interval."
    if interval.undefined > resamples / 100:
        left_out = f"{interval.undefined:,} of {resamples:,} resamples"
        return f"{left_out} had one label only and were left out of the interval."
    return ""


for _name, _pretty, _formula, _source, _low, _judges in (
    ("agreement", "Raw agreement", "p_o: items with the same label / shared items", "", 0.0, True),
    ("kappa", "Cohen's kappa", "(p_o - p_e) / (1 - p_e)", "Cohen 1960", -1.0, True),
    *((f"kappa_{weights}", f"Weighted kappa, {weights}",
       f"1 - Σ w·observed / Σ w·expected, w = |i - j|{square} over places on the scale", "Cohen 1968", -1.0, True)
      for weights, square in zip(WEIGHTS, ("", "²"), strict=True)),
    ("pabak", "PABAK", "(k·p_o - 1) / (k - 1) for k labels: kappa as if all labels were equally frequent",
     "Byrt et al. 1993", -1.0, True),
    ("ac1", "Gwet's AC1",
     "(p_o - p_e) / (1 - p_e) with p_e = Σ π(1 - π) / (labels - 1), π: mean share of a label", "Gwet 2008", -1.0, True),
    ("prevalence_index", "Prevalence index",
     "|a - d| / n of the 2 × 2 table: how unequal the labels' frequencies are", "Byrt et al. 1993", 0.0, None),
    ("bias_index", "Bias index",
     "|b - c| / n of the 2 × 2 table: how differently the annotators use the labels", "Byrt et al. 1993", 0.0, None),
):  # fmt: skip
    measure(
        _name, _pretty, _formula, _source, low=_low, higher_is_better=_judges, group=Group.AGREEMENT
    )(agreement)  # fmt: skip
