"""The title of a document: its metadata where that is sensible, else its largest heading, else its file name."""

from __future__ import annotations

import re

from pdfqa_core.types import BlockKind, Page

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
_MAX_LENGTH = 200
_JOINED_LENGTH = 120
_SAME_HEIGHT = 0.6  # of the tallest heading: from here on another large heading right below is part of the title


def sensible(title: str) -> bool:
    """Return whether a title from a PDF's metadata says what the document is."""
    return 2 < len(title) <= _MAX_LENGTH and _POOR.match(title) is None and "\ufffd" not in title


def choose_title(metadata: str, pages: tuple[Page, ...], stem: str) -> str:
    """Return a title from the metadata's, the first page's largest text and the file's stem."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in metadata).split())
    plain = _OFFICE.sub("", plain)
    if sensible(plain):
        return plain
    return (_largest(pages[0]) if pages else "") or stem


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
    return title
