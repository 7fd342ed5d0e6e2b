"""Extractor `direct`: the text layer, read through PDFium with the place of every character.

PDFium is not thread-safe and a hostile file can crash it: call this in a child process (`extraction.process.worker`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.extraction.base import ExtractionOptions, extractors
from pdfqa_core.extraction.raw_page import RawPage
from pdfqa_core.extraction.tables.found import DEFAULT, TableThresholds
from pdfqa_core.extraction.whole import PagewiseExtractor
from pdfqa_core.types import Page


@extractors.register("direct", "the text in the file")
def direct_extractor(options: ExtractionOptions) -> PagewiseExtractor:
    """Return what reads born-digital PDFs: their layout is found from the geometry of the characters."""
    return PagewiseExtractor(DirectReader(tables=options.tables), options)


@dataclass(frozen=True, slots=True)
class DirectReader:
    """The lines of single pages from their text layer (a `PageReader`)."""

    heavy: ClassVar[bool] = False
    tables: bool = True
    thresholds: TableThresholds = DEFAULT

    def read(
        self, path: Path, document_id: str, numbers: Sequence[int], password: str | None, name: str
    ) -> Iterator[RawPage]:
        """Yield the pages with these ascending 1-based numbers."""
        from pdfqa_core.extraction.open import open_document

        with open_document(path, password, name) as document:
            for number in numbers:
                yield read_page(document.raw, document_id, number, self.thresholds, tables=self.tables)


def _label(document: Any, number: int) -> str:
    import pypdfium2.raw as pdfium

    length = pdfium.FPDF_GetPageLabel(document, number - 1, None, 0)
    if not 2 < length < 512:
        return str(number)
    buffer = ctypes.create_string_buffer(length)
    pdfium.FPDF_GetPageLabel(document, number - 1, buffer, length)
    label = buffer.raw[: length - 2].decode("utf-16-le", "replace").strip()
    return label if label.isprintable() and label else str(number)


def read_page(
    document: Any, document_id: str, number: int, thresholds: TableThresholds = DEFAULT, *, tables: bool = True
) -> RawPage:
    """Return the lines of a page of an open document (a raw FPDF_DOCUMENT)."""
    import pypdfium2.raw as pdfium

    from pdfqa_core.extraction.beside import told
    from pdfqa_core.extraction.hidden.added import with_struck, with_values
    from pdfqa_core.extraction.hidden.annotations import with_annotations
    from pdfqa_core.extraction.hidden.find_hidden import read_characters
    from pdfqa_core.extraction.layout.lines import find_lines
    from pdfqa_core.extraction.layout.writing import with_columns
    from pdfqa_core.extraction.raw_page import RawPage, page_warnings
    from pdfqa_core.extraction.tables.find_tables import with_tables
    from pdfqa_core.extraction.tables.grids import Rulings, read_rulings
    from pdfqa_core.extraction.text.raised import with_raised

    label = _label(document, number)
    page = pdfium.FPDF_LoadPage(document, number - 1)
    if page:
        page, said = with_annotations(document, page, number)
    if not page:
        return RawPage.damaged(document_id, number, label)
    try:
        found = read_characters(page)
        if found is None:
            return RawPage.damaged(document_id, number, label, f"The text of page {number} could not be read.")
        glyphs, drawn, hidden, reasons = found
        rulings = read_rulings(drawn, thresholds) if tables else Rulings()
        glyphs, hidden = with_values(glyphs, hidden, said.values)
        glyphs, hidden = with_struck(glyphs, hidden, rulings.levels(), said.struck)
        glyphs = with_columns(with_raised(glyphs))
        lines = find_lines(glyphs, hidden)
        if tables and lines:
            lines = with_tables(rulings, glyphs, hidden, lines, thresholds)
        lines += said.note_lines(glyphs.frame, len(lines))
        pictured = pdfium.FPDFPage_CountObjects(page) > 0 or pdfium.FPDFPage_GetAnnotCount(page) > 0
        warnings = page_warnings(number, lines, reasons, [told(said.files)] if said.files else [], drawn=pictured)
        width, height = glyphs.frame.width, glyphs.frame.height
        return RawPage(Page(document_id, number, label, width, height, "", warnings=warnings), lines)
    finally:
        pdfium.FPDF_ClosePage(page)
