"""PDF to pages. Each strategy is one module that registers itself; PDFs are opened in child processes only."""

from __future__ import annotations

from pdfqa_core.extraction import direct as direct  # the strategies register themselves
from pdfqa_core.extraction import pdfplumber as pdfplumber
from pdfqa_core.extraction import visual as visual
from pdfqa_core.extraction.base import ExtractionOptions, extractors

__all__ = ["ExtractionOptions", "extractors"]
