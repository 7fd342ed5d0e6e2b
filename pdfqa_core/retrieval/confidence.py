"""How likely the hits hold an answer at all: a signal to refuse by, not a probability."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.retrieval.index import index_text
from pdfqa_core.text import content_terms, terms
from pdfqa_core.types import Hit

COVERING = 3  # hits that have to hold the question's words
COSINE_SHARE = 0.4
# Words that ask rather than name: a passage that answers "how many flats" need not say "many".
ASKING = frozenset(("describe", "explain", "far", "list", "long", "many", "much", "often", "old", "tell"))


def confidence(question: str, hits: Sequence[Hit]) -> float:
    """Return the retrieval confidence in 0..1; 0 without hits or without a word in the question.

    Two parts in five are the best cosine of any hit (`parts["dense"]`, negative ones count 0), three the share of the
    question's content terms, without those that only ask, that stand in the three best hits (heading or text). Hits
    without cosines, such as those of bm25, are judged by the share alone: the two lie on about the same scale, so one
    threshold serves both.
    `benchmarks/confidence_northwind.py` measures how well a threshold parts answerable from unanswerable questions.
    """
    named = set(content_terms(question))
    asked = named - ASKING or named
    if not asked or not hits:
        return 0.0
    found = {term for hit in hits[:COVERING] for term in terms(index_text(hit.passage))}
    coverage = len(asked & found) / len(asked)
    cosines = [hit.parts["dense"] for hit in hits if "dense" in hit.parts]
    if not cosines:
        return coverage
    best = max(cosines)
    return COSINE_SHARE * min(1.0, max(0.0, best)) + (1 - COSINE_SHARE) * coverage
