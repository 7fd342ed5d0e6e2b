"""How well the sentences of passages fit a question: the scorer of the extractive reader and of trimmed prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pdfqa_core.reading.matching import Quote, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.text import compared_terms

MEANING_WEIGHT = 0.7  # share of the meaning, where an encoder is at hand
RANK_BONUS = 0.1  # for the best hit; a tenth at the tenth


def relevance(question: str, candidates: Sequence[Quote], meaning: Meaning | None = None) -> list[float]:
    """Return a score per quote; 0 where it shares no content term with the question and there is no encoder.

    The score is the sum of the inverse document frequencies (over the quotes at hand; Spärck Jones 1972) of the
    question's terms that the quote holds, divided by the same sum over all of them; with `meaning` the weighted mean of
    that and the cosine of the vectors; plus a small bonus for the hit's rank.
    """
    frequency = Counter(term for quote in candidates for term in quote.terms)
    asked = {
        term for language in {quote.language for quote in candidates} for term in compared_terms(question, language)
    }
    weights = {term: math.log(1 + len(candidates) / (1 + frequency[term])) for term in asked}
    total = sum(weights.values()) or 1.0
    scores = [sum(weight for term, weight in weights.items() if term in quote.terms) / total for quote in candidates]
    if meaning is not None and candidates:
        cosines = vectors_of(candidates, meaning) @ meaning.vectors([question])[0]
        scores = [
            (1 - MEANING_WEIGHT) * score + MEANING_WEIGHT * max(0.0, float(cosine))
            for score, cosine in zip(scores, cosines, strict=True)
        ]
    return [
        score + RANK_BONUS / quote.hit.rank if score else 0.0 for score, quote in zip(scores, candidates, strict=True)
    ]
