"""Which reading of a document is used: names of readings, the one a recipe wants, and whether text stands in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pdfqa_core.extraction import extractors
from pdfqa_core.settings import ExtractionSettings, Settings
from pdfqa_core.storage import Reading
from pdfqa_core.text import terms
from pdfqa_core.types import Document, Page, Span

_ENOUGH = 0.8  # of a span's words: from this share on its text is the passage's; tables are written in several ways


@dataclass(frozen=True, slots=True)
class Claim:
    """A place where `text`, or the part of it that `span` has room for, is said to stand."""

    span: Span
    text: str


def name_of(extraction: ExtractionSettings) -> str:
    """Return the name of a reading: the extractor, with what is asked of it beyond the default.

    Settings that do not change its text are no part of the name.
    """
    parts = [extraction.extractor]
    if not extraction.tables:
        parts.append("no tables")
    if extraction.visual_pages == "all" and "visual_pages" in extractors.parameters(extraction.extractor):
        parts.append("all pages")
    return ", ".join(parts)


def wanted(settings: Settings, own: ExtractionSettings) -> ExtractionSettings | None:
    """Return how a recipe wants documents to have been read; None: as each of them was.

    It wants what `read_by` names, or its own way of reading where that is not the workspace's (`own`), in which new
    PDFs are read.
    """
    if settings.chunking.read_by:
        return settings.extraction.model_copy(update={"extractor": settings.chunking.read_by})
    return settings.extraction if name_of(settings.extraction) != name_of(own) else None


def used(document: Document, readings: Iterable[Reading], name: str) -> Reading | None:
    """Return the document's usable reading of this name, else the one that counts for it; None: it has no text."""
    usable = {reading.extractor: reading for reading in readings if reading.state.usable}
    return usable.get(name) or usable.get(document.extractor)


def stands(page: Page, claim: Claim) -> bool:
    """Whether the page has the text where the claim says so; readings differ in their text, and so in its places."""
    span = claim.span
    if (span.document_id, span.page) != (page.document_id, page.number) or span.end > len(page.text):
        return False
    there = Counter(terms(page.text[span.start : span.end]))
    total = sum(there.values())
    if not total:
        return page.text[span.start : span.end].strip() in claim.text
    return sum((there & Counter(terms(claim.text))).values()) >= _ENOUGH * total
