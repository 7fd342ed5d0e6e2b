"""The fields of the Documents tab that say how new PDFs are read."""

from __future__ import annotations

from typing import Any

import gradio as gr

from pdfqa_core.services import Services, strategies
from pdfqa_core.services.page_ocr import ocr_extractor
from pdfqa_core.settings import ExtractionSettings


def reading_form(services: Services) -> list[Any]:
    """Return the fields, in the order that `extraction_of` takes their values."""
    settings, extractors, ocr = services.settings.extraction, strategies.REGISTRIES["extractor"], ocr_extractor()
    words = " · ".join(f"{name}: {extractors.words(name)}" for name in extractors.names())
    extractor = gr.Radio(list(extractors.names()), value=settings.extractor, label="Extractor", info=words)
    tables = gr.Checkbox(settings.tables, label="Tables", info="find tables and keep their rows and columns")
    visual_pages = gr.Radio(
        ["auto", "all"], value=settings.visual_pages, label="Pages read by OCR", visible=bool(ocr),
        info=f"of extractor {ocr}; auto: only those without usable text",
    )  # fmt: skip
    return [extractor, tables, visual_pages]


def extraction_of(services: Services, extractor: str, tables: bool, visual_pages: str) -> ExtractionSettings:
    """Return how the fields say that PDFs are read, the rest as the program's settings have it."""
    own = services.settings
    return own.changed("extraction", extractor=extractor, tables=tables, visual_pages=visual_pages).extraction
