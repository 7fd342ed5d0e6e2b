"""Text that runs otherwise than level or by quarter turns: columns of Chinese and Japanese, and slanted words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pdfqa_core.extraction.raw_page import TextLine, grouped
from pdfqa_core.extraction.text.glyphs import SLANTED, Flags, Glyphs
from pdfqa_core.extraction.text.normalise import character, compose
from pdfqa_core.types import BlockKind

_FEWEST = 4  # characters of a column
_BESIDE = 0.35  # of the font size: how far the middles of the characters of a column are off
_NEAREST, _FARTHEST = 0.4, 2.2  # of the font size: from the middle of one to that of the next
_MIDDLE = 0.27  # of the font size: from the baseline of a line to its middle
_STEP = 2.5  # of the font size: from one slanted character to the next at most
_BEND = math.radians(20)
_DECORATION = 1.5  # of the page's usual font size: larger slanted words are a watermark or a stamp


def with_columns(glyphs: Glyphs) -> Glyphs:
    """Return the glyphs with those that are written in columns turned a quarter: read downwards, then to the left."""
    codes = glyphs.codes
    if not len(codes) or codes.max() < 0x2E80:
        return glyphs
    own = ((codes >= 0x2E80) & (codes < 0xA000)) | ((codes >= 0xF900) & (codes < 0xFB00)) | (codes >= 0xFF00)
    index = np.flatnonzero(own & ~glyphs.space & (glyphs.turn == 0) & (codes <= 0x3FFFF))
    if len(index) < _FEWEST:
        return glyphs
    middle = (glyphs.boxes[index, :2] + glyphs.boxes[index, 2:]) / 2
    size = np.maximum(glyphs.size[index], 0.1)
    steps = np.diff(middle, axis=0) / size[1:, None]
    below = (np.abs(steps[:, 0]) < _BESIDE) & (steps[:, 1] > _NEAREST) & (steps[:, 1] < _FARTHEST)
    edges = np.concatenate([[0], np.flatnonzero(~below) + 1, [len(index)]])
    columns = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    if max(end - first for first, end in columns) < _FEWEST:
        return glyphs
    turn, x = glyphs.turn.copy(), glyphs.x.copy()
    for first, end in columns:
        if end - first > 1:  # the last one of a paragraph may be short
            turn[index[first:end]] = 1
            x[index[first:end]] = np.median(middle[first:end, 0]) - _MIDDLE * size[first]
    return replace(glyphs, turn=turn, x=x)


def slanted_lines(glyphs: Glyphs, chosen: Flags, region: int) -> list[TextLine]:
    """Return a line for each stretch of slanted text among the chosen glyphs (n,); large ones are decoration."""
    index = np.flatnonzero(chosen & ~glyphs.space & (glyphs.turn == SLANTED))
    if not len(index):
        return []
    usual = float(np.median(glyphs.size[~glyphs.space & (glyphs.turn != SLANTED)])) if len(index) < len(glyphs) else 0.0
    spaces = np.cumsum(glyphs.codes == 0x20)

    def step(a: int, b: int) -> tuple[float, float]:
        return float(glyphs.x[b] - glyphs.x[a]), float(glyphs.y[b] - glyphs.y[a])

    def joins(run: list[int], following: int) -> bool:
        size = float(glyphs.size[run[-1]])
        across = step(run[-1], following)
        if math.hypot(*across) > _STEP * size or abs(float(glyphs.size[following]) - size) > 0.2 * size:
            return False
        if len(run) < 2:
            return True
        before = step(run[-2], run[-1])
        bend = math.atan2(across[1], across[0]) - math.atan2(before[1], before[0])
        return abs((bend + math.pi) % (2 * math.pi) - math.pi) < _BEND

    found = []
    for number, run in enumerate(grouped(index.tolist(), joins)):
        text = "".join(
            (" " if place and spaces[i] > spaces[run[place - 1]] else "") + character(int(glyphs.codes[i]))
            for place, i in enumerate(run)
        )
        size = float(glyphs.size[run[0]])
        x0, top = glyphs.boxes[run, :2].min(axis=0).tolist()
        x1, bottom = glyphs.boxes[run, 2:].max(axis=0).tolist()
        bold = bool(glyphs.bold[run].all())
        line = TextLine(compose(text.strip()), x0, x1, top, bottom, bottom, size, bold, 1, 0.0, region=region + number)
        line.kind = BlockKind.HEADER if size > _DECORATION * usual else BlockKind.CAPTION
        if line.text:
            found.append(line)
    return found
