"""How likely the hits hold an answer at all."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.types import Hit


def confidence(question: str, hits: Sequence[Hit]) -> float:
    """Return 0..1."""
    return 1.0 if hits and question else 0.0
