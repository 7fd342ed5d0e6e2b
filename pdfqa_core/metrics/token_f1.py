"""Token F1: how many words prediction and reference share, each counted as often as it occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pdfqa_core.metrics.base import measure
from pdfqa_core.metrics.normalisation import answer_tokens


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean, each 0..1."""

    precision: float
    recall: float
    f1: float


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean of the two, 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def shared_count(words: Sequence[str], available: Counter[str]) -> int:
    """Return how many of the words are available, each as often as it is; `available` is used up."""
    shared = 0
    for word in words:  # three times as fast as intersecting two Counters
        if available.get(word, 0) > 0:
            available[word] -= 1
            shared += 1
    return shared


def token_overlap(prediction: str, reference: str) -> Overlap:
    """Return precision, recall and F1 of the normalised words; both empty: all 1, one empty: all 0."""
    ours, theirs = answer_tokens(prediction), answer_tokens(reference)
    if not ours or not theirs:
        same = float(ours == theirs)
        return Overlap(same, same, same)
    shared = shared_count(ours, Counter(theirs))
    precision, recall = shared / len(ours), shared / len(theirs)
    return Overlap(precision, recall, harmonic(precision, recall))


@measure(
    "answer_f1",
    "Answer F1",
    "2PR / (P + R); P and R: shared words over those of the prediction and of the reference; best reference",
    "Rajpurkar et al. 2016 (SQuAD)",
)
def token_f1(prediction: str, references: Sequence[str]) -> float | None:
    """Return the F1 (0..1) of the reference that fits best; None without references."""
    return max((token_overlap(prediction, reference).f1 for reference in references), default=None)
