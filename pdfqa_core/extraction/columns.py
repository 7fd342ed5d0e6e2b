"""The order in which the regions of a page are read: columns, and what spans them. Geometry only, standard library.

A column edge is a place where several segments begin and before which a strip is free. Segments that cross it part
the page into bands; a band is read column by column only where both sides look like running text, so that the rows
of a table stay whole.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from statistics import median

from pdfqa_core.extraction.segments import Segment, group_rows

_MAX_DEPTH = 4
_STRIP = 0.5  # width of the free strip, of the font size


@dataclass(frozen=True, slots=True)
class _Band:
    """A stretch of a region: two columns, or (right is empty) lines that are read across."""

    left: list[Segment]
    right: list[Segment]


def regions(segments: list[Segment], depth: int = 0) -> list[list[Segment]]:
    """Return the segments parted into regions in reading order; each region has one column."""
    if len(segments) < 6 or depth >= _MAX_DEPTH:
        return [segments] if segments else []
    best: list[_Band] = []
    best_score = 0
    for edge in _edges(segments):
        bands = _bands(segments, edge)
        score = sum(min(len(band.left), len(band.right)) for band in bands)
        if score > best_score:
            best, best_score = bands, score
    if not best:
        return [segments]
    found: list[list[Segment]] = []
    for band in best:
        if band.right:
            found += regions(band.left, depth + 1) + regions(band.right, depth + 1)
        else:
            found += regions(band.left, depth + 1) if depth + 1 < _MAX_DEPTH else [band.left]
    return found


def _edges(segments: list[Segment]) -> list[float]:
    """Return places where at least three segments begin, the most frequent first."""
    left, right = min(s.u0 for s in segments), max(s.u1 for s in segments)
    counts = Counter(round(s.u0 / 3) for s in segments)
    pairs = {bucket: counts[bucket] + counts[bucket + 1] for bucket in counts}
    inside = [
        (count, bucket * 3.0)
        for bucket, count in pairs.items()
        if count >= 3 and left + 0.12 * (right - left) < bucket * 3.0 < right - 0.1 * (right - left)
    ]
    return [place for _, place in sorted(inside, reverse=True)[:12]]


def _bands(segments: list[Segment], edge: float) -> list[_Band]:
    """Return the bands that the segments crossing `edge` leave; none where no band has two columns."""
    size = median(s.size for s in segments)
    strip = edge - 2 - _STRIP * size
    ordered = sorted(segments, key=lambda s: (s.baseline, s.u0))
    crossing = [s for s in ordered if s.u0 < edge - 2 and s.u1 > strip]
    # everything on the row of a crossing segment is read with it
    heights = [(s.top + 0.2 * s.size, s.bottom) for s in crossing]
    bands: list[_Band] = []
    across: list[Segment] = []
    free: list[Segment] = []
    found = False

    def flush() -> None:
        nonlocal across, free, found
        left = [s for s in free if s.u0 < edge - 2]
        right = [s for s in free if s.u0 >= edge - 2]
        if _two_columns(left, right):
            found = True
            if across:
                bands.append(_Band(across, []))
            bands.append(_Band(left, right))
            across = []
        else:
            across = across + free
        free = []

    for segment in ordered:
        if any(top < segment.baseline <= bottom for top, bottom in heights):
            flush()
            across.append(segment)
        else:
            free.append(segment)
    flush()
    if across:
        bands.append(_Band(across, []))
    return bands if found else []


def _two_columns(left: list[Segment], right: list[Segment]) -> bool:
    """Return whether the two sides are running text to be read one after the other."""
    if not left or not right:
        return False
    sides = [group_rows(left), group_rows(right)]
    if min(len(rows) for rows in sides) < 3 or not _side_by_side(left, right):
        return False
    characters = [median(sum(len(s.text) for s in row) for row in rows) for rows in sides]
    if min(characters) < 10 or any(_numeric(side) for side in (left, right)):
        return False
    if _one_after_the_other(left, right):
        return True
    return min(len(rows) for rows in sides) >= 4 and min(characters) >= 16 and all(_filled(rows) for rows in sides)


def _side_by_side(left: list[Segment], right: list[Segment]) -> bool:
    top = max(min(s.top for s in side) for side in (left, right))
    bottom = min(max(s.bottom for s in side) for side in (left, right))
    shorter = min(max(s.bottom for s in side) - min(s.top for s in side) for side in (left, right))
    return bottom - top > 0.4 * shorter


def _numeric(side: list[Segment]) -> bool:
    return sum(s.digits for s in side) > 0.3 * sum(len(s.text) for s in side)


def _one_after_the_other(left: list[Segment], right: list[Segment]) -> bool:
    """Return whether the content stream writes one side before the other."""
    marked = sorted([(s.rank, 0) for s in left] + [(s.rank, 1) for s in right])
    switches = sum(a[1] != b[1] for a, b in itertools.pairwise(marked))
    return switches <= max(1, 0.06 * len(marked))


def _filled(rows: list[list[Segment]]) -> bool:
    """Return whether the lines fill their column, as running text does and cells do not."""
    left, right = min(s.u0 for row in rows for s in row), max(s.u1 for row in rows for s in row)
    widths = [sum(s.u1 - s.u0 for s in row) for row in rows]
    return median(widths) > 0.7 * (right - left)
