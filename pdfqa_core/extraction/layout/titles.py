"""The title of a document: its metadata where that is sensible, else its largest heading, else its file name.

The authors come from the metadata only, where they name persons or an organisation rather than an account or a program.
"""

from __future__ import annotations

import re

from pdfqa_core.types import READABLE, BlockKind, Page

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


def _largest(page: Page) -> str:
    """Return the tallest headings of a page that follow each other, as one line; empty where it has none."""
    found: list[tuple[float, int, str, int]] = []
    for position, block in enumerate(page.blocks):
        text = page.text[block.start : block.end]
        if block.kind is BlockKind.HEADING and 2 < len(text) <= _MAX_LENGTH and not _SECTION.match(text):
            heights = [x.box.bottom - x.box.top for x in page.lines if block.start <= x.start and x.end <= block.end]
            found.append((sum(heights) / max(1, len(heights)), position, text, block.level))
    if not found:
        return ""
    tallest, at, title, _ = max(found, key=lambda entry: entry[0])
    for height, position, text, level in found:
        follows = position == at + 1 and level == 1 and height > _SAME_HEIGHT * tallest
        if follows and len(title) + len(text) < _JOINED_LENGTH:
            title, at = f"{title} {text}", position
    others = [entry for entry in found if entry[2] not in title and entry[0] > _SAME_HEIGHT * tallest]
    if len(title) <= _SHORT_TITLE and others:  # such as the name of a company: what is it that it publishes?
        height, position, text, _ = max(others, key=lambda entry: (entry[0], -entry[1]))
        title = f"{text} {title}" if position < at else f"{title} {text}"
    return title
