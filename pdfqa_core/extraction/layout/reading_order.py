"""The order in which the regions of a page are read: columns, and what spans them. Geometry only, standard library.

A column edge is a place where several segments begin and before which a strip is free. Segments that cross it part
the page into bands; a band is read column by column only where both sides look like running text, so that the rows
of a table stay whole.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from operator import attrgetter
from statistics import median

from pdfqa_core.extraction.grouping import merged
from pdfqa_core.extraction.layout.segments import TextSegment, group_rows

_MAX_DEPTH = 4
_FEWEST_ROWS = 3  # of a column
_STRIP = 0.5  # width of the free strip, of the font size


@dataclass(frozen=True, slots=True)
class _Band:
    """A stretch of a region: two columns, or (right is empty) lines that are read across."""

    left: list[TextSegment]
    right: list[TextSegment]


def regions(segments: list[TextSegment], depth: int = 0) -> list[list[TextSegment]]:
    """Return the segments parted into regions in reading order; each region has one column."""
    if len(segments) < 6 or depth >= _MAX_DEPTH:
        return [segments] if segments else []
    best: list[_Band] = []
    best_score = 0
    edges = _edges(segments)
    ordered = sorted(segments, key=attrgetter("baseline", "u0")) if edges else []
    strip = _STRIP * median([s.size for s in segments]) if edges else 0.0
    for edge in edges:
        if _most(segments, edge, strip) <= best_score:
            continue
        bands = _bands(ordered, edge, strip)
        score = sum(min(len(band.left), len(band.right)) for band in bands)
        if score > best_score:
            best, best_score = bands, score
    if not best:
        return _short_column(segments)
    found: list[list[TextSegment]] = []
    for band in best:
        if band.right:
            found += regions(band.left, depth + 1) + regions(band.right, depth + 1)
        else:
            found += regions(band.left, depth + 1) if depth + 1 < _MAX_DEPTH else [band.left]
    return found


def _short_column(segments: list[TextSegment]) -> list[list[TextSegment]]:
    """Return the segments, those apart that are a second column of only a line or two.

    They are too few to make an edge, but the content stream ends with them, at the top of the page.
    """
    last = max(segments, key=lambda s: s.rank)
    top = min(s.top for s in segments)
    if last.top > top + 4 * last.size or last.u0 < min(s.u0 for s in segments) + 6 * last.size:
        return [segments]
    edge = last.u0 - last.size
    left, right = [s for s in segments if s.u1 < edge], [s for s in segments if s.u0 >= edge]
    if len(left) + len(right) < len(segments) or len(left) < 4 * len(right) or len(right) < 1:
        return [segments]
    written = max(s.rank for s in left) < min(s.rank for s in right)
    worded = max(len(s.text) for s in right) >= 16 and not _numeric(left) and not _numeric(right)
    level = abs(min(s.top for s in right) - top) < last.size
    text = written and worded and level and _filled(group_rows(left))
    return [left, right] if text else [segments]


def _edges(segments: list[TextSegment]) -> list[float]:
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


def _most(segments: list[TextSegment], edge: float, strip: float) -> int:
    """Return how many segments a column beside this edge may have at most; 0 where that is too few."""
    left = right = 0
    for segment in segments:
        if segment.u0 >= edge - 2:
            right += 1
        elif segment.u1 <= edge - 2 - strip:
            left += 1
    most = min(left, right)
    return most if most >= _FEWEST_ROWS else 0


def _bands(ordered: list[TextSegment], edge: float, strip: float) -> list[_Band]:
    """Return the bands that the segments crossing `edge` leave; none where no band has two columns.

    `ordered` goes down the page and along its lines, `strip` is the width in points that is free before a column.
    """
    crossing = [s for s in ordered if s.u0 < edge - 2 and s.u1 > edge - 2 - strip]
    heights = merged([(s.top + 0.2 * s.size, s.bottom) for s in crossing])
    tops = [top for top, _ in heights]

    def beside_crossing(segment: TextSegment) -> bool:  # everything on the row of a crossing segment is read with it
        above = bisect_left(tops, segment.baseline) - 1
        return above >= 0 and segment.baseline <= heights[above][1]

    bands: list[_Band] = []
    across: list[TextSegment] = []
    for crossed, group in itertools.groupby(ordered, key=beside_crossing):
        entries = list(group)
        left = [s for s in entries if s.u0 < edge - 2]
        right = [s for s in entries if s.u0 >= edge - 2]
        if crossed or not _two_columns(left, right):
            across += entries
            continue
        if across:
            bands.append(_Band(across, []))
        bands.append(_Band(left, right))
        across = []
    if across and bands:
        bands.append(_Band(across, []))
    return bands


def _two_columns(left: list[TextSegment], right: list[TextSegment]) -> bool:
    """Return whether the two sides are running text to be read one after the other."""
    if min(len(left), len(right)) < _FEWEST_ROWS or _numeric(left) or _numeric(right):
        return False
    if not _side_by_side(left, right):
        return False
    sides = [group_rows(left), group_rows(right)]
    if min(len(rows) for rows in sides) < _FEWEST_ROWS:
        return False
    characters = [median(sum(len(s.text) for s in row) for row in rows) for rows in sides]
    if min(characters) < 10:
        return False
    if _one_after_the_other(left, right):
        return True
    return min(len(rows) for rows in sides) >= 4 and min(characters) >= 16 and all(_filled(rows) for rows in sides)


def _side_by_side(left: list[TextSegment], right: list[TextSegment]) -> bool:
    top = max(min(s.top for s in side) for side in (left, right))
    bottom = min(max(s.bottom for s in side) for side in (left, right))
    shorter = min(max(s.bottom for s in side) - min(s.top for s in side) for side in (left, right))
    return bottom - top > 0.4 * shorter


def _numeric(side: list[TextSegment]) -> bool:
    return sum([s.digits for s in side]) > 0.3 * sum([len(s.text) for s in side])


def _one_after_the_other(left: list[TextSegment], right: list[TextSegment]) -> bool:
    """Return whether the content stream writes one side before the other."""
    marked = sorted([(s.rank, 0) for s in left] + [(s.rank, 1) for s in right])
    switches = sum(a[1] != b[1] for a, b in itertools.pairwise(marked))
    return switches <= max(1, 0.06 * len(marked))


def _filled(rows: list[list[TextSegment]]) -> bool:
    """Return whether the lines fill their column, as running text does and cells do not."""
    left, right = min(s.u0 for row in rows for s in row), max(s.u1 for row in rows for s in row)
    widths = [sum(s.u1 - s.u0 for s in row) for row in rows]
    return median(widths) > 0.7 * (right - left)
