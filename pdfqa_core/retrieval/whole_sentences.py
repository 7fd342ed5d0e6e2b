"""Hits that begin or end in the middle of a sentence or of a short table, completed from their page.

Half a sentence misleads a reader, and half a table does where its largest number is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pdfqa_core.retrieval.postprocessing import pieces
from pdfqa_core.text import JOINER, ROW_JOINER, sentences
from pdfqa_core.types import Hit, Passage, Span, passage_id

LONGEST = 400  # characters that are added at most at either end
LONGEST_TABLE = 1500  # characters of a table that is shown whole, with what names it

PageText = Callable[[str, int], str]  # (document id, page number) to the page's text


def completed(hits: Sequence[Hit], page_text: PageText) -> list[Hit]:
    """Return the hits with the sentences whole in which they begin and end.

    A sentence is looked for on the page itself, not on the one before or after. Of a table in parts the whole is given,
    if it is short, to the best of them; the others are left out.
    """
    found: list[Hit] = []
    left_out = 0
    for hit in hits:
        passage = _completed(hit.passage, page_text)
        if not any(passage.spans == other.passage.spans for other in found):
            found.append(replace(hit, passage=passage, rank=hit.rank - left_out))
        else:
            left_out += 1
    return found


def _completed(passage: Passage, page_text: PageText) -> Passage:
    if (table := _whole_table(passage, page_text)) is not None:
        return table
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


def _whole_table(passage: Passage, page_text: PageText) -> Passage | None:
    """Return a passage that ends in the middle of a short table, or leaves rows of it out, with all its rows."""
    first, last = passage.spans[0], passage.spans[-1]
    if not passage.text.endswith("|") or any(span.page != first.page for span in passage.spans):
        return None
    page = page_text(first.document_id, first.page)
    if ROW_JOINER.join(page[span.start : span.end] for span in passage.spans) != passage.text:
        return None
    end = last.end
    while page.startswith("\n|", end):
        following = page.find("\n", end + 1)
        end = following if following >= 0 else len(page)
    left_out = page[passage.spans[0].end : end].splitlines()
    if (len(passage.spans) == 1 and end == last.end) or end - first.start > LONGEST_TABLE:
        return None
    if not all(line.startswith("|") for line in left_out if line.strip()):
        return None
    spans = (replace(first, end=end),)
    return Passage(passage_id("whole", spans), spans, page[first.start : end], passage.heading, passage.language)


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
