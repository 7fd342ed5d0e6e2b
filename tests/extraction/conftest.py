"""PDFs drawn by hand: what stands where is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.base import ExtractionOptions
from pdfqa_core.types import BlockKind, Page

LOREM = (
    "The deductible is the amount that a member pays before the plan begins to pay for covered services and it "
    "starts again every calendar year for each member of the family who is covered under the same contract"
).split()


def wrapped(words: Sequence[str], width: int) -> list[str]:
    """Break words into lines of at most `width` characters."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


@pytest.fixture
def draw(tmp_path: Path) -> Callable[..., Path]:
    """Write a PDF with a page for each function, which gets a reportlab canvas (595 × 842 points, origin below)."""

    def build(*pages: Callable[[Any], None], name: str = "drawn.pdf", **options: Any) -> Path:
        from reportlab.pdfgen.canvas import Canvas

        path = tmp_path / name
        canvas = Canvas(str(path), pagesize=(595, 842), **options)
        for page in pages:
            canvas.setFont("Helvetica", 11)
            page(canvas)
            canvas.showPage()
        canvas.save()
        return path

    return build


def read(path: Path, **caps: Any) -> list[Page]:
    """Read a PDF in this process."""
    return list(extractors.get("direct")(ExtractionOptions(**caps)).extract(path, "doc"))


def blocks(page: Page, *kinds: BlockKind) -> list[str]:
    """Return the texts of the blocks of some kinds (all, if none is named)."""
    return [page.text[b.start : b.end] for b in page.blocks if not kinds or b.kind in kinds]


def at(canvas: Any, x: float, top: float, lines: Sequence[str], leading: float = 13) -> None:
    """Draw lines below each other, the first baseline `top` points below the page's upper edge."""
    for number, line in enumerate(lines):
        canvas.drawString(x, 842 - top - leading * number, line)


def put(canvas: Any, x: float, top: float, text: str, size: float = 11) -> None:
    """Draw a text of this size with its baseline `top` points below the page's upper edge."""
    canvas.setFont("Helvetica", size)
    canvas.drawString(x, 842 - top, text)
    canvas.setFont("Helvetica", 11)
