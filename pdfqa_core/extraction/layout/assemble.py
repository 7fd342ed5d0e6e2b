"""Blocks to a `Page`: its text, and where each line and block stands in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.extraction.layout.kinds import BlockDraft
from pdfqa_core.extraction.layout.segments import from_text_frame
from pdfqa_core.extraction.raw_page import PageFacts, TextLine
from pdfqa_core.extraction.text.hyphens import Hyphenation
from pdfqa_core.types import Block, BlockKind, Box, Line, Page

BLOCK_BREAK = "\n\n"
_FEWEST_DOTS = 5  # of leaders
_LEADERS = re.compile(rf"(?:\s*\.){{{_FEWEST_DOTS},}}\s*")


def build_page(facts: PageFacts, drafts: Sequence[BlockDraft], hyphenation: Hyphenation) -> Page:
    """Return the page that `drafts`, in reading order, make.

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
            lines.append(Line(length, length + len(kept), _box(line, facts)))
            parts += [kept, joint]
            length += len(kept) + len(joint)
        blocks.append(Block(begin, length, draft.kind, draft.level))
    return Page(
        facts.document_id,
        facts.number,
        facts.label,
        round(facts.width, 2),
        round(facts.height, 2),
        "".join(parts),
        tuple(lines),
        tuple(blocks),
        facts.source,
        facts.warnings,
        facts.confidence,
    )


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


def _box(line: TextLine, facts: PageFacts) -> Box:
    """Return the line's box, cut at the page's edges (a line off the page gets an empty box at its edge)."""
    return _within(
        from_text_frame(Box(line.u0, line.top, line.u1, line.bottom), line.turn, facts.width, facts.height), facts
    )


def _within(box: Box, facts: PageFacts) -> Box:
    x0, top, x1, bottom = box
    width, height = facts.width, facts.height
    if 0 <= x0 <= x1 <= width and 0 <= top <= bottom <= height:
        return Box(round(x0, 2), round(top, 2), round(x1, 2), round(bottom, 2))

    def within(value: float, limit: float) -> float:
        return round(min(max(value, 0.0), limit), 2)

    return Box(within(x0, width), within(top, height), within(x1, width), within(bottom, height))
