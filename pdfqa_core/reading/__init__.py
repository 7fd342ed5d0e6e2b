"""Question and hits to an answer with citations.

A reader's class attribute `needs_llm` says whether it must be given a language model (`llm=`); one that needs none
always works and is what to fall back to.
"""

from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.citations import with_markers
from pdfqa_core.reading.extractive import ExtractiveReader
from pdfqa_core.reading.generative import GenerativeReader
from pdfqa_core.reading.meaning import Meaning

__all__ = [
    "INSUFFICIENT_CONTEXT", "Checker", "ExtractiveReader", "GenerativeReader", "Meaning", "readers", "with_markers",
]  # fmt: skip
