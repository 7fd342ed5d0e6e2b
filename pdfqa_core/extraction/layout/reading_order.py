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
from typing import NamedTuple

import numpy as np

from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, merged, to_text_frame
from pdfqa_core.extraction.text.direction import printed_text
from pdfqa_core.extraction.text.glyphs import Flags, Floats, Glyphs, Integers, right_to_left_codes
from pdfqa_core.extraction.text.normalise import character, compose, right_to_left

# ----------------------------------------------------------------------------------------------------
# Characters to segments: stretches of one printed line without a wide gap. Clustering in numpy, one page at a time.
#
# Works in the frame of the text (`raw_page.to_text_frame`).

_SAME_BASELINE = 0.3  # of the font size
_SEGMENT_GAP = 0.9  # of the font size: wider gaps part columns and table cells
_LAST_CODE, _SOFT_HYPHEN = 0x10FFFF, 0xAD
_NO_WIDTH = 0.05  # points: narrower characters are not printed
WORD_GAP_LEFTWARDS = 0.2  # of the font size: there PDFium's order moves the white space beside brackets and numbers
_OVERPRINT = 0.6  # of the font size: how far back the next character may lie


class TextSegment(NamedTuple):
    """Characters printed one after the other on one baseline. `rank` is its place in the content stream."""

    text: str
    u0: float
    u1: float
    baseline: float
    size: float
    bold: int  # how many of the characters are bold
    rank: int
    space_before: bool  # white space stands before it in the content stream
    first_word: float  # width of the first word, in points
    digits: int
    top: float  # where the line's box begins
    bottom: float  # where it ends


def find_segments(glyphs: Glyphs, chosen: Flags, turn: int) -> list[TextSegment]:
    """Return the segments of the glyphs marked in `chosen` (n,) that are turned by `turn` quarters."""
    index = np.flatnonzero(chosen & ~glyphs.space & (glyphs.turn == turn))
    if not len(index):
        return []
    x, y, size, codes = glyphs.x[index], glyphs.y[index], glyphs.size[index], glyphs.codes[index]
    u0, u1, v = to_text_frame(glyphs.boxes[index].T, x, y, turn, glyphs.frame.width, glyphs.frame.height)
    em = np.maximum(size[:-1], size[1:])
    gap = u0[1:] - u1[:-1]
    close = (gap > -_OVERPRINT * em) & (gap < _SEGMENT_GAP * em)
    leftward = right_to_left_codes(codes)
    if leftward.any():
        backward = u0[:-1] - u1[1:]
        back = (backward > -_OVERPRINT * em) & (backward < _SEGMENT_GAP * em)
        back |= (u0[:-1] == u0[1:]) & (u1[:-1] == u1[1:])  # letters of one glyph
        close |= leftward[:-1] & leftward[1:] & back
    alike = (np.abs(v[1:] - v[:-1]) < _SAME_BASELINE * em) & (np.minimum(size[:-1], size[1:]) > 0.55 * em)
    joined = alike & close
    spaces = np.cumsum(glyphs.space)[index]  # before each; none of them is one
    space_before = np.concatenate([[True], spaces[1:] > spaces[:-1]])
    edges = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(index)]])
    return _segments(glyphs, index, edges, u0, u1, v, (x, y, -x, -y)[turn], space_before)


def _middles(values: Floats, edges: Integers) -> Floats:
    """Return the upper median of each stretch between two edges."""
    middles: Floats = np.minimum.reduceat(values, edges[:-1])
    uneven = np.flatnonzero(middles != np.maximum.reduceat(values, edges[:-1]))
    for number, first, end in zip(uneven.tolist(), edges[uneven].tolist(), edges[uneven + 1].tolist(), strict=True):
        middles[number] = sorted(values[first:end].tolist())[(end - first) // 2]
    return middles


def _segments(
    glyphs: Glyphs,
    index: Integers,
    edges: Integers,
    u0: Floats,
    u1: Floats,
    v: Floats,
    origins: Floats,
    space_before: Flags,
) -> list[TextSegment]:
    """Return the segments that the glyphs `index` make between two `edges` each; the others are as long as `index`."""
    starts, ends = edges[:-1], edges[1:]
    left, right = np.minimum.reduceat(u0, starts), np.maximum.reduceat(u1, starts)
    size = _middles(glyphs.size[index], edges)
    baseline = _middles(v, edges)
    breaks = np.append(np.flatnonzero(space_before), len(index))
    first_word_end = np.minimum(breaks[np.searchsorted(breaks, starts + 1)], ends) - 1
    texts = _texts(glyphs, index, edges, u0, u1, origins, space_before)
    codes = glyphs.codes[index]
    digits = np.add.reduceat((codes >= 0x30) & (codes <= 0x39), starts, dtype=np.int64).tolist()
    return list(
        map(
            TextSegment,
            texts,
            left.tolist(),
            np.maximum(left, right).tolist(),
            baseline.tolist(),
            size.tolist(),
            np.add.reduceat(glyphs.bold[index], starts, dtype=np.int64).tolist(),
            index[starts].tolist(),
            space_before[starts].tolist(),
            np.abs(u1[first_word_end] - u0[starts]).tolist(),
            [
                count if text.isascii() else sum(map(str.isdigit, text))
                for count, text in zip(digits, texts, strict=True)
            ],
            (baseline - ASCENT * size).tolist(),
            (baseline + DESCENT * size).tolist(),
        )
    )


def _texts(
    glyphs: Glyphs, index: Integers, edges: Integers, u0: Floats, u1: Floats, origins: Floats, space_before: Flags
) -> list[str]:
    """Return the text of each segment, with a space where white space parts its words.

    One of which most is written from right to left is as it is printed (`direction.read_text`).
    """
    codes = glyphs.codes[index]
    codes = np.where((codes == _SOFT_HYPHEN) & (u1 - u0 <= _NO_WIDTH), 0, codes)
    within = space_before.copy()
    within[edges[:-1]] = False
    written = np.insert(np.where(codes <= _LAST_CODE, codes, 0), np.flatnonzero(within), 0x20)
    whole = written.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    places = (edges + np.concatenate([[0], np.cumsum(within)])[edges]).tolist()
    texts = [whole[i:j] for i, j in itertools.pairwise(places)]
    if _plain(whole):
        return texts
    for number, raw in enumerate(texts):
        if _plain(raw):
            continue
        text = compose(raw.translate(_CHARACTERS))
        if right_to_left(text):
            part = slice(edges[number], edges[number + 1])
            words = np.cumsum(space_before[part], dtype=np.int64)
            least = WORD_GAP_LEFTWARDS * float(glyphs.size[index[edges[number]]])
            text = _leftward_text(codes[part], words, u0[part], u1[part], origins[part], least)
        texts[number] = text
    return texts


def _plain(text: str) -> bool:
    """Return whether all characters are read as they stand."""
    return text.isascii() and text.isprintable() and "`" not in text


class _Characters(dict[int, str]):
    """The text of code points, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        text = self[code] = character(code)
        return text


_CHARACTERS = _Characters()
_BASELINE_AND_U0 = attrgetter("baseline", "u0")


def _leftward_text(codes: Integers, words: Integers, u0: Floats, u1: Floats, origins: Floats, least: float) -> str:
    """Return a segment of a script written from right to left as it is printed.

    Words are parted where the file parts them and the gap has at least `least` points.
    """
    places = origins.tolist()
    order = sorted(range(len(places)), key=places.__getitem__)
    parted = [(words[a] != words[b] and u0[b] - u1[a] > least) for a, b in itertools.pairwise(order)]
    groups = [0, *np.cumsum(parted).tolist()]
    found: list[str] = []
    for _, group in itertools.groupby(range(len(order)), key=groups.__getitem__):
        chosen = sorted(order[i] for i in group)
        middles = ((u0[chosen] + u1[chosen]) / 2).tolist()
        found.append("".join(printed_text(codes[chosen].tolist(), [places[i] for i in chosen], middles)))
    return " ".join(found)


def group_rows(segments: list[TextSegment]) -> list[list[TextSegment]]:
    """Return the segments that stand on one line, top to bottom; sub- and superscripts go to the line they touch."""
    rows: list[list[TextSegment]] = []
    heads: list[TextSegment] = []  # the largest segment of each row
    for segment in sorted(segments, key=_BASELINE_AND_U0):
        baseline, size = segment.baseline, segment.size
        for position in range(len(rows) - 1, max(-1, len(rows) - 7), -1):
            head = heads[position]
            # quick to tell: too far apart for _same_row
            if baseline - head.baseline < 0.55 * (head.size if head.size > size else size) and _same_row(head, segment):
                rows[position].append(segment)
                if size > head.size:
                    heads[position] = segment
                break
        else:
            rows.append([segment])
            heads.append(segment)
    order = sorted(range(len(rows)), key=lambda i: heads[i].baseline)
    return [rows[i] for i in order]


def _same_row(a: TextSegment, b: TextSegment) -> bool:
    small, large = (a.size, b.size) if a.size < b.size else (b.size, a.size)
    apart = abs(a.baseline - b.baseline)
    if apart <= 0.2 * small:
        return True
    overlap = min(a.bottom, b.bottom) - max(a.top, b.top)
    return large < 1.8 * small and overlap > 0.5 * small * (ASCENT + DESCENT) and apart < 0.55 * large


# ----------------------------------------------------------------------------------------------------
# The order in which the regions of a page are read: columns, and what spans them. Geometry only, standard library.

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
    free = edge - 2 - strip
    crossing = [s for s in ordered if s.u0 < edge - 2 and s.u1 > free]
    for outermost in (ordered[0], ordered[-1]):  # a page number under the gutter is no line of the left column
        if outermost.u1 <= free and outermost.u0 > max([s.u1 for s in ordered if s.u1 < outermost.u0], default=edge):
            crossing.append(outermost)
    heights = merged([(s.top + 0.2 * s.size, s.bottom) for s in crossing])
    tops = [top for top, _ in heights]

    def beside_crossing(segment: TextSegment) -> bool:  # everything on the row of a crossing segment is read with it
        above = bisect_left(tops, segment.baseline) - 1
        return above >= 0 and segment.baseline <= heights[above][1]

    bands: list[_Band] = []
    across: list[TextSegment] = []
    for crossed, group in itertools.groupby(ordered, key=beside_crossing) if heights else ((False, ordered),):
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
