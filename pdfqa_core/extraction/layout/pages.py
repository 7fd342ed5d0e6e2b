"""All pages of a document from their lines: what needs to see the whole document before a page can be written."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pdfqa_core.extraction.layout.kinds import BlockDraft, promote_headings
from pdfqa_core.extraction.layout.margins import EdgeLine, printed_labels, running_lines
from pdfqa_core.extraction.layout.outline import OutlineEntry, match_outline
from pdfqa_core.extraction.layout.paragraphs import body_style, find_blocks
from pdfqa_core.extraction.raw_page import PageTable, RawPage, TableCell, TextLine, from_text_frame
from pdfqa_core.extraction.text.words import Hyphenation
from pdfqa_core.types import Block, BlockKind, Box, Line, Page

# ----------------------------------------------------------------------------------------------------
# Blocks to a `Page`: its text, and where each line and block stands in it.

_SIDES = 3.0  # of the font size: how far the sides of a table that goes on may lie from those above
BLOCK_BREAK = "\n\n"
_FEWEST_DOTS = 5  # of leaders
_LEADERS = re.compile(rf"(?:\s*\.){{{_FEWEST_DOTS},}}\s*")


def build_page(facts: Page, drafts: Sequence[BlockDraft], hyphenation: Hyphenation) -> Page:
    """Return the page `facts` with the text that `drafts`, in reading order, make.

    Lines of one block are joined by a space, by nothing where a hyphen was mended, and by a line break in tables.
    """
    parts: list[str] = []
    length = 0
    lines: list[Line] = []
    blocks: list[Block] = []
    for draft in drafts:
        if blocks:
            parts.append(BLOCK_BREAK)
            length += len(BLOCK_BREAK)
        begin = length
        table = draft.lines[0].table
        if table is not None:
            text, cells = table.markdown()
            lines += [Line(begin + start, begin + end, _within(box, facts)) for start, end, box in cells]
            parts.append(text)
            length += len(text)
            blocks.append(Block(begin, length, BlockKind.TABLE))
            continue
        texts = [_tidy(line.text) for line in draft.lines]
        for position, (line, text) in enumerate(zip(draft.lines, texts, strict=True)):
            following = texts[position + 1] if position + 1 < len(texts) else None
            kept, joint = _joint(text, following, draft, hyphenation)
            box = from_text_frame(Box(line.u0, line.top, line.u1, line.bottom), line.turn, facts.width, facts.height)
            lines.append(Line(length, length + len(kept), _within(box, facts)))
            parts += [kept, joint]
            length += len(kept) + len(joint)
        blocks.append(Block(begin, length, draft.kind, draft.level))
    width, height = round(facts.width, 2), round(facts.height, 2)
    return replace(facts, width=width, height=height, text="".join(parts), lines=tuple(lines), blocks=tuple(blocks))


def _tidy(text: str) -> str:
    return _LEADERS.sub(" … ", text).strip() if text.count(".") >= _FEWEST_DOTS else text.strip()


def _joint(text: str, following: str | None, draft: BlockDraft, hyphenation: Hyphenation) -> tuple[str, str]:
    """Return the line's text as it is kept and what parts it from the next line."""
    if following is None:
        return text.removesuffix("\u00ad"), ""
    if draft.kind is BlockKind.TABLE:
        return text, "\n"
    joint = hyphenation.joins(text, following)
    return (text[:-1], "") if joint is None else (text, joint)


def _within(box: Box, page: Page) -> Box:
    """Return the box cut at the page's edges (that of a line off the page is empty, at its edge)."""
    x0, top, x1, bottom = box
    width, height = page.width, page.height
    if 0 <= x0 <= x1 <= width and 0 <= top <= bottom <= height:
        return Box(round(x0, 2), round(top, 2), round(x1, 2), round(bottom, 2))
    return Box(
        round(min(max(x0, 0.0), width), 2),
        round(min(max(top, 0.0), height), 2),
        round(min(max(x1, 0.0), width), 2),
        round(min(max(bottom, 0.0), height), 2),
    )


# ----------------------------------------------------------------------------------------------------
# All pages of a document from their lines: what needs to see the whole document before a page can be written.


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
    for above, below in itertools.pairwise(bodies):
        _take_header(above, below)
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


def _take_header(above: Sequence[TextLine], below: list[TextLine]) -> None:
    """Give the table without a header that a page begins with the one of the table that the page before it ends with.

    Both have as many columns and the same sides. The names have no height, at the upper edge of the table.
    """
    last = next((line for line in reversed(above) if not line.hidden and line.kind is None), None)
    place = next((i for i, line in enumerate(below) if not line.hidden and line.kind is None), None)
    if last is None or place is None or last.table is None or not last.table.header_rows:
        return
    line = below[place]
    near = _SIDES * max(line.size, last.size)
    table, names = line.table, last.table.rows[: last.table.header_rows]
    if table is None or table.header_rows or not table.rows or len(table.rows[0]) != len(names[0]):
        return
    if abs(line.u0 - last.u0) < near and abs(line.u1 - last.u1) < near:
        taken = tuple(
            tuple(cell and TableCell(cell.text, Box(cell.box.x0, line.top, cell.box.x1, line.top)) for cell in row)
            for row in names
        )
        below[place] = replace(line, table=PageTable(taken + table.rows, len(taken)))


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
