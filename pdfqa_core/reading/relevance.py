"""How well the sentences of passages fit a question: the scorer of the extractive reader and of trimmed prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pdfqa_core.reading.document_names import unnamed
from pdfqa_core.reading.matching import Quote, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.text import compared_terms

MEANING_WEIGHT = 0.7  # share of the meaning, where an encoder is at hand
RANK_BONUS = 0.1  # for the best hit; a tenth at the tenth


def relevance(question: str, candidates: Sequence[Quote], meaning: Meaning | None = None) -> list[float]:
    """Return a score per quote; 0 where it shares no content term with the question and there is no encoder.

    The score is the sum of the inverse document frequencies (over the quotes at hand; Spärck Jones 1972) of the
    question's terms that the quote holds, divided by the same sum over all of them; with `meaning` the weighted mean of
    that and the cosine of the vectors; plus a small bonus for the hit's rank. It is the mean over the question and the
    question without the words that name the best hit's document: its sentences all are about "Northwind Health Plus",
    and what is asked of it makes the difference.
    """
    if not candidates:
        return []
    nearest = min((quote.hit for quote in candidates), key=lambda hit: hit.rank)
    forms = dict.fromkeys([question, unnamed(question, nearest.passage.heading.partition(": ")[0])])
    scores = [_scores(form, candidates, meaning) for form in forms]
    return [
        sum(of_forms) / len(forms) + (RANK_BONUS / quote.hit.rank if any(of_forms) else 0.0)
        for quote, *of_forms in zip(candidates, *scores, strict=True)
    ]


def _scores(question: str, candidates: Sequence[Quote], meaning: Meaning | None) -> list[float]:
    """Return the score of one form of the question, without the bonus."""
    frequency = Counter(term for quote in candidates for term in quote.terms)
    asked = {
        term for language in {quote.language for quote in candidates} for term in compared_terms(question, language)
    }
    weights = {term: math.log(1 + len(candidates) / (1 + frequency[term])) for term in asked}
    total = sum(weights.values()) or 1.0
    words = [sum(weight for term, weight in weights.items() if term in quote.terms) / total for quote in candidates]
    if meaning is None:
        return words
    cosines = vectors_of(candidates, meaning) @ meaning.vectors([question])[0]
    return [
        (1 - MEANING_WEIGHT) * said + MEANING_WEIGHT * max(0.0, float(cosine))
        for said, cosine in zip(words, cosines, strict=True)
    ]
