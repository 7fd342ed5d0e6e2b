"""Citations as sets of ids: how many of the given ones are right, and how many of the right ones are given."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.token_f1 import Overlap, harmonic


def citation_overlap(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Overlap:
    """Return precision, recall and F1 (0..1) of cited ids; both empty: all 1, one empty: all 0."""
    ours, theirs = set(predicted), set(gold)
    if not ours or not theirs:
        same = float(ours == theirs)
        return Overlap(same, same, same)
    hits = len(ours & theirs)
    precision, recall = hits / len(ours), hits / len(theirs)
    return Overlap(precision, recall, harmonic(precision, recall))


_SOURCE = "multi-hop question answering with cited passages"


@measure("citation_precision", "Citation precision", "|predicted ∩ gold| / |predicted|", _SOURCE, group=Group.CITATIONS)
def citation_precision(cited: Iterable[Hashable], gold_citations: Iterable[Hashable]) -> float:
    """Return the share (0..1) of cited ids that are right."""
    return citation_overlap(cited, gold_citations).precision


@measure("citation_recall", "Citation recall", "|predicted ∩ gold| / |gold|", _SOURCE, group=Group.CITATIONS)
def citation_recall(cited: Iterable[Hashable], gold_citations: Iterable[Hashable]) -> float:
    """Return the share (0..1) of right ids that are cited."""
    return citation_overlap(cited, gold_citations).recall


@measure("citation_f1", "Citation F1", "2PR / (P + R), per item, then the mean", _SOURCE, group=Group.CITATIONS)
def citation_f1(cited: Iterable[Hashable], gold_citations: Iterable[Hashable]) -> float:
    """Return the harmonic mean (0..1) of precision and recall."""
    return citation_overlap(cited, gold_citations).f1
