"""One sentence of the evidence: the one that says best what was selected in an answer, or is nearest to a question."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.reading.matching import Quote, match, quotes, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.relevance import relevance
from pdfqa_core.types import Citation, Hit, Span

LONGEST = 60  # words of the lines that are nearest to a question
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


def nearest_sentence(question: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> Quote | None:
    """Return the most relevant sentence of the hits, as `relevance` scores them; None where they hold no text."""
    found = [quote for hit in hits for quote in quotes(hit, longest=1)]
    scores = relevance(question, found, meaning)
    return max(zip(scores, found, strict=True), key=lambda pair: pair[0])[1] if found else None


def nearest_lines(question: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> Citation | None:
    """Return the most relevant sentence of the hits with its neighbours on the page, None where they hold no text.

    The better neighbour comes first, up to LONGEST words in all; rows of tables have the names of their columns. The
    lines stand where an answer is not sure, so they are never `verified`. Raises what the encoder raises.
    """
    found = [quote for hit in hits for quote in quotes(hit, longest=1)]
    if not found:
        return None
    scores = relevance(question, found, meaning)
    first = last = max(range(len(found)), key=scores.__getitem__)
    own, length = found[first], _length(found[first])
    while beside := [
        place
        for place in (first - 1, last + 1)
        if 0 <= place < len(found)
        and found[place].hit is own.hit
        and found[place].span.page == own.span.page
        and length + _length(found[place]) <= LONGEST
    ]:
        chosen = max(beside, key=scores.__getitem__)
        first, last, length = min(first, chosen), max(last, chosen), length + _length(found[chosen])
    lines = found[first : last + 1]
    start, end = min(one.span.start for one in lines), max(one.span.end for one in lines)
    span = Span(own.span.document_id, own.span.page, start, end)
    text = ("\n" if any(one.label for one in lines) else " ").join(" ".join(one.parts[0].split()) for one in lines)
    return Citation(own.hit.rank, own.hit.passage.id, span, text, verified=False)


def _length(quote: Quote) -> int:
    return len(quote.parts[0].split())
