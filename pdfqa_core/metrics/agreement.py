"""Agreement between two annotators: raw agreement, Cohen's kappa with its interval, and what explains it.

Pure functions over labels; knows nothing of studies, files or screens.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.resampling import Interval, bootstrap, cluster_sums, clusters_of, exact_interval, turn_of
from pdfqa_core.metrics.weighted_kappa import WeightedKappa, confusions, ordered, weighted_kappas, whole_scale

if TYPE_CHECKING:
    from pdfqa_core.metrics.resampling import Floats

RESAMPLES = 10_000
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

    @property
    def kappa_linear(self) -> float | None:
        """The linearly weighted kappa; None where the scale is not ordinal."""
        return next((one.kappa for one in self.weighted if one.weights == "linear"), None)

    @property
    def kappa_quadratic(self) -> float | None:
        """The quadratically weighted kappa; None where the scale is not ordinal."""
        return next((one.kappa for one in self.weighted if one.weights == "quadratic"), None)


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

    Sources: Cohen 1960 (kappa); Byrt, Bishop and Carlin 1993 (PABAK, for k labels (k·p_o - 1) / (k - 1); prevalence and
    bias index, here without sign); Gwet 2008 (AC1); percentile bootstrap over items, Efron and Tibshirani 1993, ch. 13,
    or over clusters, Davison and Hinkley 1997, section 3.8; Clopper and Pearson 1934 (exact interval).
    """
    if len(first) != len(second):
        raise UsageError(f"The annotators judged {len(first)} and {len(second)} items.", "Give the shared items only.")
    found = set(first) | set(second)
    if labels and not found <= set(labels):
        raise UsageError(f"{min(found - set(labels))!r} is not on the scale {', '.join(labels)}.")
    scale = tuple(labels) or ordered(list(found))
    each = confusions(first, second, scale)
    confusion = tuple(tuple(map(int, row)) for row in each.sum(axis=0))
    counted = Agreement(criterion, annotators, len(first), scale, confusion)
    if not first:
        return replace(counted, note="The annotators share no item, so nothing can be compared.")
    observed = sum(confusion[i][i] for i in range(len(scale))) / len(first)
    prevalence, bias = _byrt_indices(confusion, len(first))
    sums = cluster_sums(each, clusters)
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

    kappa = float(cohen_kappa_score(list(first), list(second)))
    interval = bootstrap(sums, _kappas, seed=seed, resamples=resamples)
    steps = _ordinal_scale(scale, ordinal)
    weighted: tuple[WeightedKappa, ...] = ()
    if len(steps) > 2:
        weighted = weighted_kappas(first, second, steps, clusters=clusters, seed=seed, resamples=resamples)
    return replace(
        described, kappa=kappa, low=interval.low, high=interval.high, words=landis_koch(kappa),
        note=_interval_note(interval, resamples), weighted=weighted,
    )  # fmt: skip


def _ordinal_scale(labels: tuple[str, ...], ordinal: bool | None) -> tuple[str, ...]:
    """Return the labels from lowest to highest, () where their order means nothing."""
    if ordinal is False:
        return ()
    return whole_scale(labels) or (labels if ordinal else ())


def landis_koch(kappa: float) -> str:
    """Return the word for a kappa, from "poor" to "almost perfect". Source: Landis and Koch 1977, p. 165."""
    return next((word for bound, word in _WORDS if (kappa < 0 if bound == 0 else kappa <= bound)), "almost perfect")


def agreement_by_criterion(
    judgements: Iterable[Judgement],
    annotators: tuple[str, str] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[Agreement, ...]:
    """Return the agreement of two annotators for each criterion, in order of appearance, joined on the item.

    `annotators` chooses the two and may be left out when there are only two. Raises UsageError if there are fewer
    or more to choose from, one of the chosen is not there, or one of them judged an item twice.
    """
    rows = tuple(judgements)
    pair = _pair(tuple(dict.fromkeys(row.annotator for row in rows)), annotators)
    conversations = conversations_of(rows)
    result = []
    for criterion, values in by_criterion(rows).items():
        one, other = (values.get(name, {}) for name in pair)
        shared = [item for item in one if item in other]
        result.append(
            agreement(
                [one[item] for item in shared],
                [other[item] for item in shared],
                criterion=criterion,
                annotators=pair,
                clusters=clusters_of(shared, conversations),
                seed=seed,
                resamples=resamples,
            )
        )
    return tuple(result)


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


def _pair(names: tuple[str, ...], chosen: tuple[str, str] | None) -> tuple[str, str]:
    if chosen is not None:
        for name in chosen:
            if name not in names:
                raise UsageError(f"There is no annotator {name!r}.", f"Choose two of: {', '.join(names)}.")
        if chosen[0] == chosen[1]:
            raise UsageError("The two annotators are the same.", f"Choose two of: {', '.join(names)}.")
        return chosen
    if len(names) != 2:
        problem = "no annotator" if not names else f"{len(names)} annotator{'s' if len(names) > 1 else ''}"
        raise UsageError(
            f"Agreement is between two annotators, here {'are' if len(names) > 1 else 'is'} {problem}.",
            f"Choose two of: {', '.join(names)}." if len(names) > 2 else "Add the ratings of a second one.",
        )
    return names[0], names[1]


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


def _observed(confusion: Floats) -> Floats:
    """Return the raw agreement of each confusion matrix (…, labels, labels)."""
    import numpy as np

    return np.asarray(np.trace(confusion, axis1=1, axis2=2) / confusion.sum(axis=(1, 2)))


def _kappas(confusion: Floats) -> Floats:
    """Return Cohen's kappa of each confusion matrix (…, labels, labels), NaN where it is undefined."""
    import numpy as np

    shares = confusion / confusion.sum(axis=(1, 2), keepdims=True)
    chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(chance < 1 - 1e-12, (_observed(confusion) - chance) / (1 - chance), np.nan)


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
