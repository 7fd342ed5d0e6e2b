"""Evidence for each sentence of an answer: which sentence of which passage says it, and where that stands.

The clean text of an answer holds no markers; `Citation.end` is the place after which a marker is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.reading.matching import best_match, quotes
from pdfqa_core.text import sentences
from pdfqa_core.types import Answer, Citation, Hit

# "[1]", "[1, 2]", "[Passage 1]", "(Passage 2)": citations that the model itself writes.
_MARKER = re.compile(
    r"\s*(?:\[(?:passages?\s*)?(\d{1,2}(?:\s*(?:,|and|&)\s*\d{1,2})*)\]|\(passages?\s+(\d{1,2}(?:\s*(?:,|and|&)\s*\d{1,2})*)\))",
    re.IGNORECASE,
)
MENTIONED = 0.25  # containment below which a sentence gets no citation at all


def strip_markers(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text without the citation markers a model wrote, and (place in that text, number) of each."""
    clean, numbers, reached = "", [], 0
    for found in _MARKER.finditer(text):
        clean += text[reached : found.start()]
        numbers += [(len(clean), int(number)) for number in re.findall(r"\d+", found[1] or found[2])]
        reached = found.end()
    return clean + text[reached:], numbers


def cite(
    text: str, hits: Sequence[Hit], *, threshold: float = 0.5, markers: Sequence[tuple[int, int]] = ()
) -> tuple[Citation, ...]:
    """Return at most one citation per sentence of `text`, in order.

    A citation is verified if at least `threshold` of the sentence's content terms, and all its numbers, stand in the
    quote. Sentences that share less than a quarter of their terms with every quote get none. `markers` are the places
    and numbers of the markers the model wrote itself.
    """
    candidates = [quote for hit in hits for quote in quotes(hit)]
    found = []
    for start, end in sentences(text):
        named = frozenset(number for place, number in markers if start < place <= end)
        best = best_match(text[start:end], candidates, named)
        if best is None or best.containment < MENTIONED:
            continue
        quote = best.quote
        verified = best.containment >= threshold and best.numbers
        found.append(Citation(quote.hit.rank, quote.hit.passage.id, quote.span, quote.text, verified, start, end))
    return tuple(found)


def with_markers(answer: Answer) -> str:
    """Return the answer's text with [n] after each sentence that has evidence: "Sentence. [1]"."""
    text = answer.text
    for citation in sorted(answer.citations, key=lambda c: c.end, reverse=True):
        text = f"{text[: citation.end]} [{citation.number}]{text[citation.end :]}"
    return text
