"""A whole document through a strategy that reads single pages: caps, progress, then the layout of all pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.base import ExtractionOptions, PageReader
from pdfqa_core.extraction.raw_page import RawPage
from pdfqa_core.types import DocumentState, Page


@dataclass(frozen=True, slots=True)
class PagewiseExtractor:
    """An `Extractor` made of a strategy that reads single pages."""

    reader: PageReader
    options: ExtractionOptions

    def extract(self, path: Path, document_id: str, *, password: str | None = None) -> Iterator[Page]:
        """Yield the pages of the PDF in order. Raises a `DocumentError` with the state it ends in."""
        from pdfqa_core.extraction.beside import attached_names, is_xfa, told
        from pdfqa_core.extraction.layout.outline import read_outline
        from pdfqa_core.extraction.layout.pages import build_pages
        from pdfqa_core.extraction.open import open_document
        from pdfqa_core.extraction.process.worker import read_pages

        options = self.options
        name = options.filename or path.name
        with open_document(path, password, name) as document:
            count = len(document)
            outline = read_outline(document.raw)
            attached, xfa = attached_names(document.raw), is_xfa(document.raw)
        if xfa:
            raise DocumentError(
                DocumentState.XFA,
                f"{name} is an XFA form: its pages are made by Adobe's viewer as it opens, not stored.",
                "Open it there and print it to a new PDF.",
            )
        if count > options.max_pages:
            raise DocumentError(
                DocumentState.TOO_LARGE,
                f"{name} has {count:,} pages; the limit is {options.max_pages:,}.",
                "Split it, or raise max_pages in the settings.",
            )
        numbers = [number for number in options.pages if 0 < number <= count] or range(1, count + 1)
        raw: list[RawPage] = []
        characters = by_ocr = 0
        for page in read_pages(self.reader, path, document_id, numbers, password, options):
            characters += page.characters
            by_ocr += page.facts.source == "ocr"
            if characters > options.max_characters:
                raise DocumentError(
                    DocumentState.TOO_LARGE,
                    f"{name} has more than {options.max_characters:,} characters (page {len(raw) + 1} of {count}).",
                    "Split it, or raise max_characters in the settings.",
                )
            raw.append(page)
            if options.on_page is not None:
                options.on_page(len(raw), len(numbers), by_ocr)
        if attached and raw:
            facts = raw[0].facts
            raw[0] = replace(raw[0], facts=replace(facts, warnings=(*facts.warnings, told(attached))))
        yield from build_pages(raw, outline)
