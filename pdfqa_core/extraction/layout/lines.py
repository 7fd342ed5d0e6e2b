"""The lines of a page in reading order: visible text first, turned text after it, hidden text last."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pdfqa_core.extraction.layout.formulas import PART, SIGNS, SMALL, captions_apart, in_order, is_index, with_limits
from pdfqa_core.extraction.layout.kinds import FIGURE, SENTENCE_END
from pdfqa_core.extraction.layout.reading_order import (
    WORD_GAP_LEFTWARDS,
    TextSegment,
    find_segments,
    group_rows,
    regions,
)
from pdfqa_core.extraction.layout.writing import slanted_lines
from pdfqa_core.extraction.raw_page import TextLine, grouped, merged
from pdfqa_core.extraction.text.direction import read_text
from pdfqa_core.extraction.text.glyphs import SLANTED, Flags, Glyphs
from pdfqa_core.extraction.text.normalise import compose, right_to_left

# ----------------------------------------------------------------------------------------------------
# Formulas and figures whose parts stand above and beside each other: read in the order in which they were written.
#
# Row by row, a matrix, a fraction or the labels of a drawing come out shuffled; the content stream has them as their
# author wrote them. Geometry stays the rule: the stream decides only where rows are set closer than lines of text,
# or stand above the caption of a figure, are made of signs and short words, and are written in one go. Knows
# segments, nothing about pages.

_REACH = 2.0  # of the usual font size: rows of one formula that are out of order are at most so far apart
_LEVEL, _TIGHT = 0.2, 0.8  # of the font size: farther apart than one line, closer than two lines of text
_LIMIT = 0.97  # of the font size: how near a limit or a bracket stands
_WORDS, _WORDS_ALONE = 0.5, 0.3  # of the words of a formula with signs, or without: share longer than three letters
_PART_ROWS = 4  # lines of the captions of a figure's parts at most
_LABEL = 26  # characters of a label in a figure at most
_FIGURE_GAP = 12.0  # of the usual font size: free height between two rows of labels at most
_ATTACHED, _RAISED = 0.3, 0.6  # of the font size: how far an index stands from its base, beside it and above it


class Printed(NamedTuple):
    """Segments read as one line; those of one `stack` (0: none) belong together in this order."""

    segments: list[TextSegment]
    stack: int


class _Rows:
    """The rows of a region with the ranks that each covers."""

    def __init__(self, rows: Sequence[list[TextSegment]]) -> None:
        self.rows = rows
        ranks = [[s.rank for s in row] for row in rows]
        self.first = [min(row) if len(row) > 1 else row[0] for row in ranks]
        self.last = [max(row) if len(row) > 1 else row[0] for row in ranks]

    def ordered(self) -> bool:
        """Return whether each row was written after the one above it."""
        return all(last < first for last, first in zip(self.last, self.first[1:], strict=False))


def read_rows(rows: list[list[TextSegment]]) -> list[Printed]:
    """Return the rows of a region (top to bottom) in reading order, formulas and figures parted into what is a line."""
    if _Rows(rows).ordered():
        return [Printed(row, 0) for row in captions_apart(rows)]
    found: list[Printed] = []
    done = 0
    for number, (first, last) in enumerate(_stacks(rows), 1):
        found += _across(rows[done:first])
        found += [Printed(run, number) for run in _runs(rows[first : last + 1])]
        done = last + 1
    return found + _across(rows[done:])


def _across(rows: list[list[TextSegment]]) -> list[Printed]:
    if len(rows) > 1 and not _Rows(rows).ordered():  # a limit was written within another row
        rows = [row for row in with_limits(rows) if row]
    return [Printed(row, 0) for row in captions_apart(rows)]


def _stacks(rows: list[list[TextSegment]]) -> list[tuple[int, int]]:
    """Return the first and the last row of each formula or figure that is read as it was written."""
    longest = [max(row, key=lambda s: len(s.text)) if len(row) > 1 else row[0] for row in rows]
    sizes: Counter[float] = Counter()
    for head in longest:
        sizes[head.size] += len(head.text)
    ((size, _),) = sizes.most_common(1)
    ranks = sorted([s.rank for row in rows for s in row])
    found = [
        (first, last)
        for first, last in _formulas(rows, [head.baseline for head in longest], size)
        if _in_one_go(rows[first : last + 1], ranks) and _is_formula(rows[first : last + 1], size)
    ]
    for first, last in _figures(rows, size):
        if _in_one_go(rows[first : last + 1], ranks):
            found = [(a, b) for a, b in found if b < first or a > last] + [(first, last)]
    return sorted(found)


def _formulas(rows: list[list[TextSegment]], baselines: Sequence[float], size: float) -> list[tuple[int, int]]:
    """Return stretches of rows near each other that were not written one after the other, nor are so with limits."""
    covered = _Rows(rows)
    pairs = []
    for upper, last in enumerate(covered.last):
        for lower in range(upper + 1, len(rows)):
            if baselines[lower] - baselines[upper] > _REACH * size:
                break
            if last > covered.first[lower]:
                pairs.append((upper, lower))
    whole = merged([_grown(covered, baselines, stretch, _REACH * size) for stretch in merged(pairs)])
    return [stretch for stretch in whole if not _plain(rows[stretch[0] : stretch[1] + 1])]


def _grown(covered: _Rows, baselines: Sequence[float], stretch: tuple[int, int], reach: float) -> tuple[int, int]:
    """Return the stretch with the rows near its ends that were written within it."""
    first, last = stretch
    begin, end = min(covered.first[first : last + 1]), max(covered.last[first : last + 1])

    def within(row: int, beside: int) -> bool:
        near = 0 <= row < len(baselines) and abs(baselines[row] - baselines[beside]) < reach
        return near and covered.first[row] < end and covered.last[row] > begin

    while True:
        if within(first - 1, first):
            first -= 1
        elif within(last + 1, last):
            last += 1
        else:
            return first, last
        begin, end = (
            min(begin, covered.first[first], covered.first[last]),
            max(end, covered.last[first], covered.last[last]),
        )


def _plain(rows: list[list[TextSegment]]) -> bool:
    """Return whether rows are read as they were written once limits are in their lines."""
    limited = [row for row in with_limits(rows) if row]
    if not _Rows(limited).ordered():
        return False
    return all(a.rank < b.rank for row in limited for a, b in itertools.pairwise(in_order(row)))


def _in_one_go(rows: list[list[TextSegment]], ranks: list[int]) -> bool:
    """Return whether nothing else of the region was written between the segments of these rows."""
    own = [s.rank for row in rows for s in row]
    return bisect_right(ranks, max(own)) - bisect_left(ranks, min(own)) == len(own)


def _is_formula(rows: list[list[TextSegment]], size: float) -> bool:
    """Return whether rows stand closer than lines of text and are made of signs and short words."""
    heads = [max(row, key=lambda s: s.size * len(s.text)) for row in rows]
    heads.sort(key=lambda s: s.baseline)
    if not any(_stacked(above, below, size) for above, below in itertools.pairwise(heads)):
        return False
    words = [word for row in rows for s in row for word in s.text.split()]
    signs = any(SIGNS.search(word) for word in words)
    return sum(len(word) > 3 and word.isalpha() for word in words) < (_WORDS if signs else _WORDS_ALONE) * len(words)


def _stacked(above: TextSegment, below: TextSegment, size: float) -> bool:
    """Return whether two rows, given the largest segment of each, stand closer than lines of text."""
    sizes = min(above.size, size), min(below.size, size)
    limit = min(sizes) < SMALL * max(sizes) or not (_alphanumeric(above.text) and _alphanumeric(below.text))
    return _LEVEL * sizes[0] < below.baseline - above.baseline < (_LIMIT if limit else _TIGHT) * max(sizes)


def _alphanumeric(text: str) -> bool:
    return any(map(str.isalnum, text))


def _figures(rows: list[list[TextSegment]], size: float) -> list[tuple[int, int]]:
    """Return the rows of labels above each caption of a figure that were not written one after the other."""
    found = []
    for number, row in enumerate(rows):
        if not FIGURE.match((min(row, key=lambda s: s.u0) if len(row) > 1 else row[0]).text):
            continue
        top = _above_parts(rows, number)
        while top and _labels(rows[top - 1]) and rows[top][0].top - rows[top - 1][0].bottom < _FIGURE_GAP * size:
            top -= 1
        covered = _Rows(rows[top:number])
        out_of_order = []
        for lower, first in enumerate(covered.first):
            upper = next((n for n in range(lower) if covered.last[n] > first), None)
            if upper is not None:
                out_of_order.append((top + upper, top + lower))
        found += merged(out_of_order)
    return found


def _above_parts(rows: list[list[TextSegment]], caption: int) -> int:
    """Return the first of the rows right above a caption that are captions of a figure's parts, "(a) …" and "(b) …"."""
    for top in range(caption - 1, max(-1, caption - 1 - _PART_ROWS), -1):
        if any(PART.match(s.text) for s in rows[top]):
            return top
    return caption


def _labels(row: list[TextSegment]) -> bool:
    return all(len(s.text) <= _LABEL and not (len(s.text) > 12 and SENTENCE_END.search(s.text)) for s in row)


def _runs(rows: list[list[TextSegment]]) -> list[list[TextSegment]]:
    """Return the segments as they were written, parted where the next one stands on another row."""

    def joins(run: list[tuple[int, int, TextSegment]], following: tuple[int, int, TextSegment]) -> bool:
        (_, above, before), (_, here, segment) = run[-1], following
        onward = segment.u0 > before.u0 - _ATTACHED * segment.size
        return (here == above and onward) or _is_index(before, segment)

    placed = sorted((s.rank, n, s) for n, row in enumerate(rows) for s in row)
    return [[segment for _, _, segment in run] for run in grouped(placed, joins)]


def _is_index(before: TextSegment, segment: TextSegment) -> bool:
    """Return whether one is a sub- or superscript beside the other."""
    large, small = max(before.size, segment.size), min(before.size, segment.size)
    beside = abs(segment.u0 - before.u1) < _ATTACHED * large
    return 0.5 * large < small < SMALL * large and beside and abs(segment.baseline - before.baseline) < _RAISED * large


# ----------------------------------------------------------------------------------------------------
# The lines of a page in reading order: visible text first, turned text after it, hidden text last.

_WORD_GAP = 0.1  # of the font size, where the file writes white space


def find_lines(glyphs: Glyphs, hidden: Flags) -> list[TextLine]:
    """Return the lines of a page in reading order; `hidden` (n,) marks the glyphs that a person cannot see."""
    found: list[TextLine] = []
    for concealed in (False, True) if hidden.any() else (False,):
        chosen = np.asarray(hidden == concealed)
        weights = np.bincount(glyphs.turn[chosen], minlength=SLANTED).tolist()
        turns = np.flatnonzero(np.bincount(glyphs.turn[chosen & ~glyphs.space])).tolist()
        for turn in sorted(turns, key=lambda t: (t == SLANTED, -weights[t])):
            if turn != SLANTED:
                found += _turned_lines(glyphs, chosen, turn, concealed, len(found))
                continue
            for line in slanted_lines(glyphs, chosen, len(found)):
                line.hidden, line.kind = concealed, None if concealed else line.kind
                found.append(line)
    return found


def _turned_lines(glyphs: Glyphs, chosen: Flags, turn: int, hidden: bool, first_region: int) -> list[TextLine]:
    segments = find_segments(glyphs, chosen, turn)
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
    if len(segments) == 1:
        (only,) = segments
        text = compose(" ".join(read_text([only.text]).split()))
        bold = only.bold > 0.8 * (len(only.text) - only.text.count(" "))
        edges = only.u0, only.u1, only.top, only.bottom
        return TextLine(text, *edges, only.baseline, only.size, bold, 1, only.first_word, turn)
    leftwards = right_to_left("".join(s.text for s in segments))
    ordered = sorted(segments, key=lambda s: s.u0) if leftwards else in_order(segments)
    main = max(ordered, key=lambda s: (len(s.text) * s.size, -s.rank))
    parts, cells = [ordered[0].text], 1
    for before, after in itertools.pairwise(ordered):
        gap = after.u0 - before.u1
        em = max(before.size, after.size)
        least = WORD_GAP_LEFTWARDS if leftwards else _WORD_GAP
        parted = after.space_before or (leftwards and before.space_before)
        spaced = gap > 0.25 * em or (parted and gap > least * em and not is_index(before, after))
        spaced = spaced or (gap < 0 and abs(before.baseline - after.baseline) > 0.6 * em)
        cells += gap > 1.6 * em
        parts += [" ", after.text] if spaced else [after.text]
    letters = sum([len(s.text) - s.text.count(" ") for s in ordered])
    return TextLine(
        text=compose(" ".join(read_text(parts).split())),
        u0=min([s.u0 for s in ordered]),
        u1=max([s.u1 for s in ordered]),
        top=min([s.top for s in ordered]),
        bottom=max([s.bottom for s in ordered]),
        baseline=main.baseline,
        size=main.size,
        bold=sum([s.bold for s in ordered]) > 0.8 * letters,
        cells=cells,
        first_word=ordered[-1 if leftwards else 0].first_word,
        turn=turn,
    )
