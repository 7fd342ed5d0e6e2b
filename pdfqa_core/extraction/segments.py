"""Characters to segments: stretches of one printed line without a wide gap. Clustering in numpy, one page at a time.

Works in the frame of the text: u runs along the reading direction, v down the lines, both in points. Text that is
turned against the page has a frame of its own; `from_text_frame` maps its boxes back.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from pdfqa_core.extraction.glyphs import Flags, Floats, Glyphs, Integers
from pdfqa_core.extraction.normalise import character, compose, right_to_left
from pdfqa_core.types import Box

ASCENT, DESCENT = 0.76, 0.22  # of the font size: how far a line's box reaches from its baseline
_SAME_BASELINE = 0.3  # of the font size
_SEGMENT_GAP = 0.9  # of the font size: wider gaps part columns and table cells
_OVERPRINT = 0.6  # of the font size: how far back the next character may lie


@dataclass(slots=True)
class Segment:
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

    @property
    def top(self) -> float:
        """Where the line's box begins."""
        return self.baseline - ASCENT * self.size

    @property
    def bottom(self) -> float:
        """Where the line's box ends."""
        return self.baseline + DESCENT * self.size


def to_text_frame(glyphs: Glyphs, turn: int) -> tuple[Floats, Floats, Floats]:
    """Return u0, u1 and the baseline's v of every glyph in the frame of text turned by `turn` quarters."""
    width, height = glyphs.frame.width, glyphs.frame.height
    x0, top, x1, bottom = glyphs.boxes.T
    if turn == 0:
        return x0, x1, glyphs.y
    if turn == 1:
        return top, bottom, width - glyphs.x
    if turn == 2:
        return width - x1, width - x0, height - glyphs.y
    return height - bottom, height - top, glyphs.x


def from_text_frame(box: Box, turn: int, width: float, height: float) -> Box:
    """Return the box on the shown page (width × height points) of a box in the frame of turned text."""
    u0, v0, u1, v1 = box
    if turn == 0:
        return box
    if turn == 1:
        return Box(width - v1, u0, width - v0, u1)
    if turn == 2:
        return Box(width - u1, height - v1, width - u0, height - v0)
    return Box(v0, height - u1, v1, height - u0)


def find_segments(glyphs: Glyphs, chosen: Flags, turn: int) -> list[Segment]:
    """Return the segments of the glyphs marked in `chosen` (n,) that are turned by `turn` quarters."""
    index = np.flatnonzero(chosen & ~glyphs.space & (glyphs.turn == turn))
    if not len(index):
        return []
    u0, u1, v = to_text_frame(glyphs, turn)
    a, b = index[:-1], index[1:]
    em = np.maximum(glyphs.size[a], glyphs.size[b])
    gap = u0[b] - u1[a]
    backward = u0[a] - u1[b]
    close = (gap > -_OVERPRINT * em) & (gap < _SEGMENT_GAP * em)
    close_leftwards = _leftward(glyphs, index) & (backward > -_OVERPRINT * em) & (backward < _SEGMENT_GAP * em)
    alike = (np.abs(v[b] - v[a]) < _SAME_BASELINE * em) & (np.minimum(glyphs.size[a], glyphs.size[b]) > 0.55 * em)
    joined = alike & (close | close_leftwards)
    spaces = np.concatenate([[0], np.cumsum(glyphs.space)])
    space_before = np.concatenate([[True], spaces[b] > spaces[a + 1]])
    edges = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(index)]])
    return [_segment(glyphs, index[i:j], u0, u1, v, space_before[i:j]) for i, j in itertools.pairwise(edges)]


def _leftward(glyphs: Glyphs, index: Integers) -> Flags:
    """Return for each pair of neighbours whether both come from a script written from right to left."""
    codes = glyphs.codes[index]
    right = ((codes >= 0x590) & (codes < 0x900)) | ((codes >= 0xFB1D) & (codes < 0xFF00) & (codes != 0xFEFF))
    return np.asarray(right[:-1] & right[1:], dtype=np.bool_)


def _middle(values: Floats) -> float:
    """Return the upper median: half the time of numpy's, which matters for thousands of short arrays."""
    return float(np.sort(values)[len(values) // 2])


def _segment(glyphs: Glyphs, index: Integers, u0: Floats, u1: Floats, v: Floats, space_before: Flags) -> Segment:
    words = np.cumsum(space_before) - int(space_before[0])
    first_word_end = int(np.searchsorted(words, 1)) - 1
    characters = [character(code) for code in glyphs.codes[index].tolist()]
    text = compose(_spaced(characters, words.tolist()))
    if right_to_left(text):
        text = compose(_leftward_text(characters, words, u0[index], u1[index]))
    sizes = glyphs.size[index]
    size = _middle(sizes)
    left, right = float(u0[index].min()), float(u1[index].max())
    return Segment(
        text=text,
        u0=left,
        u1=max(left, right),
        baseline=_middle(v[index]),
        size=size,
        bold=int(glyphs.bold[index].sum()),
        rank=int(index[0]),
        space_before=bool(space_before[0]),
        first_word=abs(float(u1[index[first_word_end]] - u0[index[0]])),
        digits=sum(map(str.isdigit, text)),
    )


def _spaced(characters: list[str], words: list[int]) -> str:
    """Return the text, with a space where the number of the word changes."""
    parts = characters[:1]
    for before, after, text in zip(words, words[1:], characters[1:], strict=False):
        parts.append(text if before == after else " " + text)
    return "".join(parts)


def _leftward_text(characters: list[str], words: Integers, u0: Floats, u1: Floats) -> str:
    """Return text of a script written from right to left in the order it is read, however the file orders it."""
    order = sorted(range(len(characters)), key=lambda i: (-u1[i], u0[i], -i))  # PDFium lists such text backwards
    rightward = [text.isalnum() and not right_to_left(text) for text in characters]
    runs: list[list[int]] = []
    for i in order:
        if runs and rightward[i] and rightward[runs[-1][0]]:
            runs[-1].insert(0, i)  # numbers and Latin words keep their own direction
        else:
            runs.append([i])
    order = [i for run in runs for i in run]
    return _spaced([characters[i] for i in order], [int(words[i]) for i in order])


@dataclass(slots=True)
class TextLine:
    """One printed line in the frame of its text; `cells` counts the stretches that wide gaps part."""

    text: str
    u0: float
    u1: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    cells: int
    first_word: float
    turn: int = 0
    region: int = 0
    hidden: bool = False


def join_line(segments: list[Segment], turn: int) -> TextLine:
    """Return the line that segments on one baseline make."""
    leftwards = right_to_left("".join(s.text for s in segments))
    ordered = sorted(segments, key=lambda s: -s.u1 if leftwards else s.u0)
    main = max(ordered, key=lambda s: (len(s.text) * s.size, -s.rank))
    text, cells = ordered[0].text, 1
    for before, after in itertools.pairwise(ordered):
        gap = before.u0 - after.u1 if leftwards else after.u0 - before.u1
        em = max(before.size, after.size)
        spaced = gap > 0.25 * em or (after.space_before and gap > 0.1 * em)
        cells += gap > 1.6 * em
        text += (" " if spaced else "") + after.text
    letters = sum(len(s.text.replace(" ", "")) for s in ordered)
    return TextLine(
        text=compose(" ".join(text.split())),
        u0=min(s.u0 for s in ordered),
        u1=max(s.u1 for s in ordered),
        top=min(main.top, *(s.top for s in ordered)) if len(ordered) > 1 else main.top,
        bottom=max(main.bottom, *(s.bottom for s in ordered)) if len(ordered) > 1 else main.bottom,
        baseline=main.baseline,
        size=main.size,
        bold=sum(s.bold for s in ordered) > 0.8 * letters,
        cells=cells,
        first_word=ordered[0].first_word,
        turn=turn,
    )


def group_rows(segments: list[Segment]) -> list[list[Segment]]:
    """Return the segments that stand on one line, top to bottom; sub- and superscripts go to the line they touch."""
    rows: list[list[Segment]] = []
    heads: list[Segment] = []  # the largest segment of each row
    for segment in sorted(segments, key=lambda s: (s.baseline, s.u0)):
        for position in range(len(rows) - 1, max(-1, len(rows) - 7), -1):
            if _same_row(heads[position], segment):
                rows[position].append(segment)
                if segment.size > heads[position].size:
                    heads[position] = segment
                break
        else:
            rows.append([segment])
            heads.append(segment)
    order = sorted(range(len(rows)), key=lambda i: heads[i].baseline)
    return [rows[i] for i in order]


def _same_row(a: Segment, b: Segment) -> bool:
    small, large = sorted((a.size, b.size))
    apart = abs(a.baseline - b.baseline)
    if apart <= 0.2 * small:
        return True
    overlap = min(a.bottom, b.bottom) - max(a.top, b.top)
    return large < 1.8 * small and overlap > 0.5 * small * (ASCENT + DESCENT) and apart < 0.55 * large
