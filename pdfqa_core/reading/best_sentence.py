"""One sentence of the evidence: the one that says best what was selected in an answer, or is nearest to a question."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.reading.matching import Quote, match, quotes, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.types import Citation, Hit

LEAST = 0.3  # score (0..1) below which no sentence is said to match


def best_sentence(text: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> Citation | None:
    """Return the sentence of the hits with the best match score, of several the one of the best hit.

    None if none reaches LEAST. `meaning` adds the similarity of vectors to that of words. The citation's `start` and
    `end` stay 0: the selection need not be a sentence of an answer. Raises what the encoder raises.
    """
    quote = best_quote(text, hits, meaning)
    if quote is None:
        return None
    return Citation(quote.hit.rank, quote.hit.passage.id, quote.span, quote.text, verified=True)


def best_quote(text: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> Quote | None:
    """Return the same sentence as the quote that it is, with a row of a table in words."""
    text = " ".join(text.split())
    candidates = [quote for hit in hits for quote in quotes(hit, longest=1)]
    if not text or not candidates:
        return None
    cosines: list[float | None] = [None] * len(candidates)
    if meaning is not None:
        cosines = [float(cosine) for cosine in vectors_of(candidates, meaning) @ meaning.vectors([text])[0]]
    found = [match(text, quote, cosine) for quote, cosine in zip(candidates, cosines, strict=True)]
    best = max(found, key=lambda one: (one.score, -one.quote.hit.rank))
    return best.quote if best.score >= LEAST else None
