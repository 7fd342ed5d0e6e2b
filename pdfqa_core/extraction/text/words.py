"""The words of a page with their places: what tables are made of. One pass in numpy over upright, visible glyphs."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, TextLine, enclosing
from pdfqa_core.extraction.text.direction import printed_text, read_text
from pdfqa_core.extraction.text.glyphs import Flags, Glyphs, right_to_left_codes
from pdfqa_core.extraction.text.normalise import HYPHENS, character, compose, right_to_left
from pdfqa_core.types import Box

# ----------------------------------------------------------------------------------------------------
# Words parted by a hyphen at the end of a line: whether the hyphen belongs to the word.
#
# The document itself is asked first: a spelling that it uses within a line wins. Where it is silent, the hyphens
# that it did decide tell whether its lines are hyphenated at all. Knows nothing about pages; standard library only.

_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")  # Chinese and Japanese
_HEAD = re.compile(r"([^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*)[-\u2010\u00ad\u2011]$")
_TAIL = re.compile(r"^[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
_FREE_PREFIXES = frozenset({"self", "non", "well", "ex"})


class Hyphenation:
    """Decides for the line ends of one document. Build it from all of its lines in reading order."""

    def __init__(self, lines: Iterable[str]) -> None:
        words: list[str] = []
        pairs = []
        previous = ""
        for line in lines:
            skipped = _TAIL.match(line) if previous else None
            start = skipped.end() if skipped else 0
            head = _HEAD.search(line) if line[-1:] in HYPHENS else None
            stop = head.start(1) if head else len(line)
            words += map(str.casefold, _WORD.findall(line, start, max(start, stop)))
            if previous and skipped:
                pairs.append((previous, skipped.group()))
            previous = head.group(1) if head else ""
        self._words = Counter(words)
        votes = [self._evidence(a, b) for a, b in pairs]
        self._joins_by_default = sum(v > 0 for v in votes) >= sum(v < 0 for v in votes)

    def _evidence(self, head: str, tail: str) -> int:
        """Return above 0 where the document writes the two as one word, below 0 where with a hyphen."""
        joined, parted = f"{head}{tail}".casefold(), f"{head}-{tail}".casefold()
        return self._words[joined] - self._words[parted]

    def joins(self, line: str, following: str) -> str | None:
        """Return what stands between two lines: a space, nothing, or None where the hyphen is dropped as well."""
        if not line or line[-1] not in HYPHENS:
            return "" if _UNSPACED.match(line[-1:]) and _UNSPACED.match(following) else " "
        head, tail = _HEAD.search(line), _TAIL.match(following)
        if line[-1] == "\u00ad":
            return None
        if head and tail:
            return self._within_word(head.group(1), tail.group())
        digit = following[:1].isdigit()
        return "" if digit and (head or line[-2:-1].isdigit()) else " "

    def _within_word(self, head: str, tail: str) -> str | None:
        evidence = self._evidence(head, tail)
        if evidence:
            return None if evidence > 0 else ""
        capitals = len(head) > 1 and head.isupper()
        if capitals and tail.isupper():
            return None
        kept = capitals or not tail[0].islower() or head.casefold() in _FREE_PREFIXES
        return "" if kept or not self._joins_by_default else None


# ----------------------------------------------------------------------------------------------------
# The words of a page with their places: what tables are made of. One pass in numpy over upright, visible glyphs.

_GAP = 0.6  # of the font size: a wider gap parts words also where no space is written
_BACK = 0.6  # of the font size: how far back the next character of a word may lie
_LEVEL = 0.2  # of the font size: how far the characters of a word may lie from one baseline


@dataclass(slots=True)
class Word:
    """Characters without white space between them; `spaced`: white space is written before it.

    The text of one written from right to left is as it is printed (`direction.read_text`).
    """

    text: str
    x0: float
    x1: float
    baseline: float
    size: float
    bold: bool
    spaced: bool

    @property
    def box(self) -> Box:
        """Where it is printed, as high as a line of its font."""
        return Box(self.x0, self.baseline - ASCENT * self.size, self.x1, self.baseline + DESCENT * self.size)


def find_words(glyphs: Glyphs, hidden: Flags, top: float, bottom: float) -> list[Word]:
    """Return the upright words that a person can see between two heights, in the order of the content stream."""
    chosen = ~glyphs.space & ~hidden & (glyphs.turn == 0) & (glyphs.y > top) & (glyphs.y < bottom)
    index = np.flatnonzero(chosen)
    if not len(index):
        return []
    a, b = index[:-1], index[1:]
    y, size = glyphs.y[index], glyphs.size[index]
    em = np.maximum(np.maximum(size[:-1], size[1:]), 0.1)
    gap = glyphs.boxes[b, 0] - glyphs.boxes[a, 2]
    spaces = np.concatenate([[0], np.cumsum(glyphs.space)])
    spaced = np.concatenate([[True], spaces[b] > spaces[a + 1]])
    onward = (gap <= _GAP * em) & (gap >= -_BACK * em)
    leftward = right_to_left_codes(glyphs.codes[index])
    if leftward.any():
        back = glyphs.boxes[a, 0] - glyphs.boxes[b, 2]
        near = (back <= _GAP * em) & (back >= -_BACK * em)
        onward |= leftward[1:] & leftward[:-1] & (near | (glyphs.boxes[a] == glyphs.boxes[b]).all(axis=1))
    apart = spaced[1:] | ~onward | (np.abs(np.diff(y)) > _LEVEL * em)
    apart |= size[1:] < 0.8 * size[:-1]  # a mark set small
    starts = np.concatenate([[0], np.flatnonzero(apart) + 1])
    edges = [*starts.tolist(), len(index)]
    whole = glyphs.codes[index].clip(0, 0x10FFFF).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    texts = [_readable(whole[i:j]) for i, j in itertools.pairwise(edges)]
    for number in np.flatnonzero(np.logical_or.reduceat(leftward, starts)).tolist() if leftward.any() else ():
        chosen = index[edges[number] : edges[number + 1]]
        middles = (glyphs.boxes[chosen, 0] + glyphs.boxes[chosen, 2]) / 2
        texts[number] = "".join(
            printed_text(glyphs.codes[chosen].tolist(), glyphs.x[chosen].tolist(), middles.tolist())
        )
    found = list(
        map(
            Word,
            texts,
            np.minimum.reduceat(glyphs.boxes[index, 0], starts).tolist(),
            np.maximum.reduceat(glyphs.boxes[index, 2], starts).tolist(),
            y[starts].tolist(),
            np.maximum.reduceat(size, starts).tolist(),
            np.logical_and.reduceat(glyphs.bold[index], starts).tolist(),
            spaced[starts].tolist(),
        )
    )
    return [word for word in found if word.text]


def _readable(raw: str) -> str:
    if raw.isascii() and raw.isprintable():
        return raw
    return compose("".join([character(ord(code)) for code in raw]))


def words_of_lines(words: Sequence[Word], lines: Sequence[TextLine]) -> list[list[Word]]:
    """Return the words that each line was made of, from left to right; none for lines that are turned or hidden."""
    found: list[list[Word]] = [[] for _ in lines]
    if not words:
        return found
    x0, x1 = np.array([w.x0 for w in words]), np.array([w.x1 for w in words])
    baseline = np.array([w.baseline for w in words])
    middle = baseline - 0.3 * np.array([w.size for w in words])
    owner = np.full(len(words), -1)
    nearest = np.full(len(words), np.inf)
    for number, line in enumerate(lines):
        if line.turn or line.hidden or line.table is not None:
            continue
        inside = (middle > line.top) & (middle < line.bottom) & (x0 > line.u0 - 0.5) & (x1 < line.u1 + 0.5)
        distance = np.abs(baseline - line.baseline)
        inside &= distance < nearest
        owner[inside] = number
        nearest[inside] = distance[inside]
    for word, number in zip(words, owner.tolist(), strict=True):
        if number >= 0:
            found[number].append(word)
    for entries in found:
        entries.sort(key=lambda w: w.x0)
    return found


def text_of(words: Sequence[Word]) -> str:
    """Return the text of words of one line, from left to right."""
    parts: list[str] = []
    leftwards = right_to_left("".join(word.text for word in words))
    for before, word in zip([None, *words], words, strict=False):
        if before is not None:
            gap, em = word.x0 - before.x1, max(before.size, word.size)
            spaced = word.spaced or (leftwards and before.spaced)
            parts += [" "] if gap > _GAP * em or (spaced and gap > 0.1 * em) else []
        parts.append(word.text)
    return compose(read_text(parts))


def around(words: Sequence[Word]) -> Box:
    """Return the smallest box that holds the words."""
    return enclosing(word.box for word in words)
