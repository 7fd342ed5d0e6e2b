"""A PDF's bookmarks (its outline), and which lines of a page they name.

PDFium reads them; call it in a child process, as for pages. Outlines may be broken: a title that goes in circles, a
million entries or a page that does not exist end the reading or are left out, they never raise.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.text import terms
from pdfqa_core.types import READABLE, BlockKind, Box, Page

# ----------------------------------------------------------------------------------------------------
# The title of a document: its metadata where that is sensible, else its largest heading, else its file name.
#
# The authors come from the metadata only, where they name persons or an organisation rather than an account or a
# program.

_POOR = re.compile(
    r"^(?:untitled|no title|title|unknown|none|null|\(?anonymous\)?|unspecified|document\s*\d*|presentation\s*\d*|"
    r"slide\s*\d*|page\s*\d*|scan\w*|powerpoint presentation|dokument\s*\d*|microsoft .*|print.*|about:blank|"
    r"https?://.*|file:.*|\S+\.(?:pdf|docx?|pptx?|xlsx?|tex|dvi|ps|indd|qxd|rtf|odt|html?|txt|eps|ai|cdr)|[\W\d_]*)$",
    re.IGNORECASE,
)
_OFFICE = re.compile(r"^microsoft (?:word|powerpoint|excel)\s*[-–]\s*", re.IGNORECASE)
_SECTION = re.compile(
    r"^(?:\d+\.?\s+)?(?:(?:table of )?contents|abstract|introduction|summary|overview|agenda|preface|inhalt\w*)\W*$",
    re.IGNORECASE,
)
_NO_AUTHOR = re.compile(
    r"^(?:(?:default |office |local |my )?user(?:name)?s?\s*\d*|\w*admin(?:istrator)?\d*|author|autor|owner|root|guest|"
    r"none|null|n/?a|nobody|unknown(?: author)?|\(?(?:anonymous|unspecified)\)?|unbekannt|untitled|scan(?:ner)?\d*|"
    r"(?:microsoft|ms)[ _-]?office.*|microsoft(?: word| excel| powerpoint| user)?|windows(?: \w+)?|mac ?(?:book|os).*|"
    r"(?:hp|dell|lenovo|acer|asus|canon|epson|xerox|ricoh|konica)(?:[ _-]?(?:inc|pc|user)\.?)?|"
    r"python-(?:docx|pptx)|openpyxl|reportlab.*|(?:pdf|xe|lua)?(?:la)?tex|pdf ?(?:lib|sam|creator).*|pandoc|calibre.*|"
    r"(?:libre|open) ?office.*|writer|word|(?:adobe )?acrobat.*|ghostscript.*|google docs.*|wkhtml.*|edgar online.*|"
    r"\S+@\S+|https?://.*|file:.*|[a-z]:\\.*|\S+\.(?:pdf|docx?|exe)|[a-z]{1,3}\d{2,}|.?|[\W\d_]*)$",
    re.IGNORECASE,
)
_MAX_LENGTH = 200
_JOINED_LENGTH = 120
_SHORT_TITLE = 12  # characters: such a title says little
_FIRST_PAGES = 3  # among which the first one with text is looked at
_SAME_HEIGHT = 0.6  # of the tallest heading: from here on another large heading right below is part of the title
_ALIKE = 0.9  # of the tallest heading: from here on another one is in its type
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s")  # a section begins


def sensible(title: str) -> bool:
    """Return whether a title from a PDF's metadata says what the document is."""
    return 2 < len(title) <= _MAX_LENGTH and _POOR.match(title) is None and "\ufffd" not in title


def stated_title(metadata: str) -> str:
    """Return the title that the metadata names, as one line; empty where it does not say what the document is."""
    plain = _OFFICE.sub("", " ".join("".join(c if c.isprintable() else " " for c in metadata).split()))
    return plain if sensible(plain) else ""


def choose_title(metadata: str, pages: tuple[Page, ...], stem: str) -> str:
    """Return a title from the metadata's, the largest headings of the first page with text, and the file's stem."""
    if stated := stated_title(metadata):
        return stated
    first = next((page for page in pages[:_FIRST_PAGES] if any(b.kind in READABLE for b in page.blocks)), None)
    return (_largest(first) if first is not None else "") or stem


def choose_authors(metadata: str) -> str:
    """Return the authors that the metadata names, as one line; empty where it names an account or a program.

    Several parted by semicolons, line ends or bars are parted by "; ", those that are no names left out.
    """
    plain = "".join(c if c.isprintable() or c in "\r\n" else " " for c in metadata[: 10 * _MAX_LENGTH])
    names: list[str] = []
    for part in re.split(r"[;\r\n|]+", plain):
        name = " ".join(part.split()).strip(" ,")
        if "\ufffd" not in name and not _NO_AUTHOR.match(name) and name not in names:
            names.append(name)
    text = "; ".join(names)
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,;") + "…"


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading of a page: its text and level, how tall its lines are, which block it is, and the box of its lines."""

    text: str
    level: int
    height: float
    position: int
    box: Box

    def continues(self, above: _Heading) -> bool:
        """Return whether it is right below another one and not larger; what begins a section with its number is not."""
        below = self.box.top > (above.box.top + above.box.bottom) / 2 and _ALIKE * self.height <= above.height
        beside = self.box.x0 >= above.box.x1 or above.box.x0 >= self.box.x1
        return self.position == above.position + 1 and below and not beside and not _NUMBERED.match(self.text)


def _headings(page: Page) -> Iterator[_Heading]:
    """Yield the headings of a page that may be a title; on a picture of a page also what is taken for a header."""
    kinds = (BlockKind.HEADING, BlockKind.HEADER) if page.source == "ocr" else (BlockKind.HEADING,)
    for position, block in enumerate(page.blocks):
        text = page.text[block.start : block.end]
        boxes = [x.box for x in page.lines if block.start <= x.start and x.end <= block.end]
        if block.kind in kinds and boxes and 2 < len(text) <= _MAX_LENGTH and not _SECTION.match(text):
            height = sum(one.bottom - one.top for one in boxes) / len(boxes)
            sides = (min(one.x0 for one in boxes), min(one.top for one in boxes), max(one.x1 for one in boxes))
            yield _Heading(text, block.level, height, position, Box(*sides, max(one.bottom for one in boxes)))


def _largest(page: Page) -> str:
    """Return the tallest headings of a page that follow each other, as one line; empty where it has none.

    It is the first one that is about as tall where several parts of the page have headings of that type, and on a
    picture of a page, where sizes are estimated.
    """
    found = list(_headings(page))
    if not found:
        return ""
    last = max(found, key=lambda one: one.height)
    tall = [one for one in found if one.height > _SAME_HEIGHT * last.height]
    alike = [one for one in tall if one.height > _ALIKE * last.height]
    if page.source == "ocr" or any(not after.continues(one) for one, after in pairwise(alike)):
        last = tall[0]
    title = last.text
    for one in tall:
        if one.level == 1 and one.continues(last) and len(title) + len(one.text) < _JOINED_LENGTH:
            title, last = f"{title} {one.text}", one
    others = [one for one in tall if one.text not in title]
    if len(title) <= _SHORT_TITLE and others:  # such as the name of a company: what is it that it publishes?
        other = max(others, key=lambda one: (one.height, -one.position))
        title = f"{other.text} {title}" if other.position < last.position else f"{title} {other.text}"
    return title


# ----------------------------------------------------------------------------------------------------
# The authors that a first page prints below its title; nothing where it is not plain that they are authors.
#
# Names alone are no sign: "New York" and "Annual Report" look the same. There has to be a label ("By …"), or below
# the names an address, a university or an abstract.

MOST = 12  # names
LOOKED_AT = 8  # blocks of the page
LONG = 40  # words: from here on it is the text itself
_SURE = 2  # names that an abstract below is enough for

_LABEL = re.compile(r"^(?:written by|by|authors?|von|autor(?:en|in|innen)?)(?:\s*:\s*|\s+)(?=\S)", re.IGNORECASE)
_MAIL = re.compile(r"\S*[{(]?[\w.,\s-]*[)}]?@\S+")
_MARKS = re.compile(r"[\d*†‡§¶∗⋆#ª°¹²³⁰-⁹]+(?:\s*,\s*[\d*†‡§¶∗⋆#¹²³⁰-⁹]+)*|\((?:[^()]{0,40})\)")
_BETWEEN = re.compile(r"\s*(?:[;,&·•|\n]|\band\b|\bund\b)\s*")
_INITIAL = r"[^\W\d_a-zß-ÿ]\."
_CAPITAL = r"[^\W\d_a-zß-ÿ](?:[^\W\d_]|['’-](?=[^\W\d_]))+"
_SMALL = r"(?:van|von|de|der|den|del|della|di|da|dos|la|le|el|al|bin|ibn|ter|ten|zu|zur)"
_NAME = re.compile(rf"(?:{_CAPITAL}|{_INITIAL})(?:[ -]?(?:{_INITIAL}|{_SMALL}|{_CAPITAL})){{0,3}} {_CAPITAL}")
_HOME = re.compile(
    r"@|\b(?:universit|universidad|institut|department|dept\b|laborator|hochschule|college\b|school of|faculty|fakult|"
    r"research cent|academy|inria|cnrs|orcid)",
    re.IGNORECASE,
)
_ABSTRACT = re.compile(r"^(?:abstract|summary|zusammenfassung|kurzfassung|r[ée]sum[ée])\b", re.IGNORECASE)
_NO_NAME = frozenset(
    """abstract academy agreement analysis and annual association bank board bureau business center centre chapter
    city college commission committee company congress contents corporation council county data department design
    division document draft edition electronics engineering executive faculty final financial first form foundation
    general government group guide handbook health higher inc institute international introduction january february
    march april may june july august september october november december journal kingdom laboratory limited llc ltd
    manual management ministry monitoring monday tuesday wednesday thursday friday saturday sunday national new
    north office page overview part plan policy press proceedings program project public published quarterly report
    research review revised school science sciences second section securities security south state states street
    studies study summary systems table technical technology the third united university version volume west winter
    working works world your""".split()
)


def authors_on(page: Page, title: str = "") -> str:
    """Return the authors that a page prints below the document's title, parted by "; "; empty where none is plain."""
    blocks = [block for block in page.blocks if block.kind in READABLE][:LOOKED_AT]
    texts = [page.text[block.start : block.end].strip() for block in blocks]
    titled = set(terms(title))
    for place, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        if _ABSTRACT.match(text) or len(text.split()) > LONG:
            return ""
        label = _LABEL.match(text)
        names = _names(text[label.end() :] if label else text)
        if not names or set(terms(text)) <= titled:
            continue
        below = texts[place + 1 : place + 4]
        home = _HOME.search(text) is not None or any(_HOME.search(one) for one in below[:2] if len(one.split()) <= LONG)
        summed_up = len(names) >= _SURE and any(_ABSTRACT.match(one) for one in below)
        if label or summed_up or (home and (len(names) >= _SURE or block.kind is not BlockKind.HEADING)):
            return "; ".join(names[:MOST])
    return ""


def _names(text: str) -> list[str]:
    """Return the names that a text consists of; none where anything else stands in it but addresses and marks."""
    lines = [line for line in text.splitlines() if not _HOME.search(_MAIL.sub("", line))]
    plain = _MARKS.sub(" ", "\n".join(_MAIL.sub("", line) for line in lines))
    parts = [" ".join(part.split()) for part in _BETWEEN.split(plain)]
    found = [part.strip(" .") for part in parts if part.strip(" .,")]
    known = all(_NAME.fullmatch(part) and not _NO_NAME & {word.casefold() for word in part.split()} for part in found)
    return list(dict.fromkeys(found)) if known else []


# ----------------------------------------------------------------------------------------------------
# A PDF's bookmarks (its outline), and which lines of a page they name.

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
