"""Formulas and captions: what stands above, below or beside a line but was written as a part of it, or apart from it.

The limits of a sum, stacked indices and the halves of a fraction have baselines of their own; captions side by side
share theirs. The content stream says what belongs together: it writes the parts of a line one after the other. Knows
segments, nothing about pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.extraction.layout.reading_order import TextSegment
from pdfqa_core.extraction.raw_page import grouped

SIGNS = re.compile(r"[=<>∈∉⊆⊂⊇∪∩≤≥≠⇒⇔→↦∀∃∑∏∫√∞±×∘◦∂{}|\uf8e0-\uf8ff]")
SMALL = 0.85  # of the line's font size: an index or a limit
RAISED = 0.1  # of the font size: how far an index's baseline is off at least
_LIMIT_DISTANCE, _FRACTION_DISTANCE = 1.7, 0.9  # of the line's font size, between the baselines
_LONGEST = 24  # characters of a limit, or of half a fraction
_STACKED = 0.15  # of the font size: overlap from which two segments stand above each other
PART = re.compile(r"^\(?[a-h]\)(?:\s|$)")
_LEADING = 1.7  # of the font size: distance of the lines of a caption at most


def is_index(before: TextSegment, after: TextSegment) -> bool:
    """Return whether one of two neighbours is an index of the other: smaller, and off its baseline."""
    large = max(before.size, after.size)
    return abs(before.baseline - after.baseline) > RAISED * large and min(before.size, after.size) < SMALL * large


def in_order(segments: Sequence[TextSegment]) -> list[TextSegment]:
    """Return the segments of a rightward line in reading order; those above each other as they were written."""

    def above(stack: list[TextSegment], segment: TextSegment) -> bool:
        return segment.u0 < max(s.u1 for s in stack) - _STACKED * segment.size

    stacks = grouped(sorted(segments, key=lambda s: s.u0), above)
    return [segment for stack in stacks for segment in sorted(stack, key=lambda s: s.rank)]


def with_limits(rows: list[list[TextSegment]]) -> list[list[TextSegment]]:
    """Return the rows with limits put into the line they were written in; a row is empty where all of it moved."""
    if all(len(row) == 1 for row in rows):
        return rows
    heads = [max(row, key=lambda s: s.size * len(s.text)) if len(row) > 1 else row[0] for row in rows]
    spans = [(min(s.rank for s in row), max(s.rank for s in row)) for row in rows]
    found = [list(row) for row in rows]
    moved = False
    for number, row in enumerate(rows):
        homes = [n for n in (number - 1, number + 1, number - 2, number + 2) if 0 <= n < len(rows) and len(rows[n]) > 1]
        for segment in row if homes else ():
            home = next((n for n in homes if _belongs(segment, heads[n], spans[n], rows[n])), None)
            if home is not None:
                found[number].remove(segment)
                found[home].append(segment)
                moved = True
    return found if moved else rows


def _belongs(segment: TextSegment, head: TextSegment, span: tuple[int, int], row: Sequence[TextSegment]) -> bool:
    """Return whether a segment of another row was written as a part of this row."""
    if len(segment.text) > _LONGEST or not span[0] < segment.rank < span[1]:
        return False
    distance = _LIMIT_DISTANCE if segment.size < SMALL * head.size else _FRACTION_DISTANCE
    if abs(segment.baseline - head.baseline) > distance * head.size:
        return False
    if not (len(segment.text) <= 3 or SIGNS.search(segment.text) or any(SIGNS.search(s.text) for s in row)):
        return False
    left, right = min(s.u0 for s in row), max(s.u1 for s in row)
    return left - head.size < segment.u0 and segment.u1 < right + head.size


def captions_apart(rows: list[list[TextSegment]]) -> list[list[TextSegment]]:
    """Return the rows with captions that stand side by side, "(a) …" and "(b) …", read one after the other."""
    found: list[list[TextSegment]] = []
    number = 0
    while number < len(rows):
        starts = [s for s in rows[number] if PART.match(s.text)] if len(rows[number]) > 1 else []
        captions, end = _captions(rows, number, sorted(starts, key=lambda s: s.u0)) if len(starts) > 1 else ([], 0)
        if end > number + 1:
            found += captions
            number = end
        else:
            found.append(rows[number])
            number += 1
    return found


def _captions(
    rows: list[list[TextSegment]], first: int, starts: list[TextSegment]
) -> tuple[list[list[TextSegment]], int]:
    """Return the lines of the captions that begin with `starts`, caption by caption, and the row below them."""
    lines: list[list[list[TextSegment]]] = [[] for _ in starts]
    reach = [(s.u0, s.u1) for s in starts]
    number = first
    while number < len(rows):
        row = rows[number]
        if number > first and row[0].baseline - rows[number - 1][0].baseline > _LEADING * row[0].size:
            break
        owners = [_owner(s, starts, reach, extend=number == first) for s in row]
        if None in owners:
            break
        for owner in sorted({o for o in owners if o is not None}):
            part = [s for s, o in zip(row, owners, strict=True) if o == owner]
            lines[owner].append(part)
            reach[owner] = (min(reach[owner][0], *(s.u0 for s in part)), max(reach[owner][1], *(s.u1 for s in part)))
        number += 1
    return [line for caption in lines for line in caption], number


def _owner(
    segment: TextSegment, starts: list[TextSegment], reach: list[tuple[float, float]], *, extend: bool
) -> int | None:
    """Return the number of the caption that was being written at a segment that stands in it, or (extend) beside it."""
    before = [n for n, start in enumerate(starts) if start.rank <= segment.rank]
    if not before:
        return None
    owner = max(before, key=lambda n: starts[n].rank)
    touched = [n for n, (left, right) in enumerate(reach) if segment.u0 < right and segment.u1 > left]
    return owner if touched == [owner] or (extend and not touched) else None
