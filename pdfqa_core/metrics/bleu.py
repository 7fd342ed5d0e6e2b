"""BLEU-1: the share of the prediction's words that occur in a reference, each no more often than there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp

from pdfqa_core.metrics.base import measure
from pdfqa_core.metrics.token_f1 import shared_count
from pdfqa_core.metrics.tokens import word_tokens


@measure(
    "bleu_1",
    "BLEU-1",
    "clipped unigram precision; a count is clipped by the largest one among the references",
    "Papineni et al. 2002",
)
def bleu_1(prediction: str, references: Sequence[str], *, brevity_penalty: bool = False) -> float | None:
    """Return the clipped unigram precision (0..1); None without references, 0 for an empty prediction.

    `brevity_penalty` multiplies by exp(1 - r/c) where the prediction (c words) is shorter than the reference of the
    closest length (r words; of two the shorter).
    """
    if not references:
        return None
    ours = word_tokens(prediction)
    if not ours:
        return 0.0
    tokens = [word_tokens(reference) for reference in references]
    allowed = Counter(tokens[0])
    for words in tokens[1:]:
        allowed |= Counter(words)
    precision = shared_count(ours, allowed) / len(ours)
    if not brevity_penalty:
        return precision
    closest = min((len(words) for words in tokens), key=lambda length: (abs(length - len(ours)), length))
    return precision * (1.0 if len(ours) >= closest else exp(1 - closest / len(ours)))
