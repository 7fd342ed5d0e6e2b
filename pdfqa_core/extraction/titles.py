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
_MAX_LENGTH = 200


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
    """Return the page's highest heading, the text with the tallest lines first; empty where it has none."""
    best, tallest = "", 0.0
    for block in page.blocks:
        if block.kind is not BlockKind.HEADING:
            continue
        text = page.text[block.start : block.end]
        heights = [x.box.bottom - x.box.top for x in page.lines if block.start <= x.start and x.end <= block.end]
        height = sum(heights) / max(1, len(heights))
        if height > 1.05 * tallest and 2 < len(text) <= _MAX_LENGTH:
            best, tallest = text, height
    return best
