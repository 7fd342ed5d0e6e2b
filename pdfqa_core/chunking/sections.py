"""The sections of a document as its headings divide it, and the opening of each: headings with first sentences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pdfqa_core.languages import ENGLISH
from pdfqa_core.text import JOINER, sentences, terms, words
from pdfqa_core.types import Block, BlockKind, Page, Passage, Span, passage_id

LONGEST_OPENING = 110  # words of an opening
LONGEST_PART = 120  # words of a part
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
    language: str = ENGLISH

    @property
    def length(self) -> int:
        """The number of words."""
        return sum(len(words(piece.text)) for piece in self.pieces)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Where its pieces stand, in order."""
        return tuple(piece.span() for piece in self.pieces)


def sections(pages: Sequence[Page], language: str = ENGLISH) -> tuple[Section, ...]:
    """Return all sections of a document in reading order, a lower one after the one it belongs to."""
    pieces = pieces_of(pages)
    found = []
    for first, piece in enumerate(pieces):
        if piece.is_heading:
            level = _level(piece)
            last = next((n for n in range(first + 1, len(pieces)) if _ends(pieces[n], level)), len(pieces))
            found.append(Section(_heading(piece), tuple(pieces[first:last]), language))
    return tuple(found)


def is_contents(heading: str) -> bool:
    """Whether a heading is that of a table of contents."""
    return _CONTENTS.match(heading) is not None


def is_numbered(heading: str) -> bool:
    """Whether a heading is that of a numbered part ("Item 2."), which counts as higher than others of its level."""
    return _NUMBERED.match(heading) is not None


def outline(pages: Sequence[Page], language: str = ENGLISH) -> tuple[Section, ...]:
    """Return the top sections that have text, in reading order.

    The top level is the highest one on which no section holds more than half of the document. A document without
    headings is cut at its pages.
    """
    pieces = pieces_of(pages)
    total = sum(len(words(piece.text)) for piece in pieces)
    best: list[Section] = []
    for level in sorted({_level(piece) for piece in pieces if piece.is_heading}):
        made = [section for section in _divided(pieces, level, language) if _says(section)]
        if len(made) > len(best):
            best = made
        if len(made) > 1 and max(section.length for section in made) <= WHOLE * total:
            break
    if len(best) < 2 and len(pages) > 1:
        best = [Section(f"Page {page.number}", tuple(pieces_of([page])), language) for page in pages]
        best = [section for section in best if _says(section)]
    return tuple(best)


def opening(section: Section, title: str) -> Passage:
    """Return how a section opens: its first sentences, then each lower heading with its first one, while they fit.

    Where they do not, further lower headings alone. Equal headings and sentences are taken once; where that is little,
    the section's beginning is taken instead.
    """
    taken = _firsts(section)
    if taken.room > LONGEST_OPENING // 2:
        taken = Taken(section.heading, LONGEST_OPENING)
        for piece in section.pieces:
            for start, end in [(0, len(piece.text))] if piece.is_heading else sentences(piece.text, section.language):
                taken.add(piece, start, end)
    if not taken.spans:
        taken.add(section.pieces[0], 0, len(section.pieces[0].text), spare=len(section.pieces[0].text))
    return taken.passage("opening", title, section.language)


def _firsts(section: Section) -> Taken:
    """Return the first sentence, each lower heading and the first sentence below it."""
    taken = Taken(section.heading, LONGEST_OPENING)
    opens = True
    for piece in section.pieces:
        if piece.is_heading:
            opens = not is_contents(piece.text)
            if opens:
                taken.add(piece, 0, len(piece.text), spare=MORE_HEADINGS)
        elif opens:
            opens = False
            taken.add(piece, *_first_sentence(piece.text, section.language))
    return taken


def parts(section: Section, title: str, longest: int = LONGEST_PART) -> list[Passage]:
    """Return the whole section as passages of at most `longest` words: whole blocks, a longer one cut at sentences."""
    found: list[Taken] = []
    for piece in section.pieces:
        bounds = [(0, len(piece.text))]
        if len(words(piece.text)) > longest:
            bounds = sentences(piece.text, section.language)
        for start, end in bounds:
            if not found or not found[-1].add(piece, start, end):
                found.append(Taken("", longest))
                found[-1].add(piece, start, end, spare=len(piece.text))
    named = (replace(one, heading=section.heading) for one in found if one.spans)
    return [one.passage("section", title, section.language) for one in named]


@dataclass
class Taken:
    """Pieces of a section that become a passage of at most `room` words; none is taken twice, nor the `heading`."""

    heading: str
    room: int
    spans: list[Span] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen = {tuple(terms(self.heading))}

    def add(self, piece: Piece, start: int, end: int, spare: int = 0) -> bool:
        """Take `piece.text[start:end]` where there is room, with `spare` words more; return whether there was."""
        text = piece.text[start:end]
        key, length = tuple(terms(_own(text, self.heading))), len(words(text))
        if length > self.room + spare:
            return False
        if key and key not in self._seen:
            self._seen.add(key)
            self.room -= length
            self.spans.append(piece.span(start, end))
            self.texts.append(text)
        return True

    def passage(self, recipe: str, title: str, language: str) -> Passage:
        """Return it as a passage that stands under the document's title and the section's heading."""
        both = [title] if self.heading.casefold() == title.casefold() else [title, self.heading]
        heading = ": ".join(part for part in both if part)
        return Passage(passage_id(recipe, self.spans), tuple(self.spans), JOINER.join(self.texts), heading, language)


def pieces_of(pages: Sequence[Page]) -> list[Piece]:
    """Return the blocks of the pages that are read: headings, paragraphs, lists, tables and captions."""
    kinds = (BlockKind.HEADING, BlockKind.TEXT, BlockKind.LIST, BlockKind.TABLE, BlockKind.CAPTION)
    ordered = sorted(pages, key=lambda page: page.number)
    return [Piece(page, block) for page in ordered for block in page.blocks if block.kind in kinds]


def _divided(pieces: Sequence[Piece], level: float, language: str) -> list[Section]:
    """Return the pieces divided at the headings of this level and above; what stands before the first is left out."""
    starts = [n for n, piece in enumerate(pieces) if piece.is_heading and _level(piece) <= level]
    ends = [*starts[1:], len(pieces)]
    return [Section(_heading(pieces[a]), tuple(pieces[a:b]), language) for a, b in zip(starts, ends, strict=False)]


def _level(piece: Piece) -> float:
    return piece.block.level - (0.5 if is_numbered(piece.text) else 0)


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
    if is_contents(section.heading):
        return False
    return any(
        not piece.is_heading
        and len(words(piece.text[slice(*_first_sentence(piece.text, section.language))])) >= SHORTEST
        for piece in section.pieces
    )


def _first_sentence(text: str, language: str) -> tuple[int, int]:
    """Return where the first sentence of some words stands; of a table the row of its header."""
    bounds = sentences(text, language)
    long = [(a, b) for a, b in bounds if len(words(text[a:b])) >= SHORTEST]
    whole = [(a, b) for a, b in long if text[a:b].rstrip("”\"')").endswith((".", "!", "?"))]
    return next(iter((*whole, *long, *bounds)), (0, 0))


# ----------------------------------------------------------------------------------------------------
# A document's table of contents, made of the headings that were found in it, and what of a long one is shown first.

MOST = 40  # entries that are shown first
LEAST = 3  # with fewer the next level is shown too
LONGEST = 120  # characters of a heading
SENTENCE = 5  # words: a longer one with a full stop is no heading
GENERIC = 3  # times: a heading as frequent ("Tips:", "Position summary") says nothing about its place …
NEAR = 8  # … unless its pages are as near to each other: then it runs on, and its first place counts

_LETTERS = re.compile(r"[^\W\d_]")
_DATE = re.compile(r"^(?:[^\W\d]+\.? )?\d{1,2}(?:st|nd|rd|th)?[.,]? (?:[^\W\d]+ )?\d{4}$|^[^\W\d]+ \d{4}$")
_PLACE = re.compile(r"\s(\d{1,4})$")  # of the page to which a line of a printed table of contents leads


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """A line of a table of contents: its level (1 is the highest), its title, the 1-based page that it leads to."""

    level: int
    title: str
    page: int


def contents(pages: Sequence[Page], title: str = "") -> tuple[ContentsEntry, ...]:
    """Return the headings of a document in reading order, without its `title` and without those that say nothing."""
    found: list[tuple[float, str, int]] = []
    for page in sorted(pages, key=lambda one: one.number):
        for block in page.blocks:
            text = " ".join(page.text[block.start : block.end].split())
            if block.kind is BlockKind.HEADING and _names(text, page.number, len(pages)):
                level = block.level - (0.5 if is_numbered(text) else 0)
                found.append((level, text, page.number))
    named = set(terms(title))
    found = [one for one in found if one[2] > LEAST or not set(terms(one[1])) <= named]
    found = _once(found)
    order = {level: place for place, level in enumerate(sorted({level for level, _, _ in found}), start=1)}
    entries = [ContentsEntry(order[level], text, number) for level, text, number in found]
    return _without_echoes(entries)


def shown_first(entries: Sequence[ContentsEntry]) -> tuple[ContentsEntry, ...]:
    """Return the entries of the highest levels, at most MOST where that leaves LEAST; all of a short table."""
    levels = sorted({entry.level for entry in entries})
    shown: tuple[ContentsEntry, ...] = ()
    for level in levels:
        deeper = tuple(entry for entry in entries if entry.level <= level)
        if len(deeper) > MOST and len(shown) >= LEAST:
            break
        shown = deeper
    return shown


def levelled(entries: Sequence[ContentsEntry]) -> tuple[ContentsEntry, ...]:
    """Return the entries with levels from 1 on, as they are drawn in: none is more than one below the one before it."""
    above: list[int] = []
    found = []
    for entry in entries:
        while above and above[-1] >= entry.level:
            above.pop()
        above.append(entry.level)
        found.append(replace(entry, level=len(above)))
    return tuple(found)


def _names(text: str, number: int, count: int) -> bool:
    """Whether a heading of page `number` names something: words, no sign, no line of a printed table of contents."""
    leads = _PLACE.search(text)
    if leads and number < int(leads[1]) <= count:
        return False
    opens = text[:1].isalnum() or text[:1] in "“‘\"'(§¿¡[«"
    sentence = text.endswith(".") and len(text.split()) > SENTENCE
    named = opens and len(text) <= LONGEST and len(_LETTERS.findall(text)) > 1 and not sentence
    return named and not is_contents(text) and _DATE.match(text) is None


def _once(found: Sequence[tuple[float, str, int]]) -> list[tuple[float, str, int]]:
    """Return the headings (level, text, page) without those that are frequent; of one that runs on the first."""
    places: dict[tuple[str, ...], list[tuple[float, int]]] = defaultdict(list)
    for level, text, number in found:
        places[tuple(terms(text))].append((level, number))
    kept, seen = [], set()
    for level, text, number in found:
        key = tuple(terms(text))
        own = places[key]
        if len(own) < GENERIC:
            kept.append((level, text, number))
        elif own[-1][1] - own[0][1] <= NEAR and key not in seen:
            kept.append((min(one for one, _ in own), text, number))
        seen.add(key)
    return kept


def _without_echoes(entries: Sequence[ContentsEntry]) -> tuple[ContentsEntry, ...]:
    """Return the entries without those that only repeat the one before, whole or behind the one above it.

    "COSTS: Copays" below "Copays" does; so does a running title.
    """
    kept = list(entries[:1])
    for before, entry in pairwise(entries):
        own, last = terms(entry.title), terms(before.title)
        echo = bool(last) and own[-len(last) :] == last and entry.level >= before.level
        if not echo:
            kept.append(entry)
    return tuple(kept)
