"""The running text of a document as one stream of atoms (words, or the words' parts), across page borders.

A passage is a range of atoms. Where the stream is interrupted (a new page; a header, table or hidden text in between)
the passage gets another span; its text is the spans' texts joined by `JOINER`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from pdfqa_core.chunking.sections import SHORTEST, Piece, Section, Taken, outline, pieces_of, sections
from pdfqa_core.chunking.tables import captions_of, is_table
from pdfqa_core.errors import UsageError
from pdfqa_core.languages import ENGLISH
from pdfqa_core.text import JOINER, sentences, words
from pdfqa_core.types import READABLE, Block, BlockKind, Page, Passage, Span, passage_id

# ----------------------------------------------------------------------------------------------------
# Passages spread over a document, to summarise it by: its abstract or beginning, ends of sections, its conclusion.

MOST = 7  # passages
LONGEST = 75  # words of a passage; the abstract and the beginning may have twice as many
ENDS = 2  # sentences at the end of a section
SEVERAL = 2  # conclusions: with more of them each concludes a part only

_NUMBER = r"^(?:(?:section|chapter|kapitel|abschnitt)\s+)?(?:[\dIVX]+(?:\.\d+)*[.):]?\s+)?"
_ABSTRACT = re.compile(
    _NUMBER
    + r"(?:abstract|(?:executive |management )?summary|(?:the )?\w+ (?:in brief|at a glance)|in brief|key (?:points|"
    r"findings|messages)|highlights|zusammenfassung|kurzfassung|überblick|r[ée]sum[ée]|resumen|synopsis)\W*$",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    _NUMBER + r"(?:(?:summary|discussion|results?) and )?(?:conclu\w+|summary|outlook|closing remarks|fazit|schluss\w*|"
    r"zusammenfassung|ausblick|recommendations|next steps)(?: and [\w ]+)?\W*$",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    _NUMBER + r"(?:references|bibliography|literatur\w*|acknowledge?ments?|danksagung\w*|index|stichwort\w*|glossary|"
    r"glossar|appendi\w+|anhang|further reading|about the authors?|abbreviations|(?:table of )?contents|signatures?)\b",
    re.IGNORECASE,
)
# Sections of what is not: a sentence or an item of them, on its own, says the opposite.
_NOT = re.compile(
    _NUMBER + r"(?:(?:what|which)\b.*\bnot\b|.*\b(?:not covered|not included|exclu(?:sions?|ded))\b|ausschl[uü]\w+)",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"all rights reserved|warrant(?:y|ies)\b|copyright|©|does not (?:necessarily )?reflect the (?:opinions|views)|"
    r"for (?:demonstration|illustration) purposes|alle rechte vorbehalten",
    re.IGNORECASE,
)


def is_aside(heading: str) -> bool:
    """Whether a heading is that of what stands behind the text: references, a glossary, appendices."""
    return _ASIDE.match(heading) is not None


def abstract(pages: Sequence[Page], language: str = ENGLISH) -> Section | None:
    """Return the section in the first third of a document that sums it up, or None."""
    first = max((page.number for page in pages), default=0) / 3
    found = (one for one in sections(pages, language) if _ABSTRACT.match(one.heading) and _says(one))
    return next((one for one in found if one.pieces[0].page.number <= max(2, first)), None)


def conclusion(pages: Sequence[Page], language: str = ENGLISH) -> Section | None:
    """Return the last section in the second half of a document that concludes it, or None.

    Where there are several, each concludes its chapter, unless it is one of the top sections.
    """
    half = max((page.number for page in pages), default=0) / 2
    found = [one for one in sections(pages, language) if _CONCLUSION.match(one.heading) and _says(one)]
    if len(found) > SEVERAL:
        found = [one for one in outline(pages, language) if one in found]
    return next((one for one in reversed(found) if one.pieces[0].page.number > half), None)


def spread(
    pages: Sequence[Page], title: str, most: int = MOST, longest: int = LONGEST, *, language: str = ENGLISH
) -> list[Passage]:
    """Return at most `most` passages of about `longest` words in the order of the document; none is twice in it.

    Of the sections beside abstract, beginning and conclusion the longest are taken: how each begins, and how it ends.
    Tables, what stands behind the text (references, glossary, …) and sections of what is not covered are left out.
    """
    top = [one for one in outline(pages, language) if not _left_out(one.heading) and _says(one)]
    top = top or [Section(title, tuple(pieces_of(pages)), language)]
    opens, closes = abstract(pages, language), conclusion(pages, language)
    made = [_head(opens or top[0], 2 * longest)]
    if closes is not None and closes != opens:
        made.append(_head(closes, longest))
    others = [one for one in top if not {opens, closes} & {one} and (opens is not None or one is not top[0])]
    chosen = sorted(others, key=lambda one: -one.length)[: max(0, most - len(made))]
    made += [_ends(one, longest) for one in others if one in chosen]
    taken: set[tuple[int, int]] = set()
    passages = []
    for one in made:
        spans = [(span.page, span.start) for span in one.spans]
        if spans and not taken & set(spans):
            taken |= set(spans)
            passages.append(one.passage("spread", title, language))
    return sorted(passages, key=lambda passage: (passage.spans[0].page, passage.spans[0].start))


def _left_out(heading: str) -> bool:
    return is_aside(heading) or _NOT.match(heading) is not None


def head(section: Section, title: str, longest: int = 2 * LONGEST) -> Passage:
    """Return the first sentences of a section, about `longest` words, as a passage."""
    return _head(section, longest).passage("spread", title, section.language)


def _head(section: Section, room: int) -> Taken:
    """Return the first sentences of a section."""
    taken = Taken(section.heading, room)
    for piece, start, end in _sentences(section):
        if not taken.add(piece, start, end):
            break
    return taken


def _ends(section: Section, room: int) -> Taken:
    """Return the first sentence of a section and its last ones."""
    found = list(_sentences(section))
    taken = Taken(section.heading, room)
    for piece, start, end in (*found[:1], *found[max(1, len(found) - ENDS) :]):
        taken.add(piece, start, end)
    return taken


def _sentences(section: Section) -> Iterator[tuple[Piece, int, int]]:
    """Yield the sentences of a section's paragraphs and lists that say something, each with its place in its piece.

    Disclaimers say nothing about the document.
    """
    for piece in section.pieces:
        if piece.block.kind in (BlockKind.TEXT, BlockKind.LIST) and not _LEGAL.search(piece.text):
            for start, end in sentences(piece.text, section.language):
                if len(words(piece.text[start:end])) >= SHORTEST:
                    yield piece, start, end


def _says(section: Section) -> bool:
    return next(_sentences(section), None) is not None


# ----------------------------------------------------------------------------------------------------
# The running text of a document as one stream of atoms (words, or the words' parts), across page borders.

# A run of characters without white space that is longer than this counts as several words.
LONGEST_WORD = 100

Tokenize = Callable[[str], list[tuple[int, int]]]

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
# What stands at the edge of a page and may part a sentence that goes on after it.
_ASIDES = frozenset({BlockKind.FOOTNOTE, BlockKind.CAPTION, BlockKind.TABLE})
_ENDS_SENTENCE = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*$")


class BlockPart(NamedTuple):
    """A readable block, or what is left of it: characters `start` to `end` of page `page` (index, not number).

    Parts of one `stretch` are parted by white space only.
    """

    page: int
    start: int
    end: int
    kind: BlockKind
    stretch: int


class Atom(NamedTuple):
    """The smallest thing that a passage holds: characters of a page, their part, their length in words or tokens."""

    part: int
    start: int
    end: int
    weight: int


def readable_parts(pages: Sequence[Page], *, tables: bool = False) -> list[BlockPart]:
    """Return the readable blocks of all pages in order, without the parts that a skipped or earlier block covers.

    Without `tables`, tables and their captions are left out: they are passages of their own. A page that has text but
    no blocks is split at blank lines. Notes, captions and the like come after the sentence that they interrupt at a
    page's end.
    """
    found: list[BlockPart] = []
    stretch = -1
    for index, page in enumerate(pages):
        blocks = page.blocks or _blocks_by_blank_lines(page.text)
        apart = set() if tables else {b for b in blocks if is_table(page, b)}
        if apart:
            apart.update(captions_of(page).values())
        running = [b for b in blocks if b.kind in READABLE and b not in apart]
        skipped = sorted((b.start, b.end) for b in blocks if b.kind not in READABLE)
        reached = -1
        for block in sorted(running, key=lambda b: (b.start, b.end)):
            for start, end in _without(max(block.start, reached, 0), min(block.end, len(page.text)), skipped):
                if not page.text[start:end].strip():
                    continue
                if reached < 0 or page.text[reached:start].strip():
                    stretch += 1
                found.append(BlockPart(index, start, end, block.kind, stretch))
                reached = end
    return _asides_after_sentences(pages, found)


def _asides_after_sentences(pages: Sequence[Page], parts: list[BlockPart]) -> list[BlockPart]:
    """Return the parts, those that stand in a sentence broken by a page's end moved behind its other half."""
    found: list[BlockPart] = []
    waiting: list[BlockPart] = []
    for part in parts:
        if part.kind in _ASIDES:
            waiting.append(part)
            continue
        if found and waiting and _goes_on(pages, found[-1], part):
            found.append(part)
            # a stretch of its own each: what stood before and after is no longer beside it
            found += [aside._replace(stretch=-len(found) - n) for n, aside in enumerate(waiting, 1)]
        else:
            found += waiting
            found.append(part)
        waiting = []
    return found + waiting


def _goes_on(pages: Sequence[Page], before: BlockPart, here: BlockPart) -> bool:
    """Return whether a part on another page, or behind a margin, goes on with the sentence of an earlier one."""
    if before.stretch == here.stretch or BlockKind.HEADING in (before.kind, here.kind):
        return False
    if (before.kind in _ASIDES) != (here.kind in _ASIDES):
        return False
    fresh, broken = (pages[p.page].text[p.start : p.end] for p in (here, before))
    return fresh.lstrip()[:1].islower() and not _ENDS_SENTENCE.search(broken.rstrip())


def _blocks_by_blank_lines(text: str) -> tuple[Block, ...]:
    edges = [0, *(place for match in _BLANK_LINE.finditer(text) for place in match.span()), len(text)]
    return tuple(Block(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True))


def _without(start: int, end: int, holes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in holes:
        if last <= start or first >= end:
            continue
        if first > start:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


def _atoms(text: str, tokenize: Tokenize | None, longest: int) -> Iterator[tuple[int, int, int]]:
    if tokenize is None:
        for start, end in words(text):
            for first in range(start, end, LONGEST_WORD):
                yield first, min(end, first + LONGEST_WORD), 1
        return
    tokens = tokenize(text)
    starts = [start for start, _ in tokens]
    for start, end in words(text):
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        if last - first <= longest:
            yield start, end, last - first
            continue
        # A word with more tokens than a passage may hold (a script without spaces, a long address): one atom a token.
        edges = sorted({start, *(s for s in starts[first + 1 : last]), end})
        for left, right in pairwise(edges):
            yield left, right, 1


@dataclass(frozen=True)
class Stream:
    """All atoms of one document, with what is needed to turn a range of them into a passage."""

    pages: tuple[Page, ...]
    parts: tuple[BlockPart, ...]
    atoms: tuple[Atom, ...]
    language: str = ENGLISH

    @classmethod
    def of(
        cls,
        pages: Sequence[Page],
        tokenize: Tokenize | None = None,
        longest: int = 1,
        language: str = ENGLISH,
        *,
        tables: bool = False,
    ) -> Stream:
        """Return the stream of one document's pages; words of more than `longest` tokens are cut at tokens.

        `tables`: they stand in it, rows in Markdown; else they are left out.

        Raises UsageError if the pages belong to more than one document.
        """
        ids = {page.document_id for page in pages}
        if len(ids) > 1:
            raise UsageError(f"A passage never crosses documents, but the pages are of {len(ids)}.")
        parts = readable_parts(pages, tables=tables)
        atoms = [
            Atom(number, part.start + start, part.start + end, weight)
            for number, part in enumerate(parts)
            for start, end, weight in _atoms(pages[part.page].text[part.start : part.end], tokenize, longest)
        ]
        return cls(tuple(pages), tuple(parts), tuple(atoms), language)

    @cached_property
    def texts(self) -> dict[int, str]:
        """The text of each page by its number."""
        return {page.number: page.text for page in self.pages}

    @cached_property
    def offsets(self) -> list[int]:
        """Length of the text before each atom, and of all text at the end: n + 1 ascending numbers."""
        return [0, *accumulate(atom.weight for atom in self.atoms)]

    def length(self, first: int, last: int) -> int:
        """Return the length of the atoms `first` to `last` (exclusive)."""
        return self.offsets[last] - self.offsets[first]

    def fit(self, first: int, length: int) -> int:
        """Return the `last` that makes the longest range from `first` of at most `length`, of one atom at least."""
        last = bisect_left(self.offsets, self.offsets[first] + length + 1) - 1
        return min(len(self.atoms), max(first + 1, last))

    def continues(self, number: int) -> bool:
        """Return whether a part goes on with the sentence that the part before it broke off (at a page's end)."""
        return number > 0 and _goes_on(self.pages, self.parts[number - 1], self.parts[number])

    @cached_property
    def sentence_ends(self) -> list[int]:
        """Ascending numbers of the atoms before which a sentence ends; a heading does not count as a sentence."""
        texts: list[str] = []
        starts: list[int] = []
        size = 0
        for number, part in enumerate(self.parts):
            if number:
                texts.append(" " if self.continues(number) else JOINER)
                size += len(texts[-1])
            starts.append(size)
            texts.append(self.pages[part.page].text[part.start : part.end])
            size += len(texts[-1])
        places = [starts[a.part] + a.end - self.parts[a.part].start for a in self.atoms]
        ends = []
        for _, end in sentences("".join(texts), self.language):
            index = bisect_left(places, end)
            if index == len(places) or places[index] != end:
                continue
            if self.parts[self.atoms[index].part].kind is not BlockKind.HEADING:
                ends.append(index + 1)
        return ends

    def spans(self, first: int, last: int) -> tuple[Span, ...]:
        """Return one span per contiguous stretch of the atoms `first` to `last` (exclusive)."""
        found: list[Span] = []
        stretch = None
        for atom in self.atoms[first:last]:
            part = self.parts[atom.part]
            page = self.pages[part.page]
            start = found.pop().start if part.stretch == stretch else atom.start
            found.append(Span(page.document_id, page.number, start, atom.end))
            stretch = part.stretch
        return tuple(found)

    def passage(self, recipe: str, first: int, last: int) -> Passage:
        """Return the passage of the atoms `first` to `last` (exclusive)."""
        spans = self.spans(first, last)
        text = JOINER.join(self.texts[span.page][span.start : span.end] for span in spans)
        return Passage(passage_id(recipe, spans), spans, text, language=self.language)


def cut(stream: Stream, first: int, last: int, shortest: int | None, longest: int) -> list[tuple[int, int]]:
    """Return the atoms `first` to `last` cut into ranges of at most `longest`.

    Where `shortest` is set, a range ends at the last sentence end that leaves it that long; without one it is full.
    """
    found = []
    while first < last:
        end = min(last, stream.fit(first, longest))
        if shortest is not None and end < last:
            earliest = bisect_left(stream.offsets, stream.offsets[first] + shortest)
            place = bisect_right(stream.sentence_ends, end) - 1
            if place >= 0 and stream.sentence_ends[place] >= max(earliest, first + 1):
                end = stream.sentence_ends[place]
        found.append((first, end))
        first = end
    return found
