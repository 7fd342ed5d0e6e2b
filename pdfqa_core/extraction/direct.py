"""Extractor `direct`: the text layer, read through PDFium with the place of every character.

PDFium is not thread-safe and a hostile file can crash it: call this in a child process (`extraction.worker`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.base import Reading
from pdfqa_core.types import DocumentState, Page

if TYPE_CHECKING:
    from pdfqa_core.extraction.layout import RawPage

_FALLBACK_SIZE = (612.0, 792.0)


@extractors.register("direct")
class DirectExtractor:
    """Reads born-digital PDFs: reading order, paragraphs, headings and margins from the geometry of the characters."""

    def __init__(self, reading: Reading | None = None) -> None:
        self.reading = reading or Reading()

    def extract(self, path: Path, document_id: str, *, password: str | None = None) -> Iterator[Page]:
        """Yield the pages of the PDF in order. Raises a `DocumentError` with the state it ends in."""
        from pdfqa_core.extraction.layout import build_pages
        from pdfqa_core.extraction.open import open_document

        caps = self.reading
        name = caps.filename or path.name
        raw = []
        with open_document(path, password, name) as document:
            count = len(document)
            if count > caps.max_pages:
                raise DocumentError(
                    DocumentState.TOO_LARGE,
                    f"{name} has {count:,} pages; the limit is {caps.max_pages:,}.",
                    "Split it, or raise max_pages in the settings.",
                )
            characters = 0
            for number in range(1, count + 1):
                page = _read_page(document.raw, document_id, number)
                characters += sum(len(line.text) for line in page.lines)
                if characters > caps.max_characters:
                    raise DocumentError(
                        DocumentState.TOO_LARGE,
                        f"{name} has more than {caps.max_characters:,} characters (page {number} of {count}).",
                        "Split it, or raise max_characters in the settings.",
                    )
                raw.append(page)
                if caps.on_page is not None:
                    caps.on_page(number, count)
        yield from build_pages(raw)


def _label(document: Any, number: int) -> str:
    import pypdfium2.raw as pdfium

    length = pdfium.FPDF_GetPageLabel(document, number - 1, None, 0)
    if not 2 < length < 512:
        return str(number)
    buffer = ctypes.create_string_buffer(length)
    pdfium.FPDF_GetPageLabel(document, number - 1, buffer, length)
    label = buffer.raw[: length - 2].decode("utf-16-le", "replace").strip()
    return label if label.isprintable() and label else str(number)


def _read_page(document: Any, document_id: str, number: int) -> RawPage:
    import pypdfium2.raw as pdfium

    from pdfqa_core.extraction.assemble import PageFacts
    from pdfqa_core.extraction.glyphs import read_glyphs
    from pdfqa_core.extraction.hidden import find_hidden
    from pdfqa_core.extraction.layout import RawPage
    from pdfqa_core.extraction.lines import find_lines

    label = _label(document, number)
    page = pdfium.FPDF_LoadPage(document, number - 1)
    if not page:
        warning = f"Page {number} is damaged and could not be read."
        return RawPage(PageFacts(document_id, number, label, *_FALLBACK_SIZE, (warning,)), [])
    try:
        text_page = pdfium.FPDFText_LoadPage(page)
        if not text_page:
            warning = f"The text of page {number} could not be read."
            return RawPage(PageFacts(document_id, number, label, *_FALLBACK_SIZE, (warning,)), [])
        try:
            glyphs = read_glyphs(page, text_page)
            hidden, reasons = find_hidden(page, glyphs)
        finally:
            pdfium.FPDFText_ClosePage(text_page)
        lines = find_lines(glyphs, hidden)
        warnings = []
        if reasons:
            warnings.append(f"Page {number} has hidden text, which is left out of answers: {', '.join(reasons)}.")
        if not any(not line.hidden for line in lines):
            drawn = pdfium.FPDFPage_CountObjects(page) > 0
            warnings.append(f"Page {number} has no text" + (": it is a picture." if drawn else ": it is empty."))
        frame = glyphs.frame
        return RawPage(PageFacts(document_id, number, label, frame.width, frame.height, tuple(warnings)), lines)
    finally:
        pdfium.FPDF_ClosePage(page)
