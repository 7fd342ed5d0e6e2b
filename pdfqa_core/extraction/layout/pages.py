"""All pages of a document from their lines: what needs to see the whole document before a page can be written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pdfqa_core.extraction.layout.assemble import build_page
from pdfqa_core.extraction.layout.kinds import BlockDraft, promote_headings
from pdfqa_core.extraction.layout.margins import EdgeLine, printed_labels, running_lines
from pdfqa_core.extraction.layout.outline import OutlineEntry, match_outline
from pdfqa_core.extraction.layout.paragraphs import body_style, find_blocks
from pdfqa_core.extraction.raw_page import RawPage, TextLine
from pdfqa_core.extraction.text.hyphens import Hyphenation
from pdfqa_core.types import BlockKind, Page


def build_pages(raw: Sequence[RawPage], outline: Sequence[OutlineEntry] = ()) -> Iterator[Page]:
    """Yield the pages of a document: margins set apart, paragraphs and headings found, hyphens mended.

    What the PDF's `outline` names and the page prints is a heading, whatever its type looks like.
    """
    entries: dict[int, list[OutlineEntry]] = defaultdict(list)
    for entry in outline:
        entries[entry.page].append(entry)
    edges = [
        [
            EdgeLine(index, line.text, line.top, line.bottom, line.size)
            for index, line in enumerate(page.lines)
            if line.turn == 0 and not line.hidden and line.table is None
        ]
        for page in raw
    ]
    headers, footers = running_lines(edges, [page.facts.height for page in raw], [page.facts.label for page in raw])
    bodies = [
        [line for i, line in enumerate(page.lines) if i not in headers[p] and i not in footers[p]]
        for p, page in enumerate(raw)
    ]
    labels = _labels(raw, headers, footers)
    style = body_style([[line for line in body if not line.hidden] for body in bodies])
    hyphenation = Hyphenation(line.text for body in bodies for line in body if not line.hidden)
    found = [
        find_blocks(bodies[p], style, page.facts.height, match_outline(bodies[p], entries.get(page.facts.number, ())))
        for p, page in enumerate(raw)
    ]
    promote_headings(found, [page.facts.height for page in raw])
    for p, (page, drafts) in enumerate(zip(raw, found, strict=True)):
        seen = [d for d in drafts if d.kind is not BlockKind.HIDDEN]
        unseen = [d for d in drafts if d.kind is BlockKind.HIDDEN]
        ordered = [
            *_margin(page.lines, headers[p], BlockKind.HEADER),
            *seen,
            *_margin(page.lines, footers[p], BlockKind.FOOTER),
            *unseen,
        ]
        yield build_page(replace(page.facts, label=labels[p]), ordered, hyphenation)


def _labels(raw: Sequence[RawPage], headers: Sequence[set[int]], footers: Sequence[set[int]]) -> list[str]:
    """Return the pages' labels: the file's own, else the numbers printed in the margins, else the physical numbers."""
    given = [page.facts.label for page in raw]
    if any(label != str(page.facts.number) for label, page in zip(given, raw, strict=True)):
        return given
    margins = [[page.lines[i].text for i in sorted(headers[p] | footers[p])] for p, page in enumerate(raw)]
    printed = printed_labels(margins)
    return [own or label for own, label in zip(printed, given, strict=True)]


def _margin(lines: Sequence[TextLine], chosen: set[int], kind: BlockKind) -> list[BlockDraft]:
    found = sorted((lines[i] for i in chosen), key=lambda line: (line.baseline, line.u0))
    return [BlockDraft([replace(line)], kind) for line in found]
