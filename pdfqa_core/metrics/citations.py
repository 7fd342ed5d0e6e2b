"""Citations as sets of ids: how many of the given ones are right, and how many of the right ones are given."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pdfqa_core.metrics.base import Measure, declare
from pdfqa_core.metrics.token_f1 import Overlap, harmonic

PRECISION = declare(
    Measure(
        "citation_precision",
        "Citation precision",
        "|predicted ∩ gold| / |predicted|",
        "multi-hop question answering with cited passages",
        group="Citations",
    )
)
RECALL = declare(
    Measure(
        "citation_recall",
        "Citation recall",
        "|predicted ∩ gold| / |gold|",
        "multi-hop question answering with cited passages",
        group="Citations",
    )
)
F1 = declare(
    Measure(
        "citation_f1",
        "Citation F1",
        "2PR / (P + R), per item, then the mean",
        "multi-hop question answering with cited passages",
        group="Citations",
    )
)


def citation_overlap(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Overlap:
    """Return precision, recall and F1 (0..1) of cited ids; both empty: all 1, one empty: all 0."""
    ours, theirs = set(predicted), set(gold)
    if not ours or not theirs:
        same = float(ours == theirs)
        return Overlap(same, same, same)
    hits = len(ours & theirs)
    precision, recall = hits / len(ours), hits / len(theirs)
    return Overlap(precision, recall, harmonic(precision, recall))
