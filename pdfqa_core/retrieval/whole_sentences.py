"""Hits that begin or end in the middle of a sentence, completed from their page: half a sentence misleads a reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pdfqa_core.retrieval.postprocessing import pieces
from pdfqa_core.text import JOINER, sentences
from pdfqa_core.types import Hit, Passage, Span, passage_id

LONGEST = 400  # characters that are added at most at either end

PageText = Callable[[str, int], str]  # (document id, page number) to the page's text


def completed(hits: Sequence[Hit], page_text: PageText) -> list[Hit]:
    """Return the hits with the sentences whole in which they begin and end.

    A sentence is looked for on the page itself, not on the one before or after; a table stays as it is.
    """
    return [replace(hit, passage=_completed(hit.passage, page_text)) for hit in hits]


def _completed(passage: Passage, page_text: PageText) -> Passage:
    parts = pieces(passage)
    if parts is None:
        return passage
    (first, opening), (last, closing) = parts[0], parts[-1]
    before = page_text(first.document_id, first.page)
    after = page_text(last.document_id, last.page)
    if before[first.start : first.end] != opening or after[last.start : last.end] != closing:
        return passage  # the page has been read anew since
    start, end = _beginning(before, first, passage.language), _ending(after, last, passage.language)
    if (start, end) == (first.start, last.end):
        return passage
    parts[0] = (replace(first, start=start), before[start : first.end])
    last, closing = parts[-1]
    parts[-1] = (replace(last, end=end), closing + after[last.end : end])
    spans = tuple(span for span, _ in parts)
    text = JOINER.join(text for _, text in parts)
    return Passage(passage_id("whole", spans), spans, text, passage.heading, passage.language)


def _beginning(text: str, span: Span, language: str) -> int:
    """Return where the sentence begins that the span begins in."""
    for start, end in sentences(text, language):
        if start < span.start < end and span.start - start <= LONGEST:
            return start
    return span.start


def _ending(text: str, span: Span, language: str) -> int:
    """Return where the sentence ends that the span ends in."""
    for start, end in sentences(text, language):
        if start < span.end < end and end - span.end <= LONGEST:
            return end
    return span.end
