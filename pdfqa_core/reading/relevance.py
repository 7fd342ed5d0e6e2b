"""How well the sentences of passages fit a question: what decides which of them are read, quoted and shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pdfqa_core.reading.matching import Quote, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.text import compared_terms

# Chosen on the even conversations of strangers, everyday and natural (benchmarks/answers.py says what these are).
MEANING_WEIGHT = 0.7  # share of the meaning, where an encoder is at hand
BEFORE = 0.3  # what the question before weighs beside the question
NEXT = 0.8  # of a sentence's score, for the one behind it: it may go on with it, or be the first of its list


def relevance(
    question: str, candidates: Sequence[Quote], meaning: Meaning | None = None, *, before: str = ""
) -> list[float]:
    """Return a score per quote, each of one sentence, in the order of hits and text.

    The score is the sum of the inverse document frequencies (over the quotes at hand; Spärck Jones 1972) of the
    question's terms that the quote holds, divided by the same sum over all of them; with `meaning` the weighted mean of
    that and the cosine of the vectors. A quote has at least NEXT of the score of the one before it in its passage.
    `before` is the question before, which counts too. Raises what the encoder raises.
    """
    if not candidates:
        return []
    asked = [(text, weight) for text, weight in ((question, 1.0), (before, BEFORE)) if text.strip()]
    frequency = Counter(term for quote in candidates for term in quote.terms)
    weights: dict[str, float] = {}
    for text, weight in asked:
        for term in {term for one in {quote.language for quote in candidates} for term in compared_terms(text, one)}:
            idf = math.log(1 + len(candidates) / (1 + frequency[term]))
            weights[term] = weights.get(term, 0.0) + weight * idf
    total = sum(weights.values()) or 1.0
    scores = [sum(weight for term, weight in weights.items() if term in quote.terms) / total for quote in candidates]
    if meaning is not None:
        rows = meaning.vectors([text for text, _ in asked])
        direction = sum(weight * row for (_, weight), row in zip(asked, rows, strict=True))
        cosines = vectors_of(candidates, meaning) @ direction / max(1e-9, float((direction @ direction) ** 0.5))
        scores = [
            (1 - MEANING_WEIGHT) * said + MEANING_WEIGHT * max(0.0, float(cosine))
            for said, cosine in zip(scores, cosines, strict=True)
        ]
    for place in range(1, len(candidates)):
        if candidates[place].hit is candidates[place - 1].hit:
            scores[place] = max(scores[place], NEXT * scores[place - 1])
    return scores
