"""The lines of a page in reading order: visible text first, turned text after it, hidden text last."""

from __future__ import annotations

import itertools

import numpy as np

from pdfqa_core.extraction.layout.formulas import in_order, is_index
from pdfqa_core.extraction.layout.reading_order import regions
from pdfqa_core.extraction.layout.segments import WORD_GAP_LEFTWARDS, TextSegment, find_segments, group_rows
from pdfqa_core.extraction.layout.stacks import read_rows
from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.extraction.text.direction import faced
from pdfqa_core.extraction.text.glyphs import Flags, Glyphs
from pdfqa_core.extraction.text.normalise import compose, right_to_left

_WORD_GAP = 0.1  # of the font size, where the file writes white space


def find_lines(glyphs: Glyphs, hidden: Flags) -> list[TextLine]:
    """Return the lines of a page in reading order; `hidden` (n,) marks the glyphs that a person cannot see."""
    found: list[TextLine] = []
    for concealed in (False, True):
        chosen = hidden == concealed
        turns = [turn for turn in range(4) if (chosen & ~glyphs.space & (glyphs.turn == turn)).any()]
        weights = {turn: int((chosen & (glyphs.turn == turn)).sum()) for turn in turns}
        for turn in sorted(turns, key=lambda t: -weights[t]):
            found += _turned_lines(glyphs, chosen, turn, concealed, len(found))
    return found


def _turned_lines(glyphs: Glyphs, chosen: Flags, turn: int, hidden: bool, first_region: int) -> list[TextLine]:
    segments = find_segments(glyphs, np.asarray(chosen), turn)
    lines = []
    for number, region in enumerate(regions(segments)):
        for row, stack in read_rows(group_rows(region)):
            line = join_line(row, turn)
            if line.text:
                if stack:
                    line.stack, line.cells = stack, 1
                line.region = first_region + number
                line.hidden = hidden
                lines.append(line)
    return lines


def join_line(segments: list[TextSegment], turn: int) -> TextLine:
    """Return the line that segments on one baseline make."""
    leftwards = len(segments) > 1 and right_to_left("".join(s.text for s in segments))
    ordered = sorted(segments, key=lambda s: -s.u1) if leftwards else in_order(segments)
    main = max(ordered, key=lambda s: (len(s.text) * s.size, -s.rank))
    text, cells = ordered[0].text, 1
    for before, after in itertools.pairwise(ordered):
        gap = before.u0 - after.u1 if leftwards else after.u0 - before.u1
        em = max(before.size, after.size)
        least = WORD_GAP_LEFTWARDS if leftwards else _WORD_GAP
        spaced = gap > 0.25 * em or (after.space_before and gap > least * em and not is_index(before, after))
        spaced = spaced or (gap < 0 and abs(before.baseline - after.baseline) > 0.6 * em)
        cells += gap > 1.6 * em
        text += (" " if spaced else "") + after.text
    if leftwards:
        text = faced(text)
    letters = sum(len(s.text) - s.text.count(" ") for s in ordered)
    return TextLine(
        text=compose(" ".join(text.split())),
        u0=min(s.u0 for s in ordered),
        u1=max(s.u1 for s in ordered),
        top=min(s.top for s in ordered),
        bottom=max(s.bottom for s in ordered),
        baseline=main.baseline,
        size=main.size,
        bold=sum(s.bold for s in ordered) > 0.8 * letters,
        cells=cells,
        first_word=ordered[0].first_word,
        turn=turn,
    )
