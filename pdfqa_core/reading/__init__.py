"""Question and hits to an answer with citations.

A reader that has a parameter `llm` is given the language model; one that has none always works and is what to fall
back to.
"""

from pdfqa_core.reading.checking import Checker, with_markers
from pdfqa_core.reading.evidence import Meaning
from pdfqa_core.reading.extractive import ExtractiveReader
from pdfqa_core.reading.generative import GenerativeReader
from pdfqa_core.reading.prompts import INSUFFICIENT_CONTEXT, readers

__all__ = [
    "INSUFFICIENT_CONTEXT", "Checker", "ExtractiveReader", "GenerativeReader", "Meaning", "readers", "with_markers",
]  # fmt: skip
