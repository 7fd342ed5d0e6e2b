"""The markers of citations in an answer's text: those a model wrote are taken out, those that hold are put in.

The clean text of an answer holds no markers; `Citation.end` is the place after which a marker is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pdfqa_core.reading.matching import quotes
from pdfqa_core.text import addresses
from pdfqa_core.types import Answer, Hit, Span

# Citations that the model itself writes: "[1]", "[1, 2]", "[Passage 1]", "(Passage 2)" behind what they are for, and
# before it "The passage 1: ".
_MARKER = re.compile(
    r"\s*(?:\[(?:passages?\s*)?\d{1,2}(?:\s*(?:,|and|&)\s*\d{1,2})*\]|\(passages?\s+\d{1,2}(?:\s*(?:,|and|&)\s*\d{1,2})*\))"
    r"|(?:^|(?<=[.!?]\s)|(?<=\n))(?:the\s+)?passage\s+\d{1,2}\s*:\s+",
    re.IGNORECASE,
)


IN_NONE = "stands in none of the passages"


def strip_markers(text: str) -> str:
    """Return the text without the citation markers that a model wrote."""
    return _MARKER.sub("", text)


def with_markers(answer: Answer) -> str:
    """Return the answer's text with [n] after each sentence that has evidence: "Sentence. [1]", each number once."""
    text = answer.text
    for end, number in sorted({(citation.end, citation.number) for citation in answer.citations}, reverse=True):
        text = f"{text[:end]} [{number}]{text[end:]}"
    return text


def foreign_addresses(answer: Answer, questions: Sequence[str]) -> Iterator[tuple[str, Span | None]]:
    """Yield each address of an answer that stands in no question, with its place in the passages; None: in none."""
    asked = _unbroken(" ".join(questions))
    for address in dict.fromkeys(answer.text[start:end] for start, end in addresses(answer.text)):
        if _unbroken(address) not in asked:
            yield address, next((span for hit in answer.hits if (span := _place(address, hit)) is not None), None)


def with_sources(answer: Answer, questions: Sequence[str], names: Mapping[str, str]) -> Answer:
    """Return an answer that says of each address which nobody asked with where it comes from; `names` are of files.

    A PDF can name any address and have it named: whoever reads it must know that neither they nor the program did.
    """
    notes = []
    for address, span in foreign_addresses(answer, questions):
        source = f"comes from {names.get(span.document_id, 'a document')}, p. {span.page}" if span else IN_NONE
        notes.append(f"“{address}” {source}; where it leads was not checked.")
    return replace(answer, notes=(*answer.notes, *notes)) if notes else answer


def _place(address: str, hit: Hit) -> Span | None:
    """Return the sentence of a hit with an address, which may go on in the next line; the hit's first page at least."""
    wanted = _unbroken(address)
    if wanted not in _unbroken(hit.passage.text):
        return None
    return next((one.span for one in quotes(hit) if wanted in _unbroken(one.text)), hit.passage.spans[0])


def _unbroken(text: str) -> str:
    return "".join(text.split()).casefold()
