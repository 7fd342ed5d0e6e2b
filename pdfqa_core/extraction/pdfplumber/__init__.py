"""Extractor `pdfplumber`: the text layer as the library pdfplumber reads it, to compare with `direct`.

The lines, their order (top to bottom over the whole width of the page: columns side by side are read across) and the
tables (those with ruled lines) are pdfplumber's own; running headers, paragraphs, headings and hyphens are found as for
the other extractors. What a person cannot see is found through PDFium as for `direct`, since pdfplumber knows no text
render modes; hidden text that the two libraries place more than half a point apart stays undetected. PDFium also says
which part of a page is shown. Opens PDFs: call this in a child process (`extraction.process.worker`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.extraction.base import ExtractionOptions, extractors
from pdfqa_core.extraction.open import open_document
from pdfqa_core.extraction.pdfplumber.sheet import (
    DEFAULT,
    MeasuredChar,
    PdfplumberThresholds,
    RuledTable,
    Sheet,
    find_lines,
    find_tables,
    measure,
)
from pdfqa_core.extraction.pdfplumber.source import cause, faults, source_pages, upright
from pdfqa_core.extraction.raw_page import RawPage, TextLine, page_warnings
from pdfqa_core.extraction.whole import PagewiseExtractor
from pdfqa_core.types import Page

_UNKNOWN = re.compile(r"\(cid:\d+\)")  # pdfminer's text of a glyph that stands for no known character


@extractors.register("pdfplumber", "the text in the file, read by pdfplumber; slower")
def pdfplumber_extractor(options: ExtractionOptions) -> PagewiseExtractor:
    """Return what reads born-digital PDFs through pdfplumber, in its own reading order and with its own tables."""
    return PagewiseExtractor(PdfplumberReader(tables=options.tables), options)


@dataclass(frozen=True, slots=True)
class PdfplumberReader:
    """The lines of single pages as pdfplumber finds them (a `PageReader`)."""

    heavy: ClassVar[bool] = True
    tables: bool = True
    thresholds: PdfplumberThresholds = DEFAULT

    def read(
        self, path: Path, document_id: str, numbers: Sequence[int], password: str | None, name: str
    ) -> Iterator[RawPage]:
        """Yield the pages with these ascending 1-based numbers."""
        with open_document(path, password, name) as shown, path.open("rb") as file:
            pages = enumerate(source_pages(file, password, name), 1)
            for wanted in numbers:
                found = next((page for number, page in pages if number == wanted), None)
                if found is None:
                    yield RawPage.damaged(document_id, wanted)
                else:
                    yield self._page(*found, shown.raw, document_id, wanted)

    def _page(self, document: Any, source: Any, shown: Any, document_id: str, number: int) -> RawPage:
        """Return the lines of pdfminer's page `source`; `shown` is the document as PDFium has it (FPDF_DOCUMENT)."""
        from pdfplumber.page import Page as LibraryPage

        label = source.label
        label = label.strip() if isinstance(label, str) and label.strip() and label.isprintable() else str(number)
        try:
            source.mediabox = upright(source.mediabox)
            source.attrs["MediaBox"] = source.mediabox  # pdfminer's has a default, pdfplumber's has not
            page = LibraryPage(document, source, number)
            try:
                sheet = Sheet.of(page, shown, number)
                return self._lines(page, sheet, Page(document_id, number, label, sheet.width, sheet.height, ""))
            finally:
                page.close()  # what was read of it stays in memory otherwise
        except faults() as error:
            cause(error)
            return RawPage.damaged(document_id, number, label)

    def _lines(self, page: Any, sheet: Sheet, facts: Page) -> RawPage:
        """Return the lines of a page: level ones and tables from top to bottom, then turned text, then hidden text."""
        known = [raw for raw in page.chars if not _UNKNOWN.fullmatch(raw["text"])]
        chars = [measure(raw, page, sheet, self.thresholds) for raw in known]
        ruled = find_tables(page, chars, self.thresholds) if self.tables else []
        inside = {id(char) for table in ruled for char in table.chars}
        lines: list[TextLine] = []
        region = 0
        for hidden in (False, True):
            for turn in range(4):
                chosen = [c for c in chars if c.hidden == hidden and c.turn == turn and id(c) not in inside]
                found = find_lines(chosen, turn, self.thresholds)
                for line in found:
                    line.hidden, line.region = hidden, region
                lines += _with_tables(found, ruled) if region == 0 else found
                region += 1
        unknown, also = len(page.chars) - len(known), []
        if unknown > self.thresholds.unknown * (unknown + sum(not c.blank for c in chars)):
            also = [f"Page {facts.number} has {unknown:,} characters whose font does not say which letters they are."]
        warnings = page_warnings(
            facts.number, lines, _reasons(sheet, chars, self.thresholds.tiny), also, drawn=bool(page.objects)
        )
        return RawPage(replace(facts, warnings=warnings), lines)


def _reasons(sheet: Sheet, chars: Sequence[MeasuredChar], tiny: float) -> tuple[str, ...]:
    """Return why text is hidden, also where PDFium leaves it out, as it does with some of what is off the page."""
    from pdfqa_core.extraction.hidden.find_hidden import REASONS

    hidden = [c for c in chars if c.hidden and not c.blank]
    if sheet.reasons or not hidden:
        return sheet.reasons
    return (REASONS["tiny" if any(c.size < tiny for c in hidden) else "outside"],)


def _with_tables(lines: Sequence[TextLine], ruled: Sequence[RuledTable]) -> list[TextLine]:
    """Return lines with each table put before the first line that begins below its first row."""
    found = list(lines)
    for table in ruled:
        below = (i for i, line in enumerate(found) if line.baseline > table.line.baseline)
        found.insert(next(below, len(found)), table.line)
    return found
