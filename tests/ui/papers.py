"""PDFs that take the program a while."""

from __future__ import annotations

import io
import random

from reportlab.pdfgen.canvas import Canvas

WORDS = ("quay", "tide", "rope", "gull", "net", "sail", "buoy", "deck", "crew", "lamp", "storm", "cargo")


def long_text(pages: int = 150) -> bytes:
    """Return a PDF with 600 words on each page, which make ten passages, and its number in a sentence."""
    buffer, chance = io.BytesIO(), random.Random(0)
    canvas = Canvas(buffer, invariant=1)
    for page in range(1, pages + 1):
        canvas.drawString(60, 800, f"This is page {page} of the logbook.")
        for line in range(50):
            canvas.drawString(60, 780 - 14 * line, " ".join(chance.choices(WORDS, k=12)))
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()
