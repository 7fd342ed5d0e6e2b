"""Extractor `visual`: pages read from their pictures (OCR), by default only those whose text layer cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pdfqa_core.extraction.base import ExtractionOptions, extractors
from pdfqa_core.extraction.raw_page import OCR_FOUND_NOTHING, RawPage
from pdfqa_core.extraction.whole import PagewiseExtractor

if TYPE_CHECKING:
    from pdfqa_core.extraction.visual.engine import PictureModels
    from pdfqa_core.extraction.visual.picture import PictureText

LOW_CONFIDENCE = 0.95
"""Mean confidence of a page's characters below which a warning asks to compare it with the picture.

Northwind pages made worse: 3 % of the characters wrong at 0.965, 13 % at 0.925, 32 % at 0.72 (Latin script).
"""

SCRIPTS = "Latin letters, Chinese and Japanese"

DETECTION_DPI = 110
"""Resolution at which text is looked for; it is read at `raster.DPI`."""


@extractors.register("visual", "OCR where the file has no usable text; slow")
def visual_extractor(options: ExtractionOptions, visual_pages: str = "auto") -> PagewiseExtractor:
    """Return what reads scanned pages: draws them, finds lines and regions, recognises the text, puts it in order.

    `visual_pages`: "auto", "all", or the numbers of the pages that are read by OCR, as "4,7".
    """
    only = frozenset(map(int, visual_pages.split(","))) if visual_pages[:1].isdigit() else None
    reader = VisualReader(every_page=visual_pages == "all", only=only, tables=options.tables, workers=options.workers)
    return PagewiseExtractor(reader, options)


class VisualReader:
    """The lines of single pages from their pictures (a `PageReader`). `models` are loaded at the first page read so.

    With `only`, these pages are read from their pictures whatever their text, and no others.
    """

    heavy: ClassVar[bool] = True

    def __init__(
        self,
        *,
        every_page: bool = False,
        only: frozenset[int] | None = None,
        tables: bool = True,
        workers: int = 1,
        models: PictureModels | None = None,
    ) -> None:
        self.every_page = every_page
        self.only = only
        self.tables = tables
        self.workers = workers
        self._models = models

    def read(
        self, path: Path, document_id: str, numbers: Sequence[int], password: str | None, name: str
    ) -> Iterator[RawPage]:
        """Yield the pages with these ascending 1-based numbers. Raises PdfQAError where OCR is not installed."""
        from pdfqa_core.extraction.direct import read_page
        from pdfqa_core.extraction.open import open_document

        with open_document(path, password, name) as document:
            for number in numbers:
                direct = read_page(document.raw, document_id, number, tables=self.tables)
                by_picture = self.only is None or number in self.only
                yield (self._page(document, direct) if by_picture else None) or direct

    def _page(self, document: Any, direct: RawPage) -> RawPage | None:
        """Return the page read from its picture; None where its text layer is to be kept."""
        import pypdfium2

        from pdfqa_core.extraction.visual.engine import is_garbage, readable_letters, usable_text
        from pdfqa_core.extraction.visual.picture import DPI, draw, drawn_objects, pictured_share

        try:
            page = document[direct.facts.number - 1]
        except pypdfium2.PdfiumError:  # damaged, and said so in its warnings
            return None
        try:
            forced = self.every_page or self.only is not None
            if not forced and usable_text(direct.lines, pictured_share(page.raw), drawn_objects(page.raw)):
                return None
            picture, scale = draw(page)
        finally:
            page.close()
        from pdfqa_core.extraction.visual.picture import read_picture

        found = read_picture(picture, self._loaded(), reduction=DETECTION_DPI / DPI)
        del picture
        letters = 0 if forced or is_garbage(direct.lines) else readable_letters(direct.lines)
        return page_of(direct, found, scale, letters, tables=self.tables)

    def _loaded(self) -> PictureModels:
        if self._models is None:
            from pdfqa_core.extraction.process.worker import sharing
            from pdfqa_core.extraction.visual.engine import RapidModels

            self._models = RapidModels(max(1, self.workers // sharing()))
        return self._models


def page_of(direct: RawPage, found: PictureText, scale: float, letters: int, *, tables: bool = True) -> RawPage:
    """Return the page that its picture's text makes; its text layer is kept where it has more `letters`."""
    from pdfqa_core.extraction.raw_page import RawPage
    from pdfqa_core.extraction.visual.order import ordered_lines

    number = direct.facts.number
    if letters > sum(c.isalnum() for line in found.lines for c in line.text):
        return direct
    if not found.lines:
        warning = f"Page {number}{OCR_FOUND_NOTHING}"
        if found.lost:
            warning = f"Page {number} has text that OCR cannot read: it knows {SCRIPTS}."
        return RawPage(replace(direct.facts, source="ocr", warnings=(warning,)), [])
    confidence = found.confidence
    warnings = [w for w in direct.facts.warnings if " has no text" not in w]
    if confidence < LOW_CONFIDENCE:
        warnings.append(
            f"Page {number} was read by OCR with low confidence ({confidence:.2f}): check it against the picture."
        )
    facts = replace(direct.facts, source="ocr", confidence=round(confidence, 3), warnings=tuple(warnings))
    return RawPage(facts, ordered_lines(found, scale, tables=tables))
