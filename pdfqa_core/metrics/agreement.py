"""Agreement between two annotators: raw agreement, Cohen's kappa with its interval, and what explains it.

On ordinal scales kappa has weights too, so that a disagreement counts the more, the further the two labels lie apart:
κ_w = 1 - Σ w·observed / Σ w·expected, with w = |i - j| (linear) or (i - j)² (quadratic) over places on the scale.

Pure functions over labels; knows nothing of studies, files or screens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import fsum, isfinite
from typing import TYPE_CHECKING

from pdfqa_core.csv_format import CsvTable, is_missing, label_of, read_csv, tidy
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.statistics import (
    Interval,
    cluster_bootstrap,
    cluster_sums,
    clusters_of,
    exact_interval,
    turn_of,
)

if TYPE_CHECKING:
    from pdfqa_core.metrics.statistics import Floats


RESAMPLES = 10_000
WEIGHTS = ("linear", "quadratic")
_WORD = 4  # letters from which on a label that differs in one of them looks misspelt
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
    titles: Mapping[str, str] | None = None,
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Return the agreement of two annotators; `first[i]` and `second[i]` are their labels of the same item.

    `labels` gives the scale's labels in order; without it the ones that occur, sorted. `ordinal`: whether that order
    means something; None: it does where all labels are whole numbers, of which those between count as labels of the
    scale too. `titles` are what the note calls the labels. `clusters[i]` names what item i shares with others, as
    passages share a turn: they are resampled then.
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
        raw = cluster_bootstrap(sums, _observed, seed=seed, resamples=resamples)
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
        label = _called(next(iter(found)), titles)
        return replace(
            described,
            note=f"Both annotators gave every item the label {label}: agreement by chance would be complete too, "
            "so kappa is undefined.",
        )
    from sklearn.metrics import cohen_kappa_score

    def kappa_of(scale: tuple[str, ...], weights: str | None) -> tuple[float, Interval]:
        sums = cluster_sums(_confusions(first, second, scale), clusters)
        statistic = partial(_kappas, weights=_distances(len(scale), weights))
        kappa = float(cohen_kappa_score(list(first), list(second), labels=list(scale), weights=weights))
        return kappa, cluster_bootstrap(sums, statistic, seed=seed, resamples=resamples)

    kappa, interval = kappa_of(occurring, None)
    steps = whole_scale(scale) or (scale if ordinal else ()) if ordinal is not False else ()
    weighted = []
    for weights in WEIGHTS if len(steps) > 2 else ():
        value, bounds = kappa_of(steps, weights)
        weighted.append(WeightedKappa(weights, value, bounds.low, bounds.high))
    return replace(
        described,
        kappa=kappa,
        low=interval.low,
        high=interval.high,
        words=landis_koch(kappa),
        note=" ".join(filter(None, (_misleading(described, kappa, titles), _interval_note(interval, resamples)))),
        weighted=tuple(weighted),
    )


def ordered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels once each: as numbers where all are numbers, else by their text."""
    return tuple(sorted(set(labels), key=float if _numbers(labels) else None))


def _numbers(labels: Iterable[str]) -> bool:
    try:
        return all(isfinite(float(label)) for label in labels)
    except ValueError:
        return False


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


def _called(label: str, titles: Mapping[str, str] | None) -> str:
    return f"“{titles[label]}”" if titles and label in titles else repr(label)


def _misleading(found: Agreement, kappa: float, titles: Mapping[str, str] | None) -> str:
    """Return why kappa says little here; empty where it does not mislead. Source: Feinstein and Cicchetti 1990."""
    rows = [sum(row) for row in found.confusion]
    columns = [sum(column) for column in zip(*found.confusion, strict=True)]
    for name, counts in zip(found.annotators, (rows, columns), strict=True):
        if max(counts) == found.n:
            label = _called(found.labels[counts.index(found.n)], titles)
            return f"{name} gave every item the label {label}, so kappa can only be 0, whatever the other one says."
    if found.agreement is None or found.ac1 is None or found.agreement < _HIGH or found.ac1 - kappa < _APART:
        return ""
    shares = [(row + column) / (2 * found.n) for row, column in zip(rows, columns, strict=True)]
    label = _called(found.labels[shares.index(max(shares))], titles)
    return (
        f"Kappa is low although the annotators agree on {found.agreement:.0%} of the items, because "
        f"{max(shares):.0%} of their labels are {label} (prevalence paradox): read PABAK and AC1 beside it."
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
    *(
        (
            f"kappa_{weights}",
            f"Weighted kappa, {weights}",
            f"1 - Σ w·observed / Σ w·expected, w = |i - j|{square} over places on the scale",
            "Cohen 1968",
            -1.0,
            True,
        )
        for weights, square in zip(WEIGHTS, ("", "²"), strict=True)
    ),
    (
        "pabak",
        "PABAK",
        "(k·p_o - 1) / (k - 1) for k labels: kappa as if all labels were equally frequent",
        "Byrt et al. 1993",
        -1.0,
        True,
    ),
    (
        "ac1",
        "Gwet's AC1",
        "(p_o - p_e) / (1 - p_e) with p_e = Σ π(1 - π) / (labels - 1), π: mean share of a label",
        "Gwet 2008",
        -1.0,
        True,
    ),
    (
        "prevalence_index",
        "Prevalence index",
        "|a - d| / n of the 2 × 2 table: how unequal the labels' frequencies are",
        "Byrt et al. 1993",
        0.0,
        None,
    ),
    (
        "bias_index",
        "Bias index",
        "|b - c| / n of the 2 × 2 table: how differently the annotators use the labels",
        "Byrt et al. 1993",
        0.0,
        None,
    ),
):
    measure(_name, _pretty, _formula, _source, low=_low, higher_is_better=_judges, group=Group.AGREEMENT)(agreement)


# ----------------------------------------------------------------------------------------------------
# Krippendorff's alpha: agreement of any number of annotators, with missing judgements, on four kinds of scales.
#
# α = 1 - D_o / D_e from the matrix of coincidences o: each item of m judgements adds 1 / (m - 1) for every ordered
# pair of its values. With n_c = Σ_k o_ck and n = Σ_c n_c, D_o = Σ o_ck δ²_ck / n and D_e = Σ n_c n_k δ²_ck / (n (n -
# 1)). Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; percentile bootstrap over items or
# clusters of them.

SCALES = ("nominal", "ordinal", "interval", "ratio")
ALPHA_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Alpha:
    """Alpha with its 95 % bootstrap interval over `n` items that have two or more judgements; None where undefined."""

    alpha: float | None
    low: float | None
    high: float | None
    n: int
    scale: str = "nominal"


@measure(
    "krippendorff_alpha",
    "Krippendorff's alpha",
    "1 - D_o / D_e: observed over expected disagreement, any number of annotators, gaps allowed",
    "Krippendorff 2011",
    low=-1.0,
    group=Group.AGREEMENT,
)
def krippendorff_alpha(
    items: Sequence[Sequence[str | None]],
    *,
    scale: str = "nominal",
    labels: Sequence[str] = (),
    clusters: Sequence[Hashable] = (),
    seed: int = 0,
    resamples: int = ALPHA_RESAMPLES,
) -> Alpha:
    """Return alpha; `items[i]` holds the labels that item i got, None for a missing one.

    Items with fewer than two labels do not count. `labels` is the scale in order (else numbers in their order, or texts
    in theirs); interval and ratio scales need numbers. `clusters[i]` names what item i shares with others: clusters are
    resampled then. Alpha is None where all labels are the same, or nothing counts.
    Raises UsageError for an unknown scale, a label that is not on the scale or, where it must be, no number.
    """
    import numpy as np

    if scale not in SCALES:
        raise UsageError(f"There is no scale called {scale!r}.", f"Choose one of: {', '.join(SCALES)}.")
    labelled = [[label for label in item if label is not None] for item in items]
    units = [unit for unit in labelled if len(unit) > 1]
    kept = [cluster for cluster, unit in zip(clusters, labelled, strict=False) if len(unit) > 1]
    found = {label for unit in units for label in unit}
    if labels and not found <= set(labels):
        raise UsageError(f"{min(found - set(labels))!r} is not on the scale {', '.join(labels)}.")
    places = tuple(labels) or ordered(list(found))
    if len(found) < 2:
        return Alpha(None, None, None, len(units), scale)
    values = _values(places, scale)
    coincidences = np.stack([_coincidences(unit, places) for unit in units])
    (alpha,) = _alphas(coincidences.sum(axis=0)[None], scale, values)
    interval = cluster_bootstrap(
        cluster_sums(coincidences, kept), partial(_alphas, scale=scale, values=values), seed=seed, resamples=resamples
    )
    return Alpha(float(alpha), interval.low, interval.high, len(units), scale)


def _values(places: Sequence[str], scale: str) -> Floats:
    import numpy as np

    if scale in ("nominal", "ordinal"):
        return np.arange(len(places), dtype=float)
    try:
        return np.array([float(label) for label in places])
    except ValueError as error:
        raise UsageError(f"On {scale} scales labels are numbers: {error}.", "Use nominal or ordinal.") from error


def _coincidences(unit: Sequence[str], places: Sequence[str]) -> Floats:
    import numpy as np

    counts = np.array([unit.count(label) for label in places], dtype=float)
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1))


def _alphas(coincidences: Floats, scale: str, values: Floats) -> Floats:
    """Return alpha of each (size, size) matrix of coincidences, NaN where it is undefined."""
    import numpy as np

    margins = coincidences.sum(axis=2)
    total = margins.sum(axis=1)
    distances = _alpha_distances(margins, scale, values)
    top = (coincidences * distances).sum(axis=(1, 2))
    bottom = (margins[:, :, None] * margins[:, None, :] * distances).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > 0, 1 - (total - 1) * top / bottom, np.nan)


def _alpha_distances(margins: Floats, scale: str, values: Floats) -> Floats:
    """Return δ² between labels, as (1 or resamples, size, size): on ordinal scales it depends on how often each is."""
    import numpy as np

    if scale == "nominal":
        return (1.0 - np.eye(len(values)))[None]
    if scale == "ordinal":
        middle = np.cumsum(margins, axis=1) - margins / 2
        return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)
    apart = np.subtract.outer(values, values)
    if scale == "interval":
        return np.asarray(apart**2)[None]
    sums = np.add.outer(values, values)
    return np.asarray(np.divide(apart, sums, out=np.zeros_like(apart), where=sums != 0) ** 2)[None]


# ----------------------------------------------------------------------------------------------------
# Agreement of two or more annotators: Krippendorff's alpha and the mean of the kappas of all pairs.


@dataclass(frozen=True, slots=True)
class AgreementOfMany:
    """Agreement of `annotators` under a criterion on the `alpha.n` items that two or more of them judged.

    `unpaired` items have one judgement only and do not count. `mean_kappa` is Light's kappa: the mean over the `pairs`
    whose kappa is defined. `ac1` is Gwet's AC1 of all of them. `note` says what is undefined and why.
    """

    criterion: str
    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    alpha: Alpha
    mean_kappa: float | None
    unpaired: int
    pairs: tuple[Agreement, ...]
    note: str = ""
    ac1: float | None = None


@measure(
    "mean_kappa",
    "Mean pairwise kappa",
    "mean of Cohen's kappa over all pairs of annotators",
    "Light 1971",
    low=-1.0,
    group=Group.AGREEMENT,
)
def agreement_of_many(
    judgements: Iterable[Judgement],
    annotators: Sequence[str] = (),
    *,
    scale: str = "",
    scales: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[AgreementOfMany, ...]:
    """Return the agreement of the annotators (all, where none is named) for each criterion, in order of appearance.

    `scale` is nominal, ordinal, interval or ratio; where it is not said, alpha is nominal, and kappas of whole numbers
    have weights too. `scales` gives the labels of a criterion in order, where the order of numbers or texts is not
    meant. Two annotators are a pair under every criterion, of more those who judged by it. Raises UsageError if there
    are fewer than two annotators, one of the named is not there, one judged an item twice, a label does not fit the
    scale, or the scale is ordinal and nobody says in which order its words are. Sources: Krippendorff 2011; Light 1971.
    """
    rows = tuple(judgements)
    names = _chosen(tuple(dict.fromkeys(row.annotator for row in rows)), tuple(annotators))
    conversations = {turn_of(row.item): row.conversation for row in rows if row.conversation}
    found = []
    for criterion, values in by_criterion(rows).items():
        given = {name: values.get(name, {}) for name in names if name in values or len(names) == 2}
        labels = tuple((scales or {}).get(criterion, ())) or ordered(
            [label for judged in given.values() for label in judged.values()]
        )
        if scale == "ordinal" and not (scales or {}).get(criterion) and len(labels) > 2 and not _numbers(labels):
            raise UsageError(
                f"On an ordinal scale labels have an order, and that of {', '.join(labels)} (the alphabet's) says "
                f"nothing about {criterion!r}.",
                f"Give the labels from the lowest to the highest: --scale {','.join(labels)}.",
            )
        pairs = []
        for one, other in combinations(given, 2):
            shared = [item for item in given[one] if item in given[other]]
            first, second = ([given[name][item] for item in shared] for name in (one, other))
            used = {*first, *second}
            pairs.append(
                agreement(
                    first,
                    second,
                    criterion=criterion,
                    annotators=(one, other),
                    seed=seed,
                    resamples=resamples,
                    labels=labels if scale not in ("", "nominal") else [label for label in labels if label in used],
                    ordinal=scale != "nominal" if scale else None,
                    clusters=clusters_of(shared, conversations),
                )
            )
        found.append(
            summary_of_pairs(criterion, given, pairs, labels, conversations, scale=scale or "nominal", seed=seed)
        )
    return tuple(found)


def summary_of_pairs(
    criterion: str,
    given: Mapping[str, Mapping[str, str]],
    pairs: Sequence[Agreement],
    labels: Sequence[str],
    conversations: Mapping[str, str],
    *,
    scale: str = "nominal",
    seed: int = 0,
) -> AgreementOfMany:
    """Return what `agreement_of_many` says of one criterion, of pairs that are compared already.

    `given` are the values by annotator and item, `labels` are those of the scale in order.
    """
    items = list(dict.fromkeys(item for values in given.values() for item in values))
    units = [[values.get(item) for values in given.values()] for item in items]
    alpha = krippendorff_alpha(units, scale=scale, labels=labels, clusters=clusters_of(items, conversations), seed=seed)
    kappas = [pair.kappa for pair in pairs if pair.kappa is not None]
    return AgreementOfMany(
        criterion,
        tuple(given),
        tuple(labels),
        alpha,
        fsum(kappas) / len(kappas) if kappas else None,
        len(items) - alpha.n,
        tuple(pairs),
        _note(alpha, len(pairs) - len(kappas), len(pairs)),
        gwet_ac1(units, labels),
    )


def gwet_ac1(items: Sequence[Sequence[str | None]], labels: Sequence[str]) -> float | None:
    """Return AC1 of any number of annotators; `items[i]` holds the labels that item i got, None for a missing one.

    Agreement is counted over items with two labels or more, a label's share over all items; None where no item has two.
    Source: Gwet 2008; for missing labels Gwet 2014, ch. 4.
    """
    counts = [Counter(label for label in item if label is not None) for item in items]
    agreed = [
        fsum(n * (n - 1) for n in one.values()) / (one.total() * (one.total() - 1)) for one in counts if one.total() > 1
    ]
    if not agreed:
        return None
    rated = [one for one in counts if one]
    shares = [fsum(one[label] / one.total() for one in rated) / len(rated) for label in labels]
    chance = fsum(share * (1 - share) for share in shares) / max(1, len(labels) - 1)
    return (fsum(agreed) / len(agreed) - chance) / (1 - chance)


def _chosen(names: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    for name in wanted:
        if name not in names:
            raise UsageError(f"There is no annotator {name!r}.", f"Choose among: {', '.join(names)}.")
    chosen = tuple(dict.fromkeys(wanted)) or names
    if len(chosen) < 2:
        raise UsageError(
            f"Agreement is between two or more annotators, here {'is one' if chosen else 'is none'}.",
            "Add the ratings of a second one.",
        )
    return chosen


def _note(alpha: Alpha, undefined: int, pairs: int) -> str:
    notes = []
    if alpha.alpha is None:
        why = "all labels are the same" if alpha.n else "no item has two judgements"
        notes.append(f"Alpha is undefined: {why}.")
    if undefined:
        notes.append(f"{undefined} of {pairs} pairs have no kappa.")
    return " ".join(notes)


# ----------------------------------------------------------------------------------------------------
# Judgements from tables.
#
# The long format has a row per item, annotator and criterion, the wide one a row per item and a column per
# annotator.

COLUMNS = ("item", "annotator", "criterion", "value")
CONVERSATION = "conversation"  # the column of the conversation that an item comes from
CRITERION = "value"  # what the criterion of a wide table is called, where nobody names it
_ITEM_NAMES = ("item", "id", "item_id", "_id")


def read_ratings(
    data: bytes,
    *,
    columns: Sequence[str] = (),
    item: str = "",
    criterion: str = CRITERION,
    values: Sequence[str] = (),
    ignore_case: bool = False,
) -> tuple[tuple[Judgement, ...], Counter[str]]:
    """Return the judgements of a table, and how many cells were left out, by what they hold.

    Left out is what says that there is no value (`is_missing`), unless `values` names it, and what is not among the
    wanted `values`. Labels are those of `label_of`, where the file is not parted by commas with a decimal comma; with
    `ignore_case` labels, annotators and criteria that differ in letter case only are one, as it is written first.
    Cells are parted by commas, semicolons or tabs; white space around them is not part of them. A table with the four
    COLUMNS is in the long format, and of its others only `conversation` is read. Of a wide table `columns` are the
    annotators and `item` names the rows, by their number where it is empty; without `columns` the table must hold
    nothing but the annotators and, before them, a column called item or id. Raises UsageError that names the row or
    column: no content, not UTF-8, an empty item, annotator or criterion or a repeated row in the long format, columns
    that cannot be told apart, an item twice, no judgement at all.
    """
    table = read_csv(data)
    if not columns and set(COLUMNS) <= set(table.header):
        given = _long(read_csv(data, COLUMNS))
    else:
        given = _wide(table, columns, item, criterion)
    first: dict[tuple[str, str], str] = {}

    def one_name(kind: str, name: str) -> str:
        return first.setdefault((kind, name.casefold()), name) if ignore_case else name

    wanted = [one_name("label", label_of(value)) for value in values]
    kept = []
    left_out: Counter[str] = Counter()
    for row in given:
        label = label_of(row.value, table.decimal_comma)
        if (wanted or is_missing(label)) and one_name("label", label) not in wanted:
            left_out[label] += 1
            continue
        annotator, judged = one_name("annotator", row.annotator), one_name("criterion", row.criterion)
        kept.append(replace(row, annotator=annotator, criterion=judged, value=one_name("label", label)))
    if not kept:
        found = ", ".join(sorted(filter(None, left_out))[:8])
        raise UsageError(
            "No row holds a judgement that counts.",
            f"Values in the file: {found}." if found else "All cells are empty.",
        )
    return tuple(kept), left_out


def look_alikes(judgements: Iterable[Judgement]) -> tuple[str, ...]:
    """Return a sentence for labels, annotators and criteria that count as several because of letter case only."""
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for one in judgements:
        for kind, name in (
            (f"labels of {one.criterion!r}", one.value),
            ("annotators", one.annotator),
            ("criteria", one.criterion),
        ):
            kinds.setdefault((kind, name.casefold()), {})[name] = None
    return tuple(
        f"{' and '.join(map(repr, names))} differ in letter case only, and count as {len(names)} {kind}."
        for (kind, _), names in kinds.items()
        if len(names) > 1
    )


def near_labels(judgements: Iterable[Judgement]) -> tuple[str, ...]:
    """Return a sentence for each two words that are labels of one criterion and that one letter parts."""
    from rapidfuzz.distance import Levenshtein

    labels: dict[str, dict[str, None]] = {}
    for one in judgements:
        if one.value.isalpha() and len(one.value) >= _WORD:
            labels.setdefault(one.criterion, {})[one.value] = None
    return tuple(
        f"{one!r} and {other!r} differ in one letter, and count as two labels of {criterion!r}: is one misspelt?"
        for criterion, names in labels.items()
        for one, other in combinations(names, 2)
        if Levenshtein.distance(one.casefold(), other.casefold(), score_cutoff=1) == 1
    )


def _long(table: CsvTable) -> tuple[Judgement, ...]:
    places = [table.header.index(name) for name in COLUMNS]
    if CONVERSATION in table.header:
        places.append(table.header.index(CONVERSATION))
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for row in table.rows:
        cells = [tidy(row.cells[place]) for place in places]
        for name, cell in zip(COLUMNS, cells, strict=False):
            if not cell and name != "value":
                raise UsageError(f"Row {row.number}: the column {name!r} is empty.", "Fill it or remove the row.")
        judgement = Judgement(*cells)
        key = (judgement.item, judgement.annotator, judgement.criterion)
        if key in seen:
            raise UsageError(
                f"Row {row.number} repeats row {seen[key]}: item {key[0]!r}, annotator {key[1]!r}, "
                f"criterion {key[2]!r}.",
                "Keep one of them.",
            )
        seen[key] = row.number
        found.append(judgement)
    if not found:
        raise UsageError("The file has a header but no rows.", "Add one row per item, annotator and criterion.")
    return tuple(found)


def _wide(table: CsvTable, columns: Sequence[str], item: str, criterion: str) -> tuple[Judgement, ...]:
    annotators, item = _columns(table.header, columns, item)
    places = {name: table.header.index(name) for name in annotators}
    names = table.header.index(item) if item else None
    seen: dict[str, int] = {}
    found = []
    for row in table.rows:
        label = str(row.number) if names is None else tidy(row.cells[names])
        if not label:
            raise UsageError(f"Row {row.number}: the column {item!r} is empty.", "Fill it or remove the row.")
        if label in seen:
            raise UsageError(
                f"Row {row.number}: the item {label!r} is in row {seen[label]} already.",
                "Keep one of them, or choose another column with --item.",
            )
        seen[label] = row.number
        found += [Judgement(label, name, criterion, row.cells[place]) for name, place in places.items()]
    return tuple(found)


def _columns(header: Sequence[str], columns: Sequence[str], item: str) -> tuple[tuple[str, ...], str]:
    listed = ", ".join(header)
    for name in (*columns, *([item] if item else [])):
        if header.count(name) != 1:
            raise UsageError(
                f"The column {name!r} is {'missing' if name not in header else 'there twice'}.", f"Columns: {listed}."
            )
    if columns:
        if len(set(columns)) < 2:
            raise UsageError("Agreement needs the columns of two annotators or more.", f"Columns: {listed}.")
        return tuple(dict.fromkeys(columns)), item
    rest = [name for name in header if name != item]
    if not item and len(header) == 3 and header[0].lower() in _ITEM_NAMES:
        item, *rest = header
    if len(rest) != 2 or rest[0] == rest[1]:
        raise UsageError(
            "Which columns hold the annotators' labels cannot be told.",
            f"Name them with --columns A,B. Columns: {listed}. The long format has {', '.join(COLUMNS)}.",
        )
    return tuple(rest), item
