"""Running headers, footers and page numbers, recognised by repetition over the pages of a document.

A line counts when nothing but such lines stands between it and the page's edge, and when its text (digits made alike)
comes back at the same height on other pages, or it is a page number that goes up with the pages. Those numbers are
also the pages' labels, where the file names none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_ZONE = 0.25  # of the page's height, at the top and at the bottom
_MARGIN = 0.12  # of the page's height: further inside, more repetition is asked for
_DEPTH = 4  # rows looked at from each edge
_TOLERANCE = 4.0  # points
_GAP = 0.6  # of the font size: between the innermost running line and the text
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"^(?=[ivxlc])(?:xc|xl|l?x{0,3}|cl?x{0,3})(?:ix|iv|v?i{0,3})$", re.IGNORECASE)
_ROMAN_END = re.compile(r"^[ivxlc]{1,7}(?=[\s|·–—-])|(?<=[\s|·–—-])[ivxlc]{1,7}$")
_ROMAN_DIGITS = frozenset("ivxlc")
_TOKEN = re.compile(r"(?<![\w.,:/])(?:\d{1,5}|[ivxlc]{1,7}|[IVXLC]{1,7})(?!\w|[.,:]\w)")
_NUMBER_WORDS = re.compile(r"\b(?:page|pages|seite|von|of|p)\b|[\s#|/\-–—.,·()\[\]]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A line as it is seen here: its place in its page's list, text, font size and extent down the page in points."""

    index: int
    text: str
    top: float
    bottom: float
    size: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    page: int
    line: EdgeLine
    depth: int  # 0: outermost row
    gap: float  # to the next row inwards
    key: str
    inside: bool  # further from the edge than a margin is wide


def running_lines(
    pages: Sequence[Sequence[EdgeLine]], heights: Sequence[float], labels: Sequence[str]
) -> tuple[list[set[int]], list[set[int]]]:
    """Return for each page the indexes of its running header lines, and of its running footer lines."""
    headers = _edge([sorted(page, key=lambda e: e.top) for page in pages], heights, labels, at_top=True)
    footers = _edge([sorted(page, key=lambda e: -e.bottom) for page in pages], heights, labels, at_top=False)
    footers = [footer - header for header, footer in zip(headers, footers, strict=True)]
    emptied = [
        number
        for number, page in enumerate(pages)
        if len(headers[number] | footers[number]) == len(page) and any(_letters(_key(e.text)) for e in page)
    ]
    if 2 * len(emptied) >= sum(bool(page) for page in pages):  # short pages that are alike, not margins
        for number in emptied:
            worded = {e.index for e in pages[number] if _letters(_key(e.text))}
            headers[number] -= worded
            footers[number] -= worded
    return headers, footers


def _edge(
    pages: list[list[EdgeLine]], heights: Sequence[float], labels: Sequence[str], *, at_top: bool
) -> list[set[int]]:
    candidates = [_candidates(page, lines, heights[page], at_top) for page, lines in enumerate(pages)]
    everything = [c for page in candidates for c in page]
    filled = sum(bool(page) for page in pages)

    def place(candidate: _Candidate) -> float:
        return candidate.line.top if at_top else heights[candidate.page] - candidate.line.bottom

    repeated = _repeated(everything, place, filled)
    numbered = _numbered(everything, place, labels, filled)
    chapters = _chapter_heads(everything, place, filled)
    return [_outer_rows(page, repeated | numbered | chapters) for page in candidates]


def _outer_rows(page: list[_Candidate], running: set[tuple[int, int]]) -> set[int]:
    """Return the running lines of one page with nothing else outside them and a gap inside them."""
    chosen: list[_Candidate] = []
    stopped_at = _DEPTH
    for c in page:
        if c.depth > stopped_at:
            break
        if (c.page, c.line.index) in running:
            chosen.append(c)
        else:
            stopped_at = c.depth
    while chosen and chosen[-1].gap < _GAP * chosen[-1].line.size:
        chosen.pop()
    return {c.line.index for c in chosen}


def _candidates(page: int, lines: list[EdgeLine], height: float, at_top: bool) -> list[_Candidate]:
    """Return the lines in the margin zone of one page, outermost first, with their row's depth."""
    found: list[_Candidate] = []
    depth = -1
    row: EdgeLine | None = None
    for position, line in enumerate(lines):
        inside = line.bottom <= _ZONE * height if at_top else line.top >= (1 - _ZONE) * height
        if not inside and depth > 0:
            break
        if row is None or min(row.bottom, line.bottom) - max(row.top, line.top) < 0.3 * min(row.size, line.size):
            depth += 1
            row = line
        if depth >= _DEPTH or (depth > 0 and not inside):
            break
        inner = next((x for x in lines[position + 1 :] if min(x.bottom, line.bottom) <= max(x.top, line.top)), None)
        gap = height if inner is None else (inner.top - line.bottom if at_top else line.top - inner.bottom)
        deep = line.bottom > _MARGIN * height if at_top else line.top < (1 - _MARGIN) * height
        found.append(_Candidate(page, line, depth, gap, _key(line.text), deep))
    return found


def _key(text: str) -> str:
    text = " ".join(text.split()).casefold()
    if _ROMAN.match(text):
        return "#"
    key = _DIGITS.sub("#", text)
    return _ROMAN_END.sub("#", key) if {key[:1], key[-1:]} & _ROMAN_DIGITS else key


def _repeated(everything: list[_Candidate], place: Callable[[_Candidate], float], filled: int) -> set[tuple[int, int]]:
    """Return lines whose text comes back at the same height on enough pages."""
    groups: dict[str, list[_Candidate]] = defaultdict(list)
    for c in everything:
        groups[c.key].append(c)
    found: set[tuple[int, int]] = set()
    needed = 2 if filled <= 4 else max(3, round(0.25 * filled))
    inside_needed = max(5, round(0.4 * filled))  # also footers that follow the end of the text at any height
    for key, group in groups.items():
        if not any(ch.isalpha() for ch in key) or len(key) > 200:
            continue
        for c in group:
            alike = {other.page for other in group if abs(place(other) - place(c)) <= _TOLERANCE}
            outermost = {other.page for other in group if other.depth == 0} if c.depth == 0 else set()
            if c.inside:
                enough = len(alike) >= inside_needed
            else:
                enough = len(alike) >= needed or _neighbours(c.page, alike) >= 4
            if enough or len(outermost) >= inside_needed:
                found.add((c.page, c.line.index))
    return found


def _neighbours(page: int, pages: set[int]) -> int:
    """Return how many of the eight pages around `page` (itself too) are among `pages`."""
    return sum(page + step in pages for step in range(-4, 5))


def _numbered(
    everything: list[_Candidate], place: Callable[[_Candidate], float], labels: Sequence[str], filled: int
) -> set[tuple[int, int]]:
    """Return lines that hold a page number and nothing else."""
    offsets: Counter[int] = Counter()
    bare: list[tuple[_Candidate, int | None]] = []
    for c in everything:
        if "#" not in c.key or len(c.line.text) > 24 or _NUMBER_WORDS.sub("", c.key):
            continue
        number = _DIGITS.search(c.line.text)
        offset = int(number.group()) - c.page if number and len(number.group()) < 7 else None
        bare.append((c, offset))
        if offset is not None:
            offsets[offset] += 1
    found = set()
    for c, offset in bare:
        labelled = c.line.text.strip(" -–—.[]()") == labels[c.page]
        steady = offset is not None and (offsets[offset] >= 3 or offsets[offset] == filled > 1)
        isolated = c.gap > 0.8 * c.line.size
        first = offset == 1 and c.depth == 0 and isolated
        roman = offset is None and c.depth == 0 and isolated and filled > 1
        if steady or roman or (labelled and isolated) or first:
            found.add((c.page, c.line.index))
    return found


def _chapter_heads(
    everything: list[_Candidate], place: Callable[[_Candidate], float], filled: int
) -> set[tuple[int, int]]:
    """Return outermost lines at a height where most pages have one, whose text comes back within two pages."""
    if filled < 5:
        return set()
    outer = [c for c in everything if c.depth == 0 and c.gap > 0.8 * c.line.size]
    heights: dict[int, set[int]] = defaultdict(set)
    keys: dict[str, set[int]] = defaultdict(set)
    for c in outer:
        for bucket in (round(place(c) / 3) - 1, round(place(c) / 3), round(place(c) / 3) + 1):
            heights[bucket].add(c.page)
        keys[_letters(c.key)].add(c.page)
    return {
        (c.page, c.line.index)
        for c in outer
        if len(heights[round(place(c) / 3)]) >= 0.5 * filled
        and any(c.page + step in keys[_letters(c.key)] for step in (-2, -1, 1, 2))
        and _letters(c.key)
    }


def _letters(key: str) -> str:
    return re.sub(r"[#\W]+", " ", key).strip()


def roman_value(numeral: str) -> int:
    """Return the value of a Roman numeral below 200; 0 where it is none."""
    if not _ROMAN.match(numeral):
        return 0
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[c] for c in numeral.casefold()]
    return sum(-v if any(w > v for w in values[i + 1 : i + 2]) else v for i, v in enumerate(values))


def printed_labels(margins: Sequence[Sequence[str]]) -> list[str | None]:
    """Return the printed number of each page, found in the texts of its running headers and footers.

    A number counts where numbers of the same kind (arabic, or Roman at the beginning or end of a line) go up with the
    pages around it: on two of the six nearest pages. A page between two numbered ones of the same sequence gets the
    number that it would bear. None where nothing is printed, and everywhere if less than half of the margins that have
    text have such a number.
    """
    marks: list[dict[tuple[bool, int], str]] = [_marks(texts, page) for page, texts in enumerate(margins)]
    chosen: list[tuple[bool, int] | None] = []
    for page, found in enumerate(marks):
        around = [marks[p] for p in range(max(0, page - 3), min(len(marks), page + 4)) if p != page]
        support = {mark: sum(mark in other for other in around) for mark in found}
        best = max(support, key=lambda mark: (support[mark], mark[0]), default=None)
        chosen.append(best if best is not None and support[best] >= min(2, max(1, len(marks) - 2)) else None)
    if 2 * sum(mark is not None for mark in chosen) < sum(any(texts) for texts in margins):
        return [None] * len(marks)
    labels: list[str | None] = [marks[p][mark] if mark is not None else None for p, mark in enumerate(chosen)]
    before: int | None = None
    for page, mark in enumerate(chosen):
        if mark is None:
            continue
        if before is not None and chosen[before] == mark and mark[0]:
            for between in range(before + 1, page):
                labels[between] = str(between + mark[1])
        before = page
    return labels


def _marks(texts: Sequence[str], page: int) -> dict[tuple[bool, int], str]:
    """Return what may be a page number: (arabic or not, number minus index of the page) -> as it is printed."""
    found: dict[tuple[bool, int], str] = {}
    for text in texts:
        stripped = " ".join(text.split()).strip("-–—|·[]() ")
        for token in _TOKEN.finditer(stripped):
            word = token.group()
            if word.isdigit():
                found.setdefault((True, int(word) - page), word)
            elif (token.start() == 0 or token.end() == len(stripped)) and roman_value(word):
                found.setdefault((False, roman_value(word) - page), word)
    return found
