"""Blocks to a `Page`: its text, and where each line and block stands in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pdfqa_core.extraction.layout.kinds import BlockDraft
from pdfqa_core.extraction.raw_page import from_text_frame
from pdfqa_core.extraction.text.hyphens import Hyphenation
from pdfqa_core.types import Block, BlockKind, Box, Line, Page

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
    limits = (page.width, page.height) * 2
    return Box(*(round(min(max(value, 0.0), limit), 2) for value, limit in zip(box, limits, strict=True)))
