"""The image of a page with boxes drawn on it: paragraphs, a passage's lines, a quote's words."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.services import Services
from pdfqa_core.types import Box, Page, Passage, Span
from pdfqa_core.ui.components import render

NOT_FOUND = "The passage could not be found on this page, so nothing is marked."


@dataclass(frozen=True, slots=True)
class Marked:
    """A rectangle in percent of the page with the CSS class it is drawn with."""

    kind: str
    left: float
    top: float
    width: float
    height: float


def _percent(box: Box, page: Page, kind: str) -> Marked:
    return Marked(
        kind,
        round(100 * box.x0 / page.width, 3),
        round(100 * box.top / page.height, 3),
        round(100 * (box.x1 - box.x0) / page.width, 3),
        round(100 * (box.bottom - box.top) / page.height, 3),
    )


def _boxes(page: Page, spans: Sequence[Span], kind: str) -> list[Marked]:
    here = [span for span in spans if span.document_id == page.document_id and span.page == page.number]
    return [_percent(box, page, kind) for span in here for box in page.boxes(span.start, span.end)]


def _block_boxes(page: Page) -> list[Marked]:
    found = []
    for block in page.blocks:
        boxes = page.boxes(block.start, block.end)
        if boxes:
            around = Box(
                min(b.x0 for b in boxes),
                min(b.top for b in boxes),
                max(b.x1 for b in boxes),
                max(b.bottom for b in boxes),
            )
            found.append(_percent(around, page, f"{block.kind}"))
    return found


def main_page(passage: Passage) -> int:
    """Return the 1-based number of the page that holds most of the passage."""
    lengths: dict[int, int] = {}
    for span in passage.spans:
        lengths[span.page] = lengths.get(span.page, 0) + span.end - span.start
    return max(lengths, key=lambda number: lengths[number])


def page_html(
    services: Services,
    owner: str,
    document_id: str,
    number: int,
    *,
    marks: Sequence[Span] = (),
    quotes: Sequence[Span] = (),
    regions: bool = False,
    with_text: bool = False,
) -> str:
    """Return the page view of page `number` with the lines of `marks` and, stronger, of `quotes` drawn on it.

    `regions` outlines every block under the pointer. Raises PdfQAError if the document is not the owner's.
    """
    view = services.page_view(owner, document_id, number)
    drawn = _boxes(view.page, marks, "mark") + _boxes(view.page, quotes, "quote")
    asked = any(span.page == number and span.document_id == document_id for span in (*marks, *quotes))
    return render(
        "page_view",
        image=base64.b64encode(view.image).decode() if view.image else "",
        mime=view.mime,
        message=view.message or (NOT_FOUND if asked and not drawn else ""),
        document_id=document_id,
        title=view.document.title,
        number=number,
        label=view.page.label,
        count=view.document.page_count,
        warnings=view.page.warnings,
        regions=_block_boxes(view.page) if regions else [],
        marks=drawn,
        text=view.page.text if with_text else None,
    )


def empty_page(message: str) -> str:
    """Return the page view's place with a sentence that says what to do."""
    return render("page_view", image="", message=message)
