"""How likely the hits hold an answer at all: a signal to refuse by, not a probability."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.retrieval.index import index_text
from pdfqa_core.text import content_terms, terms
from pdfqa_core.types import Hit

COVERING = 3


def confidence(question: str, hits: Sequence[Hit]) -> float:
    """Return the retrieval confidence in 0..1; 0 without hits or without a word in the question.

    Half is the best cosine of any hit (`parts["dense"]`, negative ones count 0), half the share of the question's
    content terms that stand in the three best hits (heading or text). Hits without cosines, such as those of bm25, are
    judged by the share alone: the two lie on about the same scale, so one threshold serves both.
    `benchmarks/confidence_northwind.py` measures how well a threshold parts answerable from unanswerable questions.
    """
    asked = set(content_terms(question))
    if not asked or not hits:
        return 0.0
    found = {term for hit in hits[:COVERING] for term in terms(index_text(hit.passage))}
    coverage = len(asked & found) / len(asked)
    cosines = [hit.parts["dense"] for hit in hits if "dense" in hit.parts]
    if not cosines:
        return coverage
    best = max(cosines)
    return (min(1.0, max(0.0, best)) + coverage) / 2
