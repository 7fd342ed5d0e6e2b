"""Characters to segments: stretches of one printed line without a wide gap. Clustering in numpy, one page at a time.

Works in the frame of the text (`raw_page.to_text_frame`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, to_text_frame
from pdfqa_core.extraction.text.direction import logical_text
from pdfqa_core.extraction.text.glyphs import Flags, Floats, Glyphs, Integers, right_to_left_codes
from pdfqa_core.extraction.text.normalise import character, compose, right_to_left

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
    u0, u1, v = to_text_frame(glyphs.boxes.T, glyphs.x, glyphs.y, turn, glyphs.frame.width, glyphs.frame.height)
    a, b = index[:-1], index[1:]
    em = np.maximum(glyphs.size[a], glyphs.size[b])
    gap = u0[b] - u1[a]
    backward = u0[a] - u1[b]
    close = (gap > -_OVERPRINT * em) & (gap < _SEGMENT_GAP * em)
    leftward = right_to_left_codes(glyphs.codes[index])
    close_leftwards = leftward[:-1] & leftward[1:] & (backward > -_OVERPRINT * em) & (backward < _SEGMENT_GAP * em)
    alike = (np.abs(v[b] - v[a]) < _SAME_BASELINE * em) & (np.minimum(glyphs.size[a], glyphs.size[b]) > 0.55 * em)
    joined = alike & (close | close_leftwards)
    spaces = np.concatenate([[0], np.cumsum(glyphs.space)])
    space_before = np.concatenate([[True], spaces[b] > spaces[a + 1]])
    edges = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(index)]])
    return _segments(glyphs, index, edges, u0[index], u1[index], v[index], space_before)


def _middles(values: Floats, edges: Integers) -> Floats:
    """Return the upper median of each stretch between two edges."""
    middles: Floats = np.minimum.reduceat(values, edges[:-1])
    uneven = np.flatnonzero(middles != np.maximum.reduceat(values, edges[:-1]))
    for number, first, end in zip(uneven.tolist(), edges[uneven].tolist(), edges[uneven + 1].tolist(), strict=True):
        middles[number] = sorted(values[first:end].tolist())[(end - first) // 2]
    return middles


def _segments(
    glyphs: Glyphs, index: Integers, edges: Integers, u0: Floats, u1: Floats, v: Floats, space_before: Flags
) -> list[TextSegment]:
    """Return the segments that the glyphs `index` make between two `edges` each; u0, u1, v as long as `index`."""
    starts, ends = edges[:-1], edges[1:]
    left, right = np.minimum.reduceat(u0, starts), np.maximum.reduceat(u1, starts)
    size = _middles(glyphs.size[index], edges)
    baseline = _middles(v, edges)
    breaks = np.append(np.flatnonzero(space_before), len(index))
    first_word_end = np.minimum(breaks[np.searchsorted(breaks, starts + 1)], ends) - 1
    texts = _texts(glyphs, index, edges, u0, u1, space_before)
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


def _texts(glyphs: Glyphs, index: Integers, edges: Integers, u0: Floats, u1: Floats, space_before: Flags) -> list[str]:
    """Return the text of each segment, with a space where white space parts its words."""
    codes = glyphs.codes[index]
    codes = np.where((codes == _SOFT_HYPHEN) & (u1 - u0 <= _NO_WIDTH), 0, codes)
    within = space_before.copy()
    within[edges[:-1]] = False
    written = np.insert(np.where(codes <= _LAST_CODE, codes, 0), np.flatnonzero(within), 0x20)
    whole = written.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    places = (edges + np.concatenate([[0], np.cumsum(within)])[edges]).tolist()
    plain = bool(((codes >= 0x20) & (codes < 0x7F) & (codes != 0x60)).all())
    texts = [whole[i:j] for i, j in itertools.pairwise(places)]
    if plain:
        return texts
    for number, raw in enumerate(texts):
        if raw.isascii() and raw.isprintable() and "`" not in raw:
            continue
        text = compose(raw.translate(_CHARACTERS))
        if right_to_left(text):
            part = slice(edges[number], edges[number + 1])
            characters = list(map(character, codes[part].tolist()))
            words = np.cumsum(space_before[part], dtype=np.int64)
            least = WORD_GAP_LEFTWARDS * float(glyphs.size[index[edges[number]]])
            text = compose(_leftward_text(characters, words, u0[part], u1[part], least))
        texts[number] = text
    return texts


class _Characters(dict[int, str]):
    """The text of code points, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        text = self[code] = character(code)
        return text


_CHARACTERS = _Characters()
_BASELINE_AND_U0 = attrgetter("baseline", "u0")


def _leftward_text(characters: Sequence[str], words: Integers, u0: Floats, u1: Floats, least: float) -> str:
    """Return text of a script written from right to left in the order it is read, however the file orders it.

    Words are parted where the file parts them and the gap has at least `least` points.
    """
    order = sorted(range(len(characters)), key=lambda i: (u1[i], -u0[i], i))  # PDFium lists such text backwards
    printed: list[str] = []
    for before, i in zip([order[0], *order], order, strict=False):
        if words[before] != words[i] and u0[i] - u1[before] > least:
            printed.append(" ")
        printed.append(characters[i])
    return logical_text(printed)


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
