"""How well a sentence of an answer matches the sentences of passages. Pure functions, no model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pdfqa_core.text import content_terms, sentences
from pdfqa_core.types import Hit, Passage, Span

_NUMBER = re.compile(r"\d")
LONGEST_QUOTE = 2  # adjacent sentences of a passage that may support one sentence of an answer together


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of a passage: what it says, where it stands, its content terms."""

    hit: Hit
    span: Span
    text: str
    terms: Counter[str]


@dataclass(frozen=True, slots=True)
class Match:
    """How well a quote supports a sentence.

    `containment` is the share of the sentence's content terms that the quote holds, `f1` the harmonic mean of that
    share and the share of the quote's terms that the sentence uses (token F1, Rajpurkar et al. 2016).
    `numbers` says whether every number of the sentence stands in the quote.
    """

    quote: Quote
    containment: float
    f1: float
    numbers: bool


def locate(passage: Passage, start: int, end: int) -> tuple[Span, int, int] | None:
    """Return the span on a page that `passage.text[start:end]` stands for, and the part of it that lies in the span.

    The passage's text is its spans' texts, joined by a separator of one length. Of a range that touches several spans
    the largest part is taken. None if the text is not what the spans hold.
    """
    lengths = [span.end - span.start for span in passage.spans]
    gaps = len(lengths) - 1
    spare = len(passage.text) - sum(lengths)
    if spare < 0 or (spare if gaps == 0 else spare % gaps):
        return None
    separator = spare // gaps if gaps else 0
    origins = [0, *accumulate(length + separator for length in lengths[:-1])]
    parts = [
        (min(end, origin + length) - max(start, origin), span, origin, length)
        for span, origin, length in zip(passage.spans, origins, lengths, strict=True)
    ]
    shared, span, origin, length = max(parts, key=lambda part: part[0])
    if shared <= 0:
        return None
    first, last = max(start, origin), min(end, origin + length)
    return Span(span.document_id, span.page, span.start + first - origin, span.start + last - origin), first, last


def quotes(hit: Hit, longest: int = LONGEST_QUOTE) -> Iterator[Quote]:
    """Yield every run of 1 to `longest` adjacent sentences of a hit that lies within one span."""
    text = hit.passage.text
    bounds = sentences(text)
    for size in range(1, longest + 1):
        for position in range(len(bounds) - size + 1):
            start, end = bounds[position][0], bounds[position + size - 1][1]
            place = locate(hit.passage, start, end)
            if place is None:
                whole = hit.passage.spans[0]
                yield Quote(hit, whole, text[start:end], Counter(content_terms(text[start:end])))
                continue
            span, first, last = place
            if (first, last) == (start, end) or size == 1:
                yield Quote(hit, span, text[first:last], Counter(content_terms(text[first:last])))


def match(sentence: str, quote: Quote) -> Match:
    """Return how well `quote` supports `sentence`."""
    wanted = Counter(content_terms(sentence))
    shared = (wanted & quote.terms).total()
    containment = shared / wanted.total() if wanted else 0.0
    used = shared / quote.terms.total() if quote.terms else 0.0
    f1 = 2 * containment * used / (containment + used) if shared else 0.0
    numbers = all(term in quote.terms for term in wanted if _NUMBER.search(term))
    return Match(quote, containment, f1, numbers)


def best_match(sentence: str, candidates: Sequence[Quote], preferred: frozenset[int] = frozenset()) -> Match | None:
    """Return the best supporting quote, None if no candidate shares a content term.

    Ranked by the mean of containment and F1, so that the shortest quote that holds everything wins; the hits whose
    ranks are `preferred` (the model named them itself) win ties and near-ties.
    """
    best, best_score = None, 0.0
    for candidate in candidates:
        found = match(sentence, candidate)
        score = (found.containment + found.f1) / 2 + (0.1 if found.f1 and candidate.hit.rank in preferred else 0.0)
        if score > best_score:
            best, best_score = found, score
    return best
