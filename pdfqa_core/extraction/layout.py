"""All pages of a document from their lines: what needs to see the whole document before a page can be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.extraction.assemble import PageFacts, build_page
from pdfqa_core.extraction.clean import EdgeLine, running_lines
from pdfqa_core.extraction.hyphens import Hyphenation
from pdfqa_core.extraction.paragraphs import Draft, body_style, find_blocks
from pdfqa_core.extraction.segments import TextLine
from pdfqa_core.types import BlockKind, Page


@dataclass(frozen=True, slots=True)
class RawPage:
    """The lines of one page in reading order, and what is known about the page."""

    facts: PageFacts
    lines: list[TextLine]


def build_pages(raw: Sequence[RawPage]) -> Iterator[Page]:
    """Yield the pages of a document: margins set apart, paragraphs and headings found, hyphens mended."""
    edges = [
        [
            EdgeLine(index, line.text, line.top, line.bottom, line.size)
            for index, line in enumerate(page.lines)
            if line.turn == 0 and not line.hidden
        ]
        for page in raw
    ]
    headers, footers = running_lines(edges, [page.facts.height for page in raw], [page.facts.label for page in raw])
    bodies = [
        [line for i, line in enumerate(page.lines) if i not in headers[p] and i not in footers[p]]
        for p, page in enumerate(raw)
    ]
    style = body_style([[line for line in body if not line.hidden] for body in bodies])
    hyphenation = Hyphenation(line.text for body in bodies for line in body if not line.hidden)
    for p, page in enumerate(raw):
        drafts = find_blocks(bodies[p], style, page.facts.height)
        seen = [d for d in drafts if d.kind is not BlockKind.HIDDEN]
        unseen = [d for d in drafts if d.kind is BlockKind.HIDDEN]
        ordered = [
            *_margin(page.lines, headers[p], BlockKind.HEADER),
            *seen,
            *_margin(page.lines, footers[p], BlockKind.FOOTER),
            *unseen,
        ]
        yield build_page(page.facts, ordered, hyphenation)


def _margin(lines: Sequence[TextLine], chosen: set[int], kind: BlockKind) -> list[Draft]:
    found = sorted((lines[i] for i in chosen), key=lambda line: (line.baseline, line.u0))
    return [Draft([replace(line)], kind) for line in found]
