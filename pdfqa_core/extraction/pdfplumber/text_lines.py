"""The lines of a page as pdfplumber finds them, from top to bottom over its whole width."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from pdfqa_core.extraction.pdfplumber.sheet import MeasuredChar
from pdfqa_core.extraction.pdfplumber.thresholds import PdfplumberThresholds
from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, TextLine
from pdfqa_core.extraction.text.normalise import character, compose, right_to_left

# Along and across the lines of text that is turned by 0 to 3 quarters, in pdfplumber's names.
_DIRECTIONS = (("ltr", "ttb"), ("ttb", "rtl"), ("rtl", "btt"), ("btt", "ltr"))


def find_lines(chars: Sequence[MeasuredChar], turn: int, thresholds: PdfplumberThresholds) -> list[TextLine]:
    """Return pdfplumber's lines of characters that are all turned by `turn` quarters."""
    if not chars:
        return []
    measured = {id(c.raw): c for c in chars}
    found = []
    for line in _text_map(chars, _DIRECTIONS[turn], thresholds.word_gap).extract_text_lines(return_chars=True):
        members = [measured[key] for key in dict.fromkeys(map(id, line["chars"]))]
        first = {id(raw) for raw in line["chars"][: len(line["text"].split()[0])]}
        text = plain(
            _leftward_text(members, turn, thresholds.word_gap) if right_to_left(line["text"]) else line["text"]
        )
        if text:
            found.append(_text_line(text, members, len(first), turn, thresholds.cell_gap))
    return found


def _text_map(chars: Iterable[MeasuredChar], directions: tuple[str, str], word_gap: float) -> Any:
    """Return pdfplumber's map of characters to text; the directions are along and across the lines."""
    from pdfplumber.utils.text import chars_to_textmap

    along, across = directions
    return chars_to_textmap(
        [c.raw for c in chars],
        x_tolerance_ratio=word_gap,
        char_dir=along,
        line_dir=across,
        char_dir_rotated=along,
        line_dir_rotated=across,
        char_dir_render="ltr",
        line_dir_render="ttb",
    )


def _leftward_text(members: Sequence[MeasuredChar], turn: int, word_gap: float) -> str:
    """Return the text of a line that is read from right to left, but for its numbers and Latin words."""
    along, across = _DIRECTIONS[turn]
    rightward = _text_map(members, (along, across), word_gap).as_string.split()[::-1]
    leftward = _text_map(members, (_DIRECTIONS[(turn + 2) % 4][0], across), word_gap).as_string.split()
    if len(leftward) != len(rightward):
        return " ".join(leftward)
    found: list[str] = []
    run = 0  # words in a row that are read rightward
    for word, mirrored in zip(leftward, rightward, strict=True):
        run = run + 1 if any(map(str.isalnum, word)) and not right_to_left(word) else 0
        if run:
            found.insert(len(found) - run + 1, mirrored)
        else:
            found.append(word)
    return " ".join(found)


def plain(text: str) -> str:
    """Return text as people search for it, on one line."""
    return compose(" ".join("".join(character(ord(c)) for c in text).split()))


def _text_line(text: str, members: Sequence[MeasuredChar], first_word: int, turn: int, cell_gap: float) -> TextLine:
    """Return the line that characters in reading order make; the first word is made of the first `first_word`."""
    from pdfqa_core.extraction.text.glyphs import BOLD_NAME

    size = sorted(c.size for c in members)[len(members) // 2]
    baseline = median(c.v for c in members if c.size >= 0.8 * size)
    placed = sorted(members, key=lambda c: c.u0)
    gaps = (after.u0 - before.u1 for before, after in itertools.pairwise(placed))
    start = members[:first_word]
    return TextLine(
        text=text,
        u0=placed[0].u0,
        u1=max(c.u1 for c in members),
        top=min(c.v - ASCENT * c.size for c in members),
        bottom=max(c.v + DESCENT * c.size for c in members),
        baseline=baseline,
        size=size,
        bold=sum(BOLD_NAME.search(str(c.raw["fontname"])) is not None for c in members) > 0.8 * len(members),
        cells=1 + sum(gap > cell_gap * size for gap in gaps),
        first_word=max(c.u1 for c in start) - min(c.u0 for c in start),
        turn=turn,
    )
