"""Text that other text is printed over, so that nobody can read it."""

from __future__ import annotations

import numpy as np

from pdfqa_core.extraction.text.glyphs import Flags, Floats, Glyphs, Integers, distinct

_CELL = 1.0  # points; squares that the page is parted into
_MOST_CELLS = 2_000_000
_MOST_OF_A_GLYPH = 64  # squares along a side: larger characters are drawings, or watermarks behind the text
_INNER = 0.2  # of its box: the rim that does not count, so that neighbours do not cover each other
_COVERED = 0.5  # of the squares of a letter that later letters cover
_SIZES = 2.0  # how many times as large one may be as the other
_LETTERS = 4  # of a word or a text object that are covered
_LOST = 0.6  # of the letters of a word or a text object: the spaces between the words above leave some free


def printed_over(glyphs: Glyphs, order: Integers, visible: Flags) -> Flags:
    """Return which of the visible glyphs (n,) stand in words or text objects that lie under other letters.

    `order` (n,) says when each is painted. Accents, lines, and the same letters drawn twice hide nothing.
    """
    found = np.zeros(len(glyphs), dtype=np.bool_)
    letters = np.flatnonzero(visible & _is_letter(glyphs.codes))
    if len(letters) < 2 * _LETTERS:
        return found
    found[letters] = _covered(glyphs, letters, order[letters]) >= _COVERED
    if int(found.sum()) < _LETTERS:
        return np.zeros(len(glyphs), dtype=np.bool_)
    ink = visible & ~glyphs.space
    counted = np.zeros(len(glyphs), dtype=np.bool_)
    counted[letters] = True
    objects = np.searchsorted(distinct(glyphs.owners), glyphs.owners)
    return ink & (_mostly(np.cumsum(glyphs.space), found, counted) | _mostly(objects, found, counted))


def _is_letter(codes: Integers) -> Flags:
    known = np.unique(codes)
    flags = np.array([0 < c < 0x110000 and chr(c).isalnum() for c in known.tolist()], dtype=np.bool_)
    found: Flags = flags[np.searchsorted(known, codes)]
    return found


def _covered(glyphs: Glyphs, letters: Integers, order: Integers) -> Floats:
    """Return the share of the squares of each letter on which another one is painted last."""
    boxes = glyphs.boxes[letters]
    width, height = glyphs.frame.width, glyphs.frame.height
    cell = max(_CELL, (width * height / _MOST_CELLS) ** 0.5)
    columns, rows = int(width / cell) + 2, int(height / cell) + 2
    rim = (boxes[:, 2:] - boxes[:, :2]) * _INNER
    limits = np.array([columns - 1, rows - 1])
    begin = np.clip((boxes[:, :2] + rim) / cell, 0, limits).astype(np.int64)
    end = np.maximum(np.clip((boxes[:, 2:] - rim) / cell, 0, limits).astype(np.int64), begin)
    sides = np.minimum(end - begin + 1, _MOST_OF_A_GLYPH)
    count = sides.prod(axis=1)
    which = np.repeat(np.arange(len(letters)), count)
    step = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    squares = (begin[which, 1] + step // sides[which, 0]) * columns + begin[which, 0] + step % sides[which, 0]
    by_time = np.lexsort((np.arange(len(letters)), order))
    rank = np.empty(len(letters), dtype=np.int64)
    rank[by_time] = np.arange(len(letters))
    last = np.full(rows * columns, -1, dtype=np.int64)
    np.maximum.at(last, squares, rank[which])
    above = by_time[last[squares]]
    sizes = glyphs.size[letters]
    ratio = sizes[which] / np.maximum(sizes[above], 1e-9)
    covered = glyphs.owners[letters[above]] != glyphs.owners[letters[which]]
    covered &= glyphs.codes[letters[above]] != glyphs.codes[letters[which]]
    covered &= (ratio <= _SIZES) & (ratio >= 1 / _SIZES)
    found: Floats = np.bincount(which, weights=covered, minlength=len(letters)) / count
    return found


def _mostly(group: Integers, found: Flags, counted: Flags) -> Flags:
    """Return the glyphs (n,) of groups (a number each) of whose counted glyphs nearly all are among the found."""
    most = int(group.max()) + 1
    lost, length = np.bincount(group[found], minlength=most), np.bincount(group[counted], minlength=most)
    chosen: Flags = ((lost >= _LETTERS) & (lost >= _LOST * length))[group]
    return chosen
