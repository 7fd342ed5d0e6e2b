"""Whether a fact of a sentence stands in the passages where the sentence has it: beside the same words.

Each fact is masked, and the words around it are compared with the words around every fact of its kind in the passages;
those of a table's cell are its row's label, its column's name and the table's title. The fact that stands in the best
place should be the sentence's own.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from pdfqa_core.languages import ENGLISH, STOP_WORDS, snowball_stem, stop_words
from pdfqa_core.reading.facts import Fact, facts, in_scale, name_words, scales
from pdfqa_core.reading.tables import without_notes
from pdfqa_core.text import bare, sentences

REACH = 5.0  # words: at this distance from a fact a word counts half
BESIDE = 0.3  # what a word of the sentence before or after counts
TITLE = 0.4  # what a word of a table's title or a passage's heading counts
SECTION = 0.6  # what a word of a row without values counts for the rows below
ASKED = 0.35  # what a word of the question counts that the sentence does not have

_CELL = re.compile(r"(?<!\\)\|")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?")
_QUARTER = re.compile(r"\bthree[ -]months?\b", re.IGNORECASE)  # what the column of a quarter is called in a filing
_PARTS = re.compile(r";|,? ?\b(?:and|while|whereas)\b")  # what stands between the parts of "A was 5 and B 6"
_RESPECTIVELY = re.compile(r"\brespectively\b", re.IGNORECASE)
_ENDINGS = ("ing", "ed", "es", "s")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact stands in a passage: its text there, and how near (0..1) each term is to it.

    `cell` holds the terms of the row's label and the column's name where the fact is a table's value; `names` says that
    it stands in such a label or name itself. Of "A was 5 and B 6", `shared` is how near the words before 5 are to 6 too
    ("was"), for a sentence that has a word of `label`, those of 6 alone ("B").
    """

    fact: Fact
    text: str
    near: Mapping[str, float]
    cell: frozenset[str] = frozenset()
    names: bool = False
    shared: Mapping[str, float] = field(default_factory=dict)
    label: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Aligned:
    """How well (0..1) the words around a fact fit those around it in the passages, and around others of its kind.

    `own` is None where the fact does not stand in the passages. `rivals` are the matches of the other facts, the best
    first, by their text in the passages. `home` is the best of its own places, in
    the passage at `passage`.
    """

    fact: Fact
    own: float | None
    rivals: Mapping[str, float] = field(default_factory=dict)
    home: Place | None = None
    passage: int = 0

    @property
    def rival(self) -> float:
        """The best match of another fact, 0 without any."""
        return next(iter(self.rivals.values()), 0.0)


def stem(term: str, language: str = ENGLISH) -> str:
    """Return a term without an English ending or possessive, or the Snowball stem of another language."""
    if language != ENGLISH:
        return snowball_stem(language, term)
    term = bare(term)
    for ending in _ENDINGS:
        if term.endswith(ending) and len(term) - len(ending) >= 3:
            return term.removesuffix(ending)
    return term


def stems(text: str, language: str = ENGLISH) -> list[str]:
    """Return the stems of a text's words that are no stop words."""
    left_out = stop_words(language)
    return [stem(word, language) for word in map(str.casefold, _WORD.findall(text)) if word not in left_out]


@dataclass(frozen=True, slots=True)
class Part:
    """How near each stem is to a fact, what counts too where a stem of its `label` is said, see `Place`."""

    near: Mapping[str, float]
    shared: Mapping[str, float] = field(default_factory=dict)
    label: frozenset[str] = frozenset()


def parted(text: str, fact: Fact, start: int, end: int, known: Sequence[Fact]) -> Part:
    """Return how near each stem of `text[start:end]` is to a fact in it, part by part: "A was 5 and B 6".

    There "was" stands nearer to 5, and "B" to both: words on the other side of "and" count little. `known` are the
    facts of the text.
    """
    if fact.kind in ("name", "ordinal") or _RESPECTIVELY.search(text, start, end):
        return Part(by_distance(text, fact, start, end))
    alike = [one for one in known if start <= one.start < end and one.kind == fact.kind]
    alike = [one for one in alike if not (one.unit and fact.unit and one.unit != fact.unit)]
    earlier = next((one for one in reversed(alike) if one.end <= fact.start), None)
    later = next((one for one in alike if one.start >= fact.end), None)
    left = _PARTS.search(text, earlier.end, fact.start) if earlier else None
    right = _PARTS.search(text, fact.end, later.start) if later else None
    far = []
    if earlier and left:
        far.append((earlier.start, left.end()))
    if later and right:
        far.append((right.start(), later.end))
    near = by_distance(text, fact, start, end, far)
    if not earlier or not left:
        return Part(near)
    own = f"{text[left.end() : fact.start]} {text[fact.end : right.start() if right else end]}"
    label = frozenset(stems(own)) - frozenset(stems(text[start : left.start()]))
    before, there = set(stems(text[start : earlier.start])), by_distance(text, earlier, start, end)
    return Part(near, {word: there[word] for word in before & there.keys()}, label)


def by_distance(text: str, fact: Fact, start: int, end: int, far: Sequence[tuple[int, int]] = ()) -> dict[str, float]:
    """Return how near each stem of `text[start:end]` is to a fact in it; within `far` no nearer than BESIDE."""
    spots = [(start + match.start(), match[0].casefold()) for match in _WORD.finditer(text[start:end])]
    starts = [place for place, _ in spots]
    first, last = bisect_right(starts, fact.start) - 1, bisect_right(starts, fact.end - 1) - 1
    near: dict[str, float] = {}
    for number, (place, word) in enumerate(spots):
        if fact.start <= place < fact.end or word in STOP_WORDS:
            continue
        distance = first - number if number < first else number - last
        key = stem(word)
        value = 1 / (1 + max(0, distance - 1) / REACH)
        if any(begin <= place < stop for begin, stop in far):
            value = min(value, BESIDE)
        near[key] = max(near.get(key, 0.0), value)
    return near


class Surroundings:
    """What stands around each place of a passage's text."""

    def __init__(self, text: str, heading: str = "") -> None:
        self.text = text
        self.bounds = sentences(text)
        self.head = dict.fromkeys(stems(heading), TITLE)
        self.facts = [fact for fact in facts(text) if not fact.initial]
        self.scales = scales(f"{heading} {text}")
        self._starts = [start for start, _ in self.bounds]
        self._cells = [_cells(text, *bound) if self._is_row(n) else [] for n, bound in enumerate(self.bounds)]

    def _is_row(self, number: int) -> bool:
        return self.text.startswith("|", self.bounds[number][0])

    def places(self) -> Iterator[Place]:
        """Yield the places of the passage's facts."""
        for fact in self.facts:
            if (place := self.place(fact)) is not None:
                yield place

    def place(self, fact: Fact) -> Place | None:
        """Return the place of a fact of the text; None outside of its sentences."""
        number = bisect_right(self._starts, fact.start) - 1
        if number < 0 or fact.start >= self.bounds[number][1]:
            return None
        text = self.text[fact.start : fact.end]
        if self._is_row(number):
            near, cell, names = self._in_row(fact, number)
            return Place(fact, text, near, cell, names)
        near = dict(self.head)
        for other in (number - 1, number + 1):
            if 0 <= other < len(self.bounds) and not self._is_row(other):
                near.update(dict.fromkeys(stems(self.text[slice(*self.bounds[other])]), BESIDE))
        part = parted(self.text, fact, *self.bounds[number], self.facts)
        near.update(part.near)
        return Place(fact, text, near, shared=part.shared, label=part.label)

    def _in_row(self, fact: Fact, number: int) -> tuple[dict[str, float], frozenset[str], bool]:
        """Return the terms near a fact of a table's row, those of label and column, and whether it stands in these."""
        top = number
        while top > 0 and self._is_row(top - 1):
            top -= 1
        cells, columns = self._cells[number], self._cells[top]
        column = next((n for n, (a, b) in enumerate(cells) if a <= fact.start < b), 0)
        near = dict(self.head)
        if top > 0:
            near.update(dict.fromkeys(stems(self.text[slice(*self.bounds[top - 1])]), TITLE))
        near.update(dict.fromkeys(stems(self._section(top, number)), SECTION))
        own = self.text[slice(*cells[column])] if cells else ""
        name = self.text[slice(*columns[column])] if top < number and column < len(columns) else ""
        label = without_notes(self.text[slice(*cells[0])]) if column and top < number else ""
        masked = own.replace(self.text[fact.start : fact.end], " ", 1)
        naming = top == number or column == 0
        cell = frozenset() if naming else frozenset(stems(f"{name} {label}"))
        near.update(dict.fromkeys([*stems(masked), *stems(f"{name} {label}")], 1.0))
        if _QUARTER.search(name):
            near["quarter"] = 1.0
        return near, cell, naming

    def _section(self, top: int, number: int) -> str:
        """Return the label of the last row without values above a row."""
        for place in range(number - 1, top, -1):
            cells = [self.text[a:b].strip() for a, b in self._cells[place]]
            if cells and cells[0] and not any(cells[1:]):
                return cells[0]
        return ""

    def named(self, name: str) -> Iterator[Place]:
        """Yield the places where a name stands, however it is written there."""
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", self.text, re.IGNORECASE):
            place = self.place(Fact(*match.span(), "name"))
            if place is not None:
                yield place


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    borders = [start + match.start() for match in _CELL.finditer(text[start:end])]
    return [(a + 1, b) for a, b in pairwise(borders)]


@lru_cache(maxsize=256)
def surroundings(text: str, heading: str = "") -> tuple[Surroundings, tuple[Place, ...]]:
    """Return a passage's surroundings and the places of its facts; those of the last passages are remembered."""
    found = Surroundings(text, heading)
    return found, tuple(found.places())


def align(
    sentence: str, passages: Sequence[tuple[str, str]], question: str = "", *, short: bool = False
) -> list[Aligned]:
    """Return for each fact of a sentence how well it fits the places of the (text, heading) of passages.

    A fact that names the row or column of a table fits as well as the value of that row and column which the sentence
    states too. The question's words count less than the sentence's own unless the sentence is `short`.
    """
    around = [surroundings(text, heading) for text, heading in passages]
    asked = dict.fromkeys(stems(question), 1.0 if short else ASKED)
    known = frozenset(word for _, there in around for place in there for word in place.fact.words)
    own = [fact for fact in facts(sentence) if not fact.initial or fact.words <= known]
    heads = {word for _, heading in passages for word in name_words(heading)}
    found = []
    for fact in own:
        same = [(n, place) for n, (text, there) in enumerate(around) for place in there if _same(fact, place, text)]
        if fact.kind == "name" and fact.words <= heads:
            continue
        if fact.kind == "name":
            name = sentence[fact.start : fact.end]
            same += [(n, place) for n, (text, _) in enumerate(around) for place in text.named(name)]
        others = [
            place
            for text, there in around
            for place in there
            if (fact.rivals(place.fact) or (place.cell and _values(fact, place.fact)))
            and not _same(fact, place, text)
            and not any(place.fact.same(other) for other in own)
        ]
        found.append(_compare(sentence, fact, same, others, asked))
    stated = [one.home for one in found if one.home is not None and one.home.cell and (one.own or 0.0) >= one.rival]
    return [_named(one, sentence, stated) for one in found]


def _named(aligned: Aligned, sentence: str, stated: Sequence[Place]) -> Aligned:
    """Return how a fact fits that names the row or column of one of the cells whose values are stated: as well."""
    if aligned.home is None or not aligned.home.names:
        return aligned
    words = stems(sentence[aligned.fact.start : aligned.fact.end])
    fits = any(all(word in cell.near for word in words) for cell in stated)
    return replace(aligned, own=1.0, rivals={}) if fits else aligned


def _same(fact: Fact, place: Place, text: Surroundings) -> bool:
    """Return whether a place holds a fact: "12.6 million" may be 12.6 in a table in millions, "1.2 billion" 1,200."""
    if place.fact.same(fact):
        return True
    return bool(place.cell) and fact.scale != 1.0 and any(in_scale(place.fact, s).same(fact) for s in text.scales)


def _values(one: Fact, other: Fact) -> bool:
    """Return whether two facts are different values; in a table, the sign of a currency often stands once."""
    kinds = {one.kind, other.kind}
    return kinds <= {"number", "money", "percent"} and not one.same(other)


def _compare(
    sentence: str, fact: Fact, same: Sequence[tuple[int, Place]], others: Sequence[Place], asked: Mapping[str, float]
) -> Aligned:
    wanted = {**asked, **parted(sentence, fact, 0, len(sentence), facts(sentence)).near}
    words = frozenset(stems(sentence))
    every = [*(place for _, place in same), *others]
    held = Counter(word for place in every for word in wanted.keys() & place.near.keys())
    weights = {word: wanted[word] * math.log(1 + len(every) / count) for word, count in held.items()}
    total = sum(weights.values()) or 1.0

    def score(place: Place) -> float:
        shared = place.shared if place.label & words else {}
        said = (
            sum(weight * max(place.near.get(word, 0.0), shared.get(word, 0.0)) for word, weight in weights.items())
            / total
        )
        if not place.cell or not said:
            return said
        used = len(place.cell & wanted.keys()) / len(place.cell)  # a row with a longer label is another row
        return 2 * said * used / (said + used)

    best: dict[str, float] = {}
    for place in others:
        best[place.text] = max(best.get(place.text, 0.0), score(place))
    ranked = dict(sorted(best.items(), key=lambda entry: -entry[1]))
    if not same:
        return Aligned(fact, None, ranked)
    passage, home = max(same, key=lambda entry: score(entry[1]))
    return Aligned(fact, score(home), ranked, home, passage)
