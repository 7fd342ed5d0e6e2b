"""Whether the text layer of a page can be used, or the page has to be read from its picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pdfqa_core.extraction.raw_page import TextLine

_FEW = 40  # letters: with fewer, what is drawn decides
_PICTURE = 0.3  # of the page: from this share on a page with few letters is a scan
_MANY_OBJECTS = 150  # text turned into shapes, one object per letter
_FOREIGN = 0.3  # of the characters: from this share of signs that stand for nothing on, the text is garbage
_MEANT = 0.35  # of the characters: with a smaller share of letters and digits the text is garbage
_ENOUGH = 100  # characters that it takes to call text with few letters garbage


def readable_letters(lines: Sequence[TextLine]) -> int:
    """Return how many letters and digits a person sees."""
    return sum(c.isalnum() for text in _texts(lines) for c in text)


def is_garbage(lines: Sequence[TextLine]) -> bool:
    """Return whether the characters stand for nothing: a font without a map to Unicode, or a broken one."""
    characters = [c for text in _texts(lines) for c in text if not c.isspace()]
    if not characters:
        return False
    foreign = sum(c == "\ufffd" or unicodedata.category(c) in ("Co", "Cn", "Cc", "Cs") for c in characters)
    meant = sum(unicodedata.category(c)[0] in "LNM" for c in characters)
    if foreign >= _FOREIGN * len(characters):
        return True
    dots = sum(c in ".…_-–—·" for c in characters)  # leaders and blanks of forms
    return len(characters) >= _ENOUGH and meant < _MEANT * (len(characters) - dots)


def usable_text(lines: Sequence[TextLine], pictured: float, objects: int) -> bool:
    """Return whether a page's text says what the page shows.

    `pictured` is the share of the page that pictures cover, `objects` the number it is drawn with; a page on which
    nothing is drawn is empty, and that is what it says.
    """
    if is_garbage(lines):
        return False
    letters = readable_letters(lines)
    if letters >= _FEW:
        return True
    if letters == 0:
        return objects == 0
    return pictured < _PICTURE and objects < _MANY_OBJECTS


def _texts(lines: Sequence[TextLine]) -> list[str]:
    texts = [line.text for line in lines if not line.hidden]
    tables = [line.table for line in lines if line.table is not None and not line.hidden]
    return texts + [cell.text for table in tables for row in table.rows for cell in row if cell is not None]
