"""A document's table of contents, made of the headings that were found in it, and what of a long one is shown first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pdfqa_core.chunking.sections import is_contents, is_numbered
from pdfqa_core.text import terms
from pdfqa_core.types import BlockKind, Page

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
