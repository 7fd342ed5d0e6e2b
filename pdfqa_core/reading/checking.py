"""Whether the passages say what an answer says: each of its sentences is compared with theirs.

Words and, where an encoder is passed in, meaning find the quote that matches a sentence best. Whether the passages say
it is decided by its facts: a number counts only beside the words that it stands beside in the passages. Last, the
markers of citations, and where addresses in an answer come from.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import accumulate, pairwise

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import ENGLISH, GERMAN, STOP_WORDS, snowball_stem, stop_words
from pdfqa_core.reading.evidence import Match, Meaning, Quote, language_of, match, quotes, vectors_of
from pdfqa_core.reading.facts import Fact, claimed, facts, in_scale, name_words, scales, stated
from pdfqa_core.reading.tables import without_notes
from pdfqa_core.streaming import is_set
from pdfqa_core.text import addresses, bare, compared_terms, content_terms, sentences, terms
from pdfqa_core.types import Answer, CheckedSentence, Citation, Hit, Progress, Span, Support

# ----------------------------------------------------------------------------------------------------
# Whether a fact of a sentence stands in the passages where the sentence has it: beside the same words.
#
# Each fact is masked, and the words around it are compared with the words around every fact of its kind in the
# passages; those of a table's cell are its row's label, its column's name and the table's title. The fact that stands
# in the best place should be the sentence's own.

REACH = 5.0  # words: at this distance from a fact a word counts half
BESIDE = 0.3  # what a word of the sentence before or after counts
TITLE = 0.4  # what a word of a table's title or a passage's heading counts
SECTION = 0.6  # what a word of a row without values counts for the rows below
ASKED = 0.35  # what a word of the question counts that the sentence does not have

_CELL = re.compile(r"(?<!\\)\|")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?")
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
    return [stem(word, language) for word in map(str.casefold, _TOKEN.findall(text)) if word not in left_out]


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
    spots = [(start + match.start(), match[0].casefold()) for match in _TOKEN.finditer(text[start:end])]
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
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", self.text, re.IGNORECASE):
            place = self.place(Fact(*found.span(), "name"))
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


# ----------------------------------------------------------------------------------------------------
# Whether a quote says what a sentence says, in languages whose facts are not taken apart as those of English are.
#
# The verdicts on differences were fitted on English. Here a sentence counts as said only where the quote has all
# of its words, in the same order, and is negated as often: what is put differently has no tick. In German what is
# left out is looked at too.

LONGEST = 150  # words that decide, of a sentence that is looked for in a German quote

_NEGATIONS: Mapping[str, re.Pattern[str]] = {
    language: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for language, words in {
        "german": r"nicht|kein\w*|nie|niemals|niemand\w*|nichts|ohne|weder|noch|außer|ausgenommen|un\w+bar",
        "french": r"ne|n(?=['’])|pas|jamais|aucune?|rien|personne|sans|ni|sauf|excepté|hormis",
        "spanish": r"no|nunca|jamás|ningún|ninguna|ninguno|nada|nadie|sin|ni|tampoco|salvo|excepto",
        "italian": r"non|mai|nessun\w*|niente|nulla|senza|né|neanche|neppure|salvo|eccetto|tranne",
        "portuguese": r"não|nunca|jamais|nenhum\w*|nada|ninguém|sem|nem|tampouco|salvo|exceto",
        "dutch": r"niet|geen|nooit|niemand|niets|zonder|noch|behalve|uitgezonderd",
    }.items()
}


# German: words that decide though they are stop words, what begins a clause, what limits one.
_DECIDING = frozenset("vor nach über unter aus ein um auf bis ab mit ohne seit von zu gegen für".split())
_BREAK = re.compile(r"[,;:](?!\d)|\b(?:und|aber|jedoch|sondern|während)\b", re.IGNORECASE)
_LIMIT = re.compile(
    r"nur|erst|höchstens|bis|spätestens|frühestens|mindestens|maximal|ausgenommen|außer|wenn|falls|sofern|soweit|"
    r"nicht|kein\w*|nie|niemals|ohne|weder",
    re.IGNORECASE,
)
_NUMBERS = frozenset("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split())


def says_the_same(sentence: str, quote: str, language: str) -> bool:
    """Return whether a quote in this language has all that a sentence says.

    In a language whose negations are not known it must be the sentence itself.
    """
    negations = _NEGATIONS.get(language)
    if negations is None:
        return terms(sentence) == terms(quote)
    if language == GERMAN:
        said = [word.stem for word in _german(sentence)]
        parts = [quote[start:end] for start, end in sentences(quote, language)]
        return 0 < len(said) <= LONGEST and any(_runs_through(said, part) for part in parts)
    if len(negations.findall(sentence)) != len(negations.findall(quote)):
        return False
    said = [snowball_stem(language, term) for term in terms(sentence)]
    there = iter([snowball_stem(language, term) for term in terms(quote)])
    return bool(said) and all(word in there for word in said)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word with its stem, and the number of the clause that it stands in."""

    text: str
    stem: str
    clause: int = 0

    @property
    def counts(self) -> bool:
        """Whether it is a number."""
        return self.text[0].isdigit() or self.text in _NUMBERS

    @property
    def limits(self) -> bool:
        """Whether it limits or negates."""
        return _LIMIT.fullmatch(self.text) is not None


def _german(text: str, clause: int = 0) -> list[_Word]:
    left_out = stop_words(GERMAN) - _DECIDING
    kept = [term for term in terms(text) if term not in left_out or _LIMIT.fullmatch(term)]
    return [_Word(term, snowball_stem(GERMAN, term), clause) for term in kept]


def _runs_through(said: Sequence[str], part: str) -> bool:
    """Return whether the stems run through a sentence without a number, limit or negation left out.

    Of a later clause all is said or nothing; and none that limits ("wenn ...") follows the last one.
    """
    cuts = [0, *(match.start() for match in _BREAK.finditer(part)), len(part)]
    words = [word for n, cut in enumerate(cuts[:-1]) for word in _german(part[cut : cuts[n + 1]], n)]
    deciding = [0, *accumulate(word.counts or word.limits for word in words)]  # how many stand before a word
    behind_comma = {n for n, cut in enumerate(cuts[:-1]) if part[cut : cut + 1] in (",", ";")}

    def ends(at: int, whole: bool) -> bool:
        """Return whether the sentence may end with this word; `whole`: nothing of its clause may be left out."""
        clause = words[at].clause
        rest = [word for word in words[at + 1 :] if word.clause == clause]
        if any(word.limits for word in rest if not word.counts) or (whole and rest):
            return False
        after = next((word for word in words[at + 1 :] if word.clause == clause + 1), None)
        return after is None or clause + 1 not in behind_comma or not after.limits or after.text == "nicht"

    @cache
    def goes_on(count: int, at: int, whole: bool) -> bool:
        """Return whether the stems from `count` on follow the word at `at`."""
        if count == len(said):
            return ends(at, whole)
        for to in range(at + 1, len(words)):
            if words[to].stem != said[count]:
                continue
            if to == at + 1:
                fits, still = True, whole
            elif words[to].clause != words[at].clause:
                fits, still = words[to - 1].clause != words[to].clause, True
            else:
                fits, still = not whole and deciding[at + 1] == deciding[to], whole
            if fits and goes_on(count + 1, to, still):
                return True
        return False

    return any(word.stem == said[0] and goes_on(1, n, False) for n, word in enumerate(words))


# ----------------------------------------------------------------------------------------------------
# Small words that turn what a sentence says: by and to, from and to, up to, unless, than.

_AMOUNT = r"\s*(?:US)?[$€£(]?\s*(?:(?:CHF|USD|EUR|GBP)\s*)?$"  # what stands right before an amount
_MOVED = re.compile(
    r"(?<!up )\b(?P<how>by|to)\s+(?:(?:about|almost|nearly|around|approximately|some|over|roughly|more than|less than|"
    rf"only|another|a)\s+)*{_AMOUNT}",
    re.IGNORECASE,
)
_JOIN = re.compile(r"[^.;,]{0,25}\b(?:to|until)\b\W*")
_CAP = re.compile(rf"\b(?:up to|at most|maximum of|not? more than|no longer than)\b{_AMOUNT}", re.IGNORECASE)
_LIMITED = re.compile(
    r"\b(?:up to|at most|max(?:imum|\.)?|most|not? more than|no longer than|limit\w*|within|as (?:much|many|long) as|"
    r"exceed\w*|cap\w*)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:unless|except|only (?:if|with|when|after|where|on|in|for|to|by)|provided that|as long as|other than|"
    r"apart from)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:unless|except|only|provided that|as long as|other than|apart from|if|when|where|with|without|but|"
    r"subject to|excluding|once|after)\b",
    re.IGNORECASE,
)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)


def says_otherwise(sentence: str, quote: str, aligned: Sequence[Aligned], passages: Sequence[tuple[str, str]]) -> bool:
    """Return whether a small word makes the sentence say something else than the quote, or leaves a limit out.

    `aligned` are the sentence's facts in the (text, heading) of the passages.
    """
    nearest = _nearest(sentence, quote)
    return (
        any(_moved(sentence, one, passages) for one in aligned)
        or _turned_round(sentence, quote)
        or bool(_CONDITION.search(nearest) and not _CONDITIONAL.search(sentence))
        or _compared_otherwise(sentence, nearest)
    )


def _moved(sentence: str, one: Aligned, passages: Sequence[tuple[str, str]]) -> bool:
    """Return whether a number is what something rose by, where the passage has to, or a limit that is left out."""
    if one.home is None or one.home.cell or one.fact.kind not in ("number", "percent", "money"):
        return False
    before = passages[one.passage][0][: one.home.fact.start]
    if _CAP.search(before) and not _LIMITED.search(sentence):
        return True
    mine, theirs = _MOVED.search(sentence[: one.fact.start]), _MOVED.search(before)
    return bool(mine and theirs and mine["how"].casefold() != theirs["how"].casefold())


def _joined(text: str) -> list[tuple[Fact, Fact]]:
    """Return the pairs of facts of one kind that are joined by "to": "from $1,500 to $300", "seven votes to four"."""
    known = [fact for fact in facts(text) if fact.kind != "name"]
    return [(a, b) for a, b in pairwise(known) if a.kind == b.kind and _JOIN.fullmatch(text[a.end : b.start])]


def _turned_round(sentence: str, quote: str) -> bool:
    theirs = _joined(quote)
    return any(not a.same(b) and a.same(last) and b.same(first) for a, b in _joined(sentence) for first, last in theirs)


def _nearest(sentence: str, quote: str) -> str:
    """Return the sentence of the quote that shares most words with a sentence."""
    mine = set(stems(sentence))
    parts = [quote[start:end] for start, end in sentences(quote)]
    return max(parts, key=lambda part: len(mine & set(stems(part))), default=quote)


def _compared_otherwise(sentence: str, quote: str) -> bool:
    """Return whether one of two texts says "A is larger than B" and the other "B is larger than A"."""
    mine, theirs = _THAN.split(sentence), _THAN.split(quote)
    if len(mine) != 2 or len(theirs) != 2:
        return False
    left, right = (set(stems(part)) for part in mine)
    first, second = (set(stems(part)) for part in theirs)
    return bool((right - left) & (first - second)) and bool((left - right) & (second - first))


# ----------------------------------------------------------------------------------------------------
# Words and their opposites: a sentence that has one where its quote has the other says something else.

# That a sentence has one of these which its quote has not is a sign too: the verdicts were fitted on them.
_FITTED = (
    ("at least", "at most"), ("up to", "at least"), ("more than", "less than"), ("before", "after"),
    ("increased", "decreased"), ("increase", "decrease"), ("increases", "decreases"), ("rose", "fell"),
    ("higher", "lower"), ("above", "below"), ("over", "under"), ("unless", "if"), ("minimum", "maximum"),
    ("within", "after"), ("always", "never"), ("only", "not only"), ("first", "last"), ("first", "second"),
    ("all", "no"), ("more", "less"), ("more", "fewer"), ("most", "least"), ("highest", "lowest"),
    ("largest", "smallest"), ("warmer", "colder"), ("longer", "shorter"), ("with", "without"),
)  # fmt: skip
_UP = (
    "increas(?:es?|ed|ing)|r[io]se|rises|risen|rising|gr[eo]w|grows|grown|growing|growth|raised?|raises|"
    "improv(?:es?|ed|ing)|climbed|up from"
)
_DOWN = (
    "decreas(?:es?|ed|ing)|f[ae]ll|falls|fallen|falling|declin(?:es?|ed|ing)|drop|drops|dropped|"
    "reduc(?:es?|ed|ing|tion)|lowered|lowers|cut|cuts|shrank|shrunk|shrinks?|down from"
)
# Words of one meaning beside those of the opposite one. These count only where their surroundings are alike.
_CLASSES = (
    (_UP, _DOWN),
    ("at least|minimum|more than|longer than|later than|over|above|exceeds?|exceeding",
     "at most|up to|maximum|less than|fewer than|under|below|within"),
    ("unless", "if|when|where"), ("more", "less|fewer"), ("allowed|permitted", "forbidden|prohibited|banned"),
    ("older", "newer|younger"), ("earlier|earliest", "later|latest"), ("since|from", "until"),
    ("in advance", "in arrears"), ("favou?rable", "unfavou?rable"),
    ("primarily|mainly|mostly|partly|largely", "entirely|solely|exclusively|wholly"), ("once", "twice"),
    ("doubled?", "halved?"), ("includ(?:ed|es|ing)", "exclud(?:ed|es|ing)"), ("profits?", "loss(?:es)?"),
    ("open", "closed"), (r"(?:switch|turn)\w* (?:\w+ )?on", r"(?:switch|turn)\w* (?:\w+ )?off"),
    ("most|all|many|every", "few"), ("all", "most|some|none|few"), ("full-time", "part-time"),
    ("almost|nearly", "more than"), ("exactly", "about|approximately|around|roughly|almost|nearly"),
    ("carried|passed|approved|adopted|accepted", "rejected|failed|defeated|postponed?|refused"),
    ("bought|buys?|acquired", "sold|sells?"), ("begins?|began|starts?|started", "ends?|ended"),
    ("even if|whether or not", "only (?:if|when)"), ("inside", "outside"), ("mild|minor", "severe|serious"),
    ("thicker|wider|heavier|faster|stronger", "thinner|narrower|lighter|slower|weaker"),
)  # fmt: skip
LIKE = 0.35  # cosine of the surroundings of a word and of its opposite above which they are alike
_LIMITS = (
    (re.compile(r"\b(?:not|no) (?:less|fewer|earlier|sooner) than\b", re.IGNORECASE), "at least"),
    (re.compile(r"\b(?:not|no) (?:more|longer|later|greater|higher) than\b|\bnot (?:to )?exceed(?:ing)?\b",
                re.IGNORECASE), "at most"),
)  # fmt: skip


def plain(text: str) -> str:
    """Return a text in which a limit that is said by a negation is said without one: "not less than" is "at least"."""
    for pattern, words in _LIMITS:
        text = pattern.sub(words, text)
    return text


def between(sentence: str, quote: str) -> tuple[bool, int]:
    """Return whether the quote has the opposite of a word of the sentence, and how many such words it has not.

    Of a quote with both the one whose surroundings are more like the word's in the sentence counts.
    """
    turned, unsaid = False, 0
    for one, other in (*_FITTED, *((b, a) for a, b in _FITTED)):
        if not (said := _opposite_places(one, sentence)):
            continue
        same, opposite = _opposite_places(one, quote), _opposite_places(other, quote)
        unsaid += not same
        turned = turned or bool(opposite and _likeness(opposite, said) > _likeness(same, said))
    return turned or any(_turned(*pair, sentence, quote) for pair in _CLASSES), unsaid


def _turned(one: str, other: str, sentence: str, quote: str) -> bool:
    """Return whether the sentence has a word of one meaning where the quote has one of the other."""
    for mine, theirs in ((one, other), (other, one)):
        said, opposite = _opposite_places(mine, sentence), _opposite_places(theirs, quote)
        if said and opposite and _cosine(opposite, said) > max(LIKE, _cosine(_opposite_places(mine, quote), said)):
            return True
    return False


def _opposite_places(words: str, text: str) -> list[dict[str, float]]:
    """Return for each place of the words how near the stems of the text are to it."""
    found = re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE)
    return [by_distance(text, Fact(*match.span(), "name"), 0, len(text)) for match in found]


def _shared(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(near * one.get(word, 0.0) for word, near in other.items())


def _likeness(places: Sequence[Mapping[str, float]], said: Sequence[Mapping[str, float]]) -> float:
    """Return the most that what is near one of the places is near one of the others too; -1 without places."""
    return max((_shared(one, other) for one in places for other in said), default=-1.0)


def _cosine(places: Sequence[Mapping[str, float]], said: Sequence[Mapping[str, float]]) -> float:
    """Return the highest cosine of what is near one of the places and one of the others; -1 without places."""
    return max(
        (
            _shared(one, other) / math.sqrt((_shared(one, one) or 1.0) * (_shared(other, other) or 1.0))
            for one in places
            for other in said
        ),
        default=-1.0,
    )


# ----------------------------------------------------------------------------------------------------
# Whether a careful reader of the passages would agree with a sentence: signs of it, and their weights.
#
# The weights are those of a logistic regression on sentences that people wrote from passages, beside the same with a
# fact, a negation or a qualifier changed; `benchmarks/verdicts.py --fit` finds them and says what they are worth.

COPIED = 0.8  # share of its words with content that the quote has in the same order, of a sentence copied from it
WIDEST = 0.5  # margins beyond this say nothing more

_NEGATION = re.compile(
    r"\b(?:not|no|never|without|none|neither|nor|cannot|short of|fail(?:s|ed)? to|unable|lack(?:s|ed)?|except)\b"
    r"|n[’']t\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for and against a sentence, each between -1 and 1 or 0 and 1.

    `held`: the share of its words that the passages hold. `numbers`: by how much its numbers and dates fit their places
    better than others do, the least; `numbers_behind`: the same where it is negative, else 0; `numbers_missing`: 1 if
    one stands nowhere. `names`, `names_behind`: the same of names that the question has not; `names_asked`: that of
    those it has, against others of the quote; `names_quoted`: the share of the former that the quote holds.
    `negated_else`: 1 if a word is negated in one of sentence and quote alone; `negated_once`: 1 if one of them is
    negated at all; `opposite`: 1 if the quote has the opposite of one of its words; `unsaid`: how many words that have
    opposites (at most 3) the quote has not, in thirds.
    """

    held: float
    numbers: float
    numbers_behind: float
    numbers_missing: float
    names: float
    names_behind: float
    names_asked: float
    names_quoted: float
    negated_else: float
    negated_once: float
    opposite: float
    unsaid: float


def signs(
    sentence: str, quote: str, aligned: Sequence[Aligned], passages: Sequence[tuple[str, str]], question: str = ""
) -> Signs:
    """Return the signs of a sentence whose facts were aligned with the (text, heading) of the passages."""
    asked = name_words(question)
    said = stems(sentence)
    there = {word for text, heading in passages for word in stems(f"{heading} {text}")}
    numbers = [one for one in aligned if one.fact.kind != "name"]
    names = [one for one in aligned if one.fact.kind == "name"]
    own = [one for one in names if not one.fact.words <= asked]
    quoted, quoted_terms = facts(quote), name_words(quote)
    sentence, quote = plain(sentence), plain(quote)
    negated, negated_there = _negated(sentence), _negated(quote)
    mine, theirs = set(stems(sentence)), set(stems(quote))
    turned, unsaid = between(sentence, quote)
    return Signs(
        held=sum(word in there for word in said) / max(1, len(said)),
        numbers=_margin(numbers),
        numbers_behind=min(0.0, _margin(numbers)),
        numbers_missing=float(any(one.own is None for one in numbers)),
        names=_margin(own),
        names_behind=min(0.0, _margin(own)),
        names_asked=_margin([replace(one, rivals=_quoted(one, quote)) for one in names if one not in own]),
        names_quoted=sum(_in(one, quoted, quoted_terms) for one in own) / len(own) if own else 1.0,
        negated_else=float(bool((negated & theirs) - negated_there or (negated_there & mine) - negated)),
        negated_once=float(bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(quote))),
        opposite=float(turned),
        unsaid=min(unsaid, 3) / 3,
    )


def _margin(aligned: Sequence[Aligned]) -> float:
    """Return by how much the facts fit better than their rivals, the least of them; WIDEST without any."""
    margins = (one.own - one.rival for one in aligned if one.own is not None)
    return max(-WIDEST, min(WIDEST, min(margins, default=WIDEST)))


def _quoted(aligned: Aligned, quote: str) -> dict[str, float]:
    """Return the rivals that stand in the quote."""
    return {text: negation for text, negation in aligned.rivals.items() if text in quote}


def _in(name: Aligned, quoted: Sequence[Fact], quoted_terms: frozenset[str]) -> bool:
    """Return whether a name stands in the quote, or names the column of its row."""
    named = name.home is not None and name.home.names and not name.rivals
    return named or name.fact.words <= quoted_terms or any(name.fact.same(other) for other in quoted)


def _negated(text: str) -> set[str]:
    """Return the first word with content after each negation."""
    found = set()
    for negation in _NEGATION.finditer(text):
        following = map(str.casefold, _WORD.findall(text[negation.end() :])[:5])
        if (word := next((word for word in following if word not in STOP_WORDS), None)) is not None:
            found.add(stem(word))
    return found


def exchanged(sentence: str, quote: str) -> bool:
    """Return whether a sentence is a copy of its quote with another name: "iPad" where it says "Services".

    "The company" and "it" may give way to a name.
    """
    said, there = _WORD.findall(sentence), _WORD.findall(quote)
    matcher = SequenceMatcher(None, [word.casefold() for word in said], [word.casefold() for word in there], False)
    blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    content = [word.casefold() not in STOP_WORDS for word in said]
    copied = sum(sum(content[block.a : block.a + block.size]) for block in matcher.get_matching_blocks())
    if copied < COPIED * sum(content):
        return False
    names = {word for fact in facts(sentence) if fact.kind == "name" and not fact.initial for word in fact.words}
    for kind, a, b, c, d in blocks:
        ours, theirs = {word.casefold() for word in said[a:b]}, [word.casefold() for word in there[c:d]]
        capital = any(word[:1].isupper() for word in there[c:d]) and not STOP_WORDS & set(theirs)
        if kind == "replace" and capital and ours & names and not ours & names & name_words(quote):
            return True
    return False


# ------------------------------------------------------------------ weights

# By benchmarks/verdicts.py --fit, on the even sources.
BIAS = -7.61
WEIGHTS: Mapping[str, float] = {
    "held": 6.22,
    "numbers": 1.41,
    "numbers_behind": 23.75,
    "numbers_missing": -2.64,
    "names": 1.19,
    "names_behind": 10.96,
    "names_asked": 3.8,
    "names_quoted": 0.96,
    "negated_else": -3.24,
    "negated_once": -1.94,
    "opposite": -4.89,
    "unsaid": -0.72,
}


def agreement(found: Signs) -> float:
    """Return the probability (0..1) that a careful reader agrees with the sentence."""
    total = BIAS + sum(weight * getattr(found, name) for name, weight in WEIGHTS.items())
    return 1 / (1 + math.exp(-total))


# ----------------------------------------------------------------------------------------------------
# Whether the passages say what an answer says: each of its sentences is compared with theirs.

# By benchmarks/verdicts.py: at most 5 % of the sentences with a swapped fact are SUPPORTED. PARTLY: few of those
# sentences that no passage says.
SUPPORTED = 0.65
PARTLY = 0.45
NEWS = 0.3  # how much better a passage matches that has all words which the question has not, and so the answer
NEAR = 0.1  # how much worse than the best one a sentence of another page may match to be cited too
IN_ROW = 0.6  # how well a number must fit a cell of a table for its row to be the quote
LABELLED = 0.45  # how well a number matches its row where the sentence has the row's whole label

FEW = 4  # content terms below which a sentence says too little to be compared without the question it answers

_LIST_MARK = re.compile(r"\s*(?:[-*•–·]|\(?\d{1,3}[.)]|#+)\s+")
_PREAMBLE = re.compile(
    r"\W*(?:(?:according to|based on|as stated in) (?:the|this) (?:passages?|text|context|documents?|report)\W+)?"
    r"(?:(?:(?:the|my) )?(?:final |correct )?answer(?: to (?:the|this|your) question)? is\W+(?:that )?)?",
    re.I,
)
_VERDICT = re.compile(r"\W*(?:yes|no|ja|nein)\b(?:\s*[,.:;–-]\s*|\W*$)", re.IGNORECASE)
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the comparison found: the evidence of sentences that have some, and how well each is supported."""

    citations: tuple[Citation, ...] = ()
    sentences: tuple[CheckedSentence, ...] = ()


def answer_sentences(text: str, language: str = ENGLISH) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence of an answer: a line ends one, marks of lists belong to none."""
    found = []
    for line in _LINE.finditer(text):
        mark = _LIST_MARK.match(line[0])
        start = line.start() + (mark.end() if mark else 0)
        bounds = ((start + a, start + b) for a, b in sentences(text[start : line.end()], language))
        found += [(a, b) for a, b in bounds if terms(text[a:b])]
    return found


class Checker:
    """Compares answers with passages.

    `supported` is the probability (0..1) that a careful reader of the passages agrees with a sentence, from which on it
    counts as supported; `partly` the match (0..1) with a quote from which on it is cited. `meaning` adds the similarity
    of vectors to that of words.
    """

    def __init__(self, *, meaning: Meaning | None = None, supported: float = SUPPORTED, partly: float = PARTLY) -> None:
        self.meaning = meaning
        self.supported = supported
        self.partly = partly

    def check(
        self, text: str, hits: Sequence[Hit], question: str = "", *, stop: StopSignal | None = None
    ) -> Generator[Progress, None, Checked]:
        """Yield Progress; return each sentence's support and its citations, best first, one per page.

        A sentence below `partly` gets no citation. A short one ("84.") is compared together with the `question`, and
        supported only by a quote that says all of it. Nothing is supported once `stop` is set. Raises what the encoder
        raises.
        """
        yield Progress("checking")
        language, english = language_of(hits), any(hit.passage.language == ENGLISH for hit in hits)
        bounds = answer_sentences(text, language)
        candidates = [quote for hit in hits for quote in quotes(hit)]
        if not bounds or not candidates:
            return Checked(
                sentences=tuple(CheckedSentence(a, b, Support.NOT_FOUND, _places(text, a, b)) for a, b in bounds)
            )
        passages = [(hit.passage.text, hit.passage.heading) for hit in hits]
        claims = [_claim(text[a:b], question, language) for a, b in bounds]
        compared = self._matches(claims, candidates)
        citations, supports = [], []
        for (start, end), claim, matches in zip(bounds, claims, compared, strict=True):
            sentence = text[start:end]
            short = claim != sentence
            single = [found for found in matches if len(found.quote.parts) == 1]  # two may hold its words by chance
            own = _own(sentence)
            aligned = align(own, passages, question, short=short) if english else []
            fitting = [_in_row(found, hits, aligned, own) for found in (single if short else matches)]
            news = frozenset[str]()
            if question and not short:
                news = frozenset(stems(own, language)) - frozenset(stems(question, language))
            for place, found in enumerate(self._best(fitting, news)):
                support = self._support(own, found, aligned, passages, question)
                if short and support is Support.SUPPORTED and not _says(own, found.quote):
                    support = Support.PARTLY
                if is_set(stop) and support is Support.SUPPORTED:
                    support = Support.PARTLY
                if place == 0:
                    supports.append(support)
                if support is not Support.NOT_FOUND:
                    quote, verified = found.quote, support is Support.SUPPORTED
                    passage = quote.hit.passage.id
                    citations.append(Citation(quote.hit.rank, passage, quote.span, quote.text, verified, start, end))
        cited = {citation.passage_id for citation in citations}
        known = frozenset[tuple[float, bool]]().union(
            *(_stated(hit.passage.text) for hit in hits if hit.passage.id in cited)
        )
        checked = []
        for (start, end), support in zip(bounds, supports, strict=True):
            numbers = _places(text, start, end, known)
            elsewhere = bool(numbers) and support is Support.SUPPORTED  # in a passage that is not cited
            checked.append(CheckedSentence(start, end, Support.PARTLY if elsewhere else support, numbers))
        lacking = {one.start for one in checked if one.numbers}
        citations = [replace(one, verified=one.verified and one.start not in lacking) for one in citations]
        return Checked(tuple(citations), tuple(checked))

    def _support(
        self,
        sentence: str,
        best: Match,
        aligned: Sequence[Aligned],
        passages: Sequence[tuple[str, str]],
        question: str,
    ) -> Support:
        """Return how far the passages support a sentence whose best match is given; each fact must stand in them."""
        if best.score < self.partly:
            return Support.NOT_FOUND
        if (language := best.quote.language) != ENGLISH:
            same = is_statement(sentence, question) and says_the_same(sentence, " ".join(best.quote.parts), language)
            return Support.SUPPORTED if same else Support.PARTLY
        if not is_statement(sentence, question) or any(one.own is None for one in aligned):
            return Support.PARTLY
        quote = best.quote.text
        if exchanged(sentence, quote) or says_otherwise(sentence, quote, aligned, passages):
            return Support.PARTLY
        found = signs(sentence, quote, aligned, passages, question)
        return Support.SUPPORTED if agreement(found) >= self.supported else Support.PARTLY

    @staticmethod
    def _best(matches: Sequence[Match], news: frozenset[str]) -> list[Match]:
        """Return the best match, and the best of each other page that is nearly as good and says some of the news."""

        def told(found: Match) -> float:
            return len(news & {stem(term, found.quote.language) for term in found.quote.terms}) / max(1, len(news))

        best: dict[tuple[str, int], Match] = {}
        for found in sorted(matches, key=lambda found: found.score + NEWS * told(found), reverse=True):
            best.setdefault((found.quote.span.document_id, found.quote.span.page), found)
        first, *others = best.values()
        near = (found for found in others if found.score >= first.score - NEAR)
        return [first, *(found for found in near if told(found) or not told(first))]

    def _matches(self, texts: Sequence[str], candidates: Sequence[Quote]) -> list[list[Match]]:
        if self.meaning is None:
            return [[match(text, quote) for quote in candidates] for text in texts]
        parts = [part for quote in candidates for part in quote.parts]
        self.meaning.vectors([*texts, *parts])  # one call of the encoder for all of them
        cosines = self.meaning.vectors(texts) @ vectors_of(candidates, self.meaning).T
        return [
            [match(text, quote, float(cosine)) for quote, cosine in zip(candidates, row, strict=True)]
            for text, row in zip(texts, cosines, strict=True)
        ]


def begins_with_verdict(text: str) -> bool:
    """Return whether a text begins with a yes or no of its own: "No, it was not.", but not "No roost was found."."""
    return _VERDICT.match(text) is not None


def is_statement(sentence: str, question: str = "") -> bool:
    """Return whether a sentence says something by itself: no heading, question, "Yes." or echo of the question does."""
    if sentence.rstrip().endswith((":", "?")) or begins_with_verdict(sentence):
        return False
    said, asked = ({stem(term) for term in terms(text)} for text in (sentence, question))
    return bool(said) and not said <= asked


def _claim(sentence: str, question: str, language: str) -> str:
    return (
        f"{question} {_own(sentence)}" if question and len(content_terms(_own(sentence), language)) < FEW else sentence
    )


def _own(sentence: str) -> str:
    """Return a sentence without "The answer is" or "According to the passage" before it."""
    preamble = _PREAMBLE.match(sentence)
    return sentence[preamble.end() :] if preamble else sentence


def _in_row(found: Match, hits: Sequence[Hit], aligned: Sequence[Aligned], sentence: str) -> Match:
    """Return a match with a row of a table as good as a number of the sentence fits one of its cells.

    A row whose whole label the sentence has is the quote of such a number also where other words differ.
    """
    quote = found.quote
    cells = [
        one
        for one in aligned
        if one.home is not None
        and one.home.cell
        and one.passage < len(hits)
        and hits[one.passage] is quote.hit
        and quote.start <= one.home.fact.start < quote.end
        and len(quote.parts) == 1
    ]
    fits = [one.own or 0.0 for one in cells if (one.own or 0.0) >= max(one.rival, IN_ROW)]
    label = set(stems(quote.label))
    if cells and not fits and label and label <= set(stems(sentence)):
        fits = [LABELLED]
    return replace(found, row=max(fits)) if fits else found


def _says(sentence: str, quote: Quote) -> bool:
    """Return whether a quote holds every word of a short sentence."""
    said = claimed(sentence)
    words = "".join(letter for i, letter in enumerate(sentence) if not any(n.start <= i < n.end for n in said))
    if not {number.key for number in said} <= stated(quote.text):
        return False
    language = quote.language
    return bool(content_terms(sentence, language)) and all(
        term in quote.terms for term in compared_terms(words, language)
    )


def _stated(text: str) -> frozenset[tuple[float, bool]]:
    """Return the keys of the numbers that a passage states; of a table in millions, what they are worth too."""
    said = stated(text)
    worth = {(round(value * scale, 6), False) for value, percent in said for scale in scales(text) if not percent}
    return said | worth if "|" in text else said


def _places(
    text: str, start: int, end: int, known: frozenset[tuple[float, bool]] = frozenset()
) -> tuple[tuple[int, int], ...]:
    """Return the places of the numbers of `text[start:end]` that are not among the known ones."""
    return tuple(
        (start + number.start, start + number.end) for number in claimed(text[start:end]) if number.key not in known
    )


# ----------------------------------------------------------------------------------------------------
# The markers of citations in an answer's text: those a model wrote are taken out, those that hold are put in. And where
# the addresses that it names come from.
#
# The clean text of an answer holds no markers; `Citation.end` is the place after which a marker is shown.

# Citations that the model itself writes: "[1]", "[1, 2]", "[Passage 1]", "(Passage 2)" behind what they are for, and
# before it "The passage 1: ".
_MARKER = re.compile(
    r"\s*(?:\[(?:passages?\s*)?\d{1,2}(?:\s*(?:,|and|&)\s*\d{1,2})*\]|\(passages?\s+\d{1,2}(?:\s*(?:,|and|&)\s*\d{1,2})*\))"
    r"|(?:^|(?<=[.!?]\s)|(?<=\n))(?:the\s+)?passage\s+\d{1,2}\s*:\s+",
    re.IGNORECASE,
)


IN_NONE = "stands in none of the passages"


def strip_markers(text: str) -> str:
    """Return the text without the citation markers that a model wrote."""
    return _MARKER.sub("", text)


def with_markers(answer: Answer) -> str:
    """Return the answer's text with [n] after each sentence that has evidence: "Sentence. [1]", each number once."""
    text = answer.text
    for end, number in sorted({(citation.end, citation.number) for citation in answer.citations}, reverse=True):
        text = f"{text[:end]} [{number}]{text[end:]}"
    return text


def foreign_addresses(answer: Answer, questions: Sequence[str]) -> Iterator[tuple[str, Span | None]]:
    """Yield each address of an answer that stands in no question, with its place in the passages; None: in none."""
    asked = _unbroken(" ".join(questions))
    for address in dict.fromkeys(answer.text[start:end] for start, end in addresses(answer.text)):
        if _unbroken(address) not in asked:
            yield address, next((span for hit in answer.hits if (span := _place(address, hit)) is not None), None)


def with_sources(answer: Answer, questions: Sequence[str], names: Mapping[str, str]) -> Answer:
    """Return an answer that says of each address which nobody asked with where it comes from; `names` are of files.

    A PDF can name any address and have it named: whoever reads it must know that neither they nor the program did.
    """
    notes = []
    for address, span in foreign_addresses(answer, questions):
        source = f"comes from {names.get(span.document_id, 'a document')}, p. {span.page}" if span else IN_NONE
        notes.append(f"“{address}” {source}; where it leads was not checked.")
    return replace(answer, notes=(*answer.notes, *notes)) if notes else answer


def _place(address: str, hit: Hit) -> Span | None:
    """Return the sentence of a hit with an address, which may go on in the next line; the hit's first page at least."""
    wanted = _unbroken(address)
    if wanted not in _unbroken(hit.passage.text):
        return None
    return next((one.span for one in quotes(hit) if wanted in _unbroken(one.text)), hit.passage.spans[0])


def _unbroken(text: str) -> str:
    return "".join(text.split()).casefold()
