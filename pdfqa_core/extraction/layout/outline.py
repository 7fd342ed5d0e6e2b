"""A PDF's bookmarks (its outline), and which lines of a page they name.

PDFium reads them; call it in a child process, as for pages. Outlines may be broken: a title that goes in circles, a
million entries or a page that does not exist end the reading or are left out, they never raise.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdfqa_core.extraction.raw_page import TextLine

_MAX_ENTRIES = 5_000
_MAX_DEPTH = 12
_MAX_TITLE_BYTES = 2_000
_MAX_ON_PAGE = 200
_MAX_LINES = 3_000
_MOST_LINES = 3  # that a title may be printed on
_ABOVE, _BELOW = 40.0, 120.0  # points around the destination in which a match is preferred
_SPACES = re.compile(r"\s+")
_NUMBER = re.compile(
    r"^(?:(?:chapter|section|part|appendix|kapitel|abschnitt|teil|anhang)\s+)?"
    r"(?:\d{1,3}(?:\.\d{1,3})*|[ivxlc]{1,6}(?=[.)]|\s)|[a-z](?=[.)]))[.):]?(?=\D)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One bookmark: its level (1: outermost), its title, the 1-based page it leads to and the place on it.

    `top` is the distance in points from the upper edge of the page's crop box, None where the file gives none.
    """

    level: int
    title: str
    page: int
    top: float | None = None


def read_outline(document: Any) -> tuple[OutlineEntry, ...]:
    """Return the bookmarks of an open document (a raw FPDF_DOCUMENT) that lead to one of its pages, in order."""
    import pypdfium2.raw as pdfium

    found: list[OutlineEntry] = []
    seen: set[int] = set()
    pages = pdfium.FPDF_GetPageCount(document)
    waiting: list[tuple[Any, int]] = [(pdfium.FPDFBookmark_GetFirstChild(document, None), 1)]
    while waiting and len(seen) < _MAX_ENTRIES:
        bookmark, level = waiting.pop()
        address = ctypes.cast(bookmark, ctypes.c_void_p).value if bookmark else None
        if not address or address in seen:
            continue
        seen.add(address)
        waiting.append((pdfium.FPDFBookmark_GetNextSibling(document, bookmark), level))
        if level < _MAX_DEPTH:
            waiting.append((pdfium.FPDFBookmark_GetFirstChild(document, bookmark), level + 1))
        title = _title(bookmark)
        destination = pdfium.FPDFBookmark_GetDest(document, bookmark)
        page = pdfium.FPDFDest_GetDestPageIndex(document, destination) if destination else -1
        if title and 0 <= page < pages:
            found.append(OutlineEntry(level, title, page + 1, _top(document, destination, page)))
    return tuple(found)


def _title(bookmark: Any) -> str:
    import pypdfium2.raw as pdfium

    length = pdfium.FPDFBookmark_GetTitle(bookmark, None, 0)
    if not 2 < length <= _MAX_TITLE_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(length)
    pdfium.FPDFBookmark_GetTitle(bookmark, buffer, length)
    text = buffer.raw[: length - 2].decode("utf-16-le", "replace")
    return _SPACES.sub(" ", "".join(c if c.isprintable() else " " for c in text)).strip()


def _top(document: Any, destination: Any, page: int) -> float | None:
    """Return how far below the upper edge of an upright page the destination lies."""
    import pypdfium2.raw as pdfium

    flags = [pdfium.FPDF_BOOL() for _ in range(3)]
    place = [pdfium.FS_FLOAT() for _ in range(3)]
    if not pdfium.FPDFDest_GetLocationInPage(destination, *flags, *place) or not flags[1]:
        return None
    size = pdfium.FS_SIZEF()
    if not pdfium.FPDF_GetPageSizeByIndexF(document, page, size):
        return None
    top = size.height - place[1].value
    return top if 0 <= top <= size.height else None


def plain_title(text: str) -> str:
    """Return a title as it is compared: letters and digits only, case folded, ligatures spelt out, accents composed."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in text if c.isalnum())


def _unnumbered(text: str) -> str:
    return plain_title(_NUMBER.sub("", text, count=1))


def match_outline(lines: Sequence[TextLine], entries: Sequence[OutlineEntry]) -> dict[int, tuple[int, int]]:
    """Return where titles are printed: index of the first line -> (number of lines, level of the heading).

    `lines` are those of the page that `entries` lead to, in reading order. A title may lack its number on one side, and
    may be printed on up to three lines. Of several places the one nearest to the destination counts.
    """
    found: dict[int, tuple[int, int]] = {}
    if not entries:
        return found
    lines = lines[:_MAX_LINES]
    plain = [plain_title(line.text) for line in lines]
    for entry in entries[:_MAX_ON_PAGE]:
        wanted = plain_title(entry.title)
        bare = _unnumbered(entry.title) or wanted
        if len(bare) < 2:
            continue
        best: tuple[float, int, int] | None = None
        for start, line in enumerate(lines):
            if start in found or not plain[start] or line.hidden or line.table is not None:
                continue
            count = _printed(lines, plain, start, wanted, bare)
            if count:
                rating = (_distance(line, entry), start, count)
                best = rating if best is None or rating < best else best
        if best is not None:
            found[best[1]] = (best[2], min(4, entry.level))
    return found


def _printed(lines: Sequence[TextLine], plain: Sequence[str], start: int, wanted: str, bare: str) -> int:
    """Return how many lines from `start` on make the title; 0: they do not."""
    whole = ""
    text = ""
    for count, line in enumerate(lines[start : start + _MOST_LINES], 1):
        first = lines[start]
        if line.hidden or line.table is not None or line.turn != first.turn or line.cells > 2:
            return 0
        if count > 1 and abs(line.size - first.size) > 0.3 * first.size:
            return 0
        whole += plain[start + count - 1]
        text = f"{text} {line.text}".strip()
        if whole in {wanted, bare} or (whole.endswith(bare) and _unnumbered(text) == bare):
            return count
        if len(whole) > len(wanted) + 12:
            return 0
    return 0


def _distance(line: TextLine, entry: OutlineEntry) -> float:
    """Return 0 where the line is where the destination points to, more the further off it is."""
    if entry.top is None:
        return 0.0
    if -_ABOVE <= line.top - entry.top <= _BELOW:
        return 0.0
    return abs(line.top - entry.top)
