"""Texts of a data set as passages."""

from __future__ import annotations

from pdfqa_core.types import Passage, Span


def corpus_passage(document: str, title: str, text: str) -> Passage:
    """Return a document of a text collection as one passage, headed by its title."""
    return Passage(document, (Span(document, 1, 0, len(text)),), text, title)
