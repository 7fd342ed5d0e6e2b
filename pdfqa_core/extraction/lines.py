"""The lines of a page in reading order: visible text first, turned text after it, hidden text last."""

from __future__ import annotations

import numpy as np

from pdfqa_core.extraction.columns import regions
from pdfqa_core.extraction.glyphs import Flags, Glyphs
from pdfqa_core.extraction.segments import TextLine, find_segments, group_rows, join_line
from pdfqa_core.extraction.stacks import read_rows


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
