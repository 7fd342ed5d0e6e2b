"""PDF to pages. Each strategy is one file that registers itself; PDFs are opened in child processes only."""

from __future__ import annotations

from collections.abc import Callable

from pdfqa_core.extraction.base import Reading
from pdfqa_core.registry import Registry
from pdfqa_core.types import Extractor

extractors: Registry[Callable[[Reading], Extractor]] = Registry("extractor")

from pdfqa_core.extraction import direct as direct  # noqa: E402 - the strategies register themselves here
from pdfqa_core.extraction import pdfplumber as pdfplumber  # noqa: E402
from pdfqa_core.extraction import visual as visual  # noqa: E402

__all__ = ["Reading", "extractors"]
