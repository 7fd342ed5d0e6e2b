"""The sections of a document as its headings divide it, and the opening of each: headings with first sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.text import JOINER, sentences, terms, words
from pdfqa_core.types import Block, BlockKind, Page, Passage, Span, passage_id

MOST = 12  # sections of a summary
LONGEST_OPENING = 110  # words of an opening
MORE_HEADINGS = 40  # words of further headings below it, where there is no room for their sentences
WHOLE = 0.5  # a section with more of the document's words than this is divided further
SHORTEST = 4  # words of a sentence that says something

_CONTENTS = re.compile(r"^(?:\d+\.?\s+)?(?:table of )?contents\W*$|^inhalt\w*\W*$", re.IGNORECASE)
# "Item 2.", "Note 9 –", "Chapter IV": headings that count as higher than others of their level.
_NUMBERED = re.compile(
    r"^(?:part|item|note|chapter|section|article|appendix|schedule|annex|teil|kapitel|abschnitt)\s+"
    r"(?:\d+[A-Za-z]?|[IVXLC]+|[A-Z])\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A block of a page: a heading or some text."""

    page: Page
    block: Block

    @property
    def text(self) -> str:
        """What it says."""
        return self.page.text[self.block.start : self.block.end]

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading."""
        return self.block.kind is BlockKind.HEADING

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """Return the place of `text[start:end]`."""
        last = self.block.end if end is None else self.block.start + end
        return Span(self.page.document_id, self.page.number, self.block.start + start, last)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with everything below it, up to the next heading that is not lower."""

    heading: str
    pieces: tuple[Piece, ...]

    @property
    def length(self) -> int:
        """The number of words."""
        return sum(len(words(piece.text)) for piece in self.pieces)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Where its pieces stand, in order."""
        return tuple(piece.span() for piece in self.pieces)


def sections(pages: Sequence[Page]) -> tuple[Section, ...]:
    """Return all sections of a document in reading order, a lower one after the one it belongs to."""
    pieces = _pieces(pages)
    found = []
    for first, piece in enumerate(pieces):
        if piece.is_heading:
            level = _level(piece)
            last = next((n for n in range(first + 1, len(pieces)) if _ends(pieces[n], level)), len(pieces))
            found.append(Section(_heading(piece), tuple(pieces[first:last])))
    return tuple(found)


def outline(pages: Sequence[Page], most: int = MOST) -> tuple[tuple[Section, ...], int]:
    """Return the top sections that have text, at most `most` of them, and how many there are.

    The top level is the highest one on which no section holds more than half of the document. Of more than `most` the
    longest are returned, in reading order. A document without headings is cut at its pages.
    """
    pieces = [piece for piece in _pieces(pages)]
    total = sum(len(words(piece.text)) for piece in pieces)
    best: list[Section] = []
    for level in sorted({_level(piece) for piece in pieces if piece.is_heading}):
        made = [section for section in _divided(pieces, level) if _says(section)]
        if len(made) > len(best):
            best = made
        if len(made) > 1 and max(section.length for section in made) <= WHOLE * total:
            break
    if len(best) < 2 and len(pages) > 1:
        best = [Section(f"Page {page.number}", tuple(_pieces([page]))) for page in pages]
        best = [section for section in best if _says(section)]
    longest = sorted(range(len(best)), key=lambda n: -best[n].length)[:most]
    return tuple(best[n] for n in sorted(longest)), len(best)


def opening(section: Section, title: str) -> Passage:
    """Return how a section opens: its first sentence, then each lower heading with its first sentence, while they fit.

    Where they do not, further lower headings alone. Equal headings and sentences are taken once.
    """
    parts: list[Span] = []
    texts: list[str] = []
    seen: set[tuple[str, ...]] = {tuple(terms(section.heading))}
    room = LONGEST_OPENING
    for position, piece in enumerate(section.pieces):
        lower = piece.is_heading and position > 0
        if not lower and not (position == 0 or section.pieces[position - 1].is_heading):
            continue  # only what follows a heading opens anything
        start, end = (0, len(piece.text)) if piece.is_heading else _first_sentence(piece.text)
        key = tuple(terms(_own(piece.text[start:end], section.heading)))
        length = len(words(piece.text[start:end]))
        if (piece.is_heading and not lower) or not key or key in seen:
            continue
        if length > room + (MORE_HEADINGS if lower else 0):
            continue
        seen.add(key)
        room -= length
        parts.append(piece.span(start, end))
        texts.append(piece.text[start:end])
    if not texts:
        parts, texts = [section.pieces[0].span()], [section.pieces[0].text]
    heading = section.heading if section.heading.casefold() == title.casefold() else f"{title}: {section.heading}"
    return Passage(passage_id("opening", parts), tuple(parts), JOINER.join(texts), heading if title else section.heading)


def _pieces(pages: Sequence[Page]) -> list[Piece]:
    kinds = (BlockKind.HEADING, BlockKind.TEXT, BlockKind.LIST, BlockKind.TABLE, BlockKind.CAPTION)
    ordered = sorted(pages, key=lambda page: page.number)
    return [Piece(page, block) for page in ordered for block in page.blocks if block.kind in kinds]


def _divided(pieces: Sequence[Piece], level: float) -> list[Section]:
    """Return the pieces divided at the headings of this level and above; what stands before the first is left out."""
    starts = [n for n, piece in enumerate(pieces) if piece.is_heading and _level(piece) <= level]
    ends = [*starts[1:], len(pieces)]
    return [Section(_heading(pieces[a]), tuple(pieces[a:b])) for a, b in zip(starts, ends, strict=False)]


def _level(piece: Piece) -> float:
    return piece.block.level - (0.5 if _NUMBERED.match(piece.text) else 0)


def _ends(piece: Piece, level: float) -> bool:
    return piece.is_heading and _level(piece) <= level


def _heading(piece: Piece) -> str:
    return " ".join(piece.text.split())


def _own(text: str, parent: str) -> str:
    """Return a lower heading without the one above it: "COVERED SERVICES: Acupuncture" is about acupuncture."""
    text = " ".join(text.split())
    return re.sub(rf"^{re.escape(parent)}\s*[:–—-]\s*", "", text, flags=re.IGNORECASE)


def _says(section: Section) -> bool:
    """Whether a section has a sentence, and is no table of contents."""
    if _CONTENTS.match(section.heading):
        return False
    return any(
        not piece.is_heading and len(words(piece.text[slice(*_first_sentence(piece.text))])) >= SHORTEST
        for piece in section.pieces
    )


def _first_sentence(text: str) -> tuple[int, int]:
    """Return where the first sentence of some words stands; of a table the row of its header."""
    bounds = sentences(text)
    return next(((a, b) for a, b in bounds if len(words(text[a:b])) >= SHORTEST), bounds[0] if bounds else (0, 0))
