"""Agreement between two annotators: raw agreement, Cohen's kappa with its interval, and what explains it.

Pure functions over labels; knows nothing of studies, files or screens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Measure, declare
from pdfqa_core.metrics.weighted_kappa import WeightedKappa, ordered, weighted_kappas, whole_scale

RESAMPLES = 10_000
_LEAST_DEFINED = 0.6  # share of resamples with a kappa below which there is no interval; only 2 items fall below
_WORDS = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))

_GROUP = "Agreement of annotators"
RAW = declare(Measure("agreement", "Raw agreement", "p_o: items with the same label / shared items", group=_GROUP))
KAPPA = declare(Measure("kappa", "Cohen's kappa", "(p_o - p_e) / (1 - p_e)", "Cohen 1960", low=-1.0, group=_GROUP))
PABAK = declare(
    Measure(
        "pabak",
        "PABAK",
        "2·p_o - 1: kappa as if all labels were equally frequent",
        "Byrt et al. 1993",
        low=-1.0,
        group=_GROUP,
    )
)
AC1 = declare(
    Measure(
        "ac1",
        "Gwet's AC1",
        "(p_o - p_e) / (1 - p_e) with p_e = Σ π(1 - π) / (labels - 1), π: mean share of a label",
        "Gwet 2008",
        low=-1.0,
        group=_GROUP,
    )
)
PREVALENCE = declare(
    Measure(
        "prevalence_index",
        "Prevalence index",
        "|a - d| / n of the 2 × 2 table: how unequal the labels' frequencies are",
        "Byrt et al. 1993",
        higher_is_better=None,
        group=_GROUP,
    )
)
BIAS = declare(
    Measure(
        "bias_index",
        "Bias index",
        "|b - c| / n of the 2 × 2 table: how differently the annotators use the labels",
        "Byrt et al. 1993",
        higher_is_better=None,
        group=_GROUP,
    )
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One cell of the long format: what an annotator said about an item under a criterion."""

    item: str
    annotator: str
    criterion: str
    value: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on the `n` items that both annotators judged; a number that is undefined is None.

    `agreement`: share of items with the same label. `kappa` with its 95 % bootstrap interval `low` to `high`.
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
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Return the agreement of two annotators; `first[i]` and `second[i]` are their labels of the same item.

    `labels` gives the scale's labels in order; without it the ones that occur, sorted. `ordinal`: whether that order
    means something; None: it does where all labels are whole numbers, of which those between count as labels of the
    scale too. Raises UsageError if the two differ in length or hold a label that is not on the scale.

    Sources: Cohen 1960 (kappa); Byrt, Bishop and Carlin 1993 (PABAK = 2·p_o - 1, prevalence and bias index, here
    without sign); Gwet 2008 (AC1); percentile bootstrap over items, Efron and Tibshirani 1993, ch. 13.
    """
    if len(first) != len(second):
        raise UsageError(f"The annotators judged {len(first)} and {len(second)} items.", "Give the shared items only.")
    found = set(first) | set(second)
    if labels and not found <= set(labels):
        raise UsageError(f"{min(found - set(labels))!r} is not on the scale {', '.join(labels)}.")
    scale = tuple(labels) or ordered(list(found))
    confusion = _confusion(first, second, scale)
    counted = Agreement(criterion, annotators, len(first), scale, confusion)
    if not first:
        return replace(counted, note="The annotators share no item, so nothing can be compared.")
    observed = sum(confusion[i][i] for i in range(len(scale))) / len(first)
    prevalence, bias = _byrt_indices(confusion, len(first))
    described = replace(
        counted,
        agreement=observed,
        pabak=2 * observed - 1,
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
    steps = _ordinal_scale(scale, ordinal)
    weighted = weighted_kappas(first, second, steps, seed=seed, resamples=resamples) if len(steps) > 2 else ()
    return replace(_with_kappa(described, first, second, seed, resamples), weighted=weighted)


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


def _confusion(first: Sequence[str], second: Sequence[str], labels: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    place = {label: i for i, label in enumerate(labels)}
    counts = [[0] * len(labels) for _ in labels]
    for one, other in zip(first, second, strict=True):
        counts[place[one]][place[other]] += 1
    return tuple(map(tuple, counts))


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


def _with_kappa(base: Agreement, first: Sequence[str], second: Sequence[str], seed: int, resamples: int) -> Agreement:
    from sklearn.metrics import cohen_kappa_score

    kappa = float(cohen_kappa_score(list(first), list(second)))
    low, high, left_out = _interval(base.confusion, base.n, seed, resamples)
    note = ""
    if low is None:
        note = "The items are too few or too much alike for an interval."
    elif left_out > resamples / 100:
        note = f"{left_out:,} of {resamples:,} resamples had one label only and were left out of the interval."
    return replace(base, kappa=kappa, low=low, high=high, words=landis_koch(kappa), note=note)


def _interval(
    confusion: tuple[tuple[int, ...], ...], n: int, seed: int, resamples: int
) -> tuple[float | None, float | None, int]:
    """Return the 2.5th and 97.5th percentile of kappa over resampled items, and how many resamples had no kappa.

    Kappa depends on the items only through the confusion matrix, so drawing n items with replacement is drawing a
    matrix from the multinomial distribution of its cells.
    """
    import numpy as np

    size = len(confusion)
    cells = np.asarray(confusion, dtype=float).ravel() / n
    drawn = np.random.default_rng(seed).multinomial(n, cells, size=resamples).reshape(-1, size, size) / n
    observed = np.trace(drawn, axis1=1, axis2=2)
    chance = (drawn.sum(axis=1) * drawn.sum(axis=2)).sum(axis=1)
    defined = chance < 1 - 1e-12
    if defined.mean() < _LEAST_DEFINED:
        return None, None, int(resamples - defined.sum())
    kappas = (observed[defined] - chance[defined]) / (1 - chance[defined])
    low, high = np.percentile(kappas, [2.5, 97.5])
    return float(low), float(high), int(resamples - defined.sum())
