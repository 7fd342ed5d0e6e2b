"""Passages spread over a document, to summarise it by: its abstract or beginning, ends of sections, its conclusion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pdfqa_core.chunking.sections import SHORTEST, Piece, Section, Taken, outline, pieces_of, sections
from pdfqa_core.languages import ENGLISH
from pdfqa_core.text import sentences, words
from pdfqa_core.types import BlockKind, Page, Passage

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
    """Return the section in the first third of a document that sums it up; None where there is none."""
    first = max((page.number for page in pages), default=0) / 3
    found = (one for one in sections(pages, language) if _ABSTRACT.match(one.heading) and _says(one))
    return next((one for one in found if one.pieces[0].page.number <= max(2, first)), None)


def conclusion(pages: Sequence[Page], language: str = ENGLISH) -> Section | None:
    """Return the last section in the second half of a document that concludes it; None where there is none.

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
