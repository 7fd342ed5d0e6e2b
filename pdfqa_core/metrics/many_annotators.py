"""Agreement of two or more annotators: Krippendorff's alpha and the mean of the kappas of all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import (
    RESAMPLES,
    Agreement,
    Judgement,
    agreement,
    by_criterion,
    conversations_of,
    ordered,
)
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.krippendorff import Alpha, krippendorff_alpha
from pdfqa_core.metrics.resampling import clusters_of


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
    are fewer than two annotators, one of the named is not there, one judged an item twice, or a label does not fit the
    scale. Sources: Krippendorff 2011; Light 1971.
    """
    rows = tuple(judgements)
    names = _chosen(tuple(dict.fromkeys(row.annotator for row in rows)), tuple(annotators))
    conversations = conversations_of(rows)
    found = []
    for criterion, values in by_criterion(rows).items():
        given = {name: values.get(name, {}) for name in names if name in values or len(names) == 2}
        labels = tuple((scales or {}).get(criterion, ())) or ordered(
            [label for judged in given.values() for label in judged.values()]
        )
        pairs = []
        for one, other in combinations(given, 2):
            shared = [item for item in given[one] if item in given[other]]
            first, second = ([given[name][item] for item in shared] for name in (one, other))
            used = {*first, *second}
            pairs.append(
                agreement(
                    first, second, criterion=criterion, annotators=(one, other), seed=seed, resamples=resamples,
                    labels=labels if scale not in ("", "nominal") else [label for label in labels if label in used],
                    ordinal=scale != "nominal" if scale else None, clusters=clusters_of(shared, conversations),
                )
            )  # fmt: skip
        found.append(
            summary_of_pairs(criterion, given, pairs, labels, conversations, scale=scale or "nominal", seed=seed)
        )
    return tuple(found)


def summary_of_pairs(
    criterion: str, given: Mapping[str, Mapping[str, str]], pairs: Sequence[Agreement], labels: Sequence[str],
    conversations: Mapping[str, str], *, scale: str = "nominal", seed: int = 0,
) -> AgreementOfMany:  # fmt: skip
    """Return what `agreement_of_many` says of one criterion, of pairs that are compared already.

    `given` are the values by annotator and item, `labels` are those of the scale in order.
    """
    items = list(dict.fromkeys(item for values in given.values() for item in values))
    units = [[values.get(item) for values in given.values()] for item in items]
    alpha = krippendorff_alpha(units, scale=scale, labels=labels, clusters=clusters_of(items, conversations), seed=seed)
    kappas = [pair.kappa for pair in pairs if pair.kappa is not None]
    return AgreementOfMany(
        criterion, tuple(given), tuple(labels), alpha, fsum(kappas) / len(kappas) if kappas else None,
        len(items) - alpha.n, tuple(pairs), _note(alpha, len(pairs) - len(kappas), len(pairs)), gwet_ac1(units, labels),
    )  # fmt: skip


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
