"""Which sentences of which passages go into a prompt, in which order, so that they keep to a number of tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.comparing import first_compared
from pdfqa_core.reading.matching import Quote, language_of, quotes
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.numbers import stated
from pdfqa_core.reading.question_type import asks_for_value
from pdfqa_core.reading.relevance import relevance
from pdfqa_core.reading.tables import tables, without_notes
from pdfqa_core.text import compared_terms
from pdfqa_core.types import Hit, Span

GAP = " … "  # stands for sentences that were left out
LABEL = 0.5  # what a heading or label weighs beside a sentence
ROW = 1.0  # more for a row of a table whose whole label the question has: it asks for that row
LEANING = 0.9  # of the score of the sentence before, for one that leans on it ("That is less than promised.")
LISTED = 0.9  # of the score of the line that introduces a list, for its items
OF_LIST = 0.6  # share of a question's words that such a line has where its items are asked for
TWIN = 0.9  # share of the words of the shorter of two passages from which on they say the same

_SAID = (".", "!", ";", ":", '"', "”", ")", "…")
_BULLET = re.compile(r"[-*•–·▪◦]|\(?(?:\w|\d\d)[.)](?:\s|$)")
_MARK = re.compile(r"\W*\w{1,2}[.)]\W*|\W+")  # of an item, without the item
_LEANS = re.compile(
    r"(?:That|This|These|Those|It|They|He|She|Its|Their|Such|Both|Thus|Therefore|Hence|So|However|But|Instead|Otherwise)\b"
)
_OF_CONTENTS = re.compile(
    r"\D*[A-Za-z]{3}\D*[\s.]\d{1,4}|\d+(?:\.\d+)*\s+\D*[A-Za-z]{3}\D*[\s.]\d{1,4}"
)  # with its page
LINES_OF_CONTENTS = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentences of hits that a model is shown. `places` are positions in `sentences`, ascending.

    The hits are in the order of their place in the documents, not of their rank, so that two questions on the same
    passages begin with the same text.
    """

    sentences: tuple[Quote, ...]
    places: tuple[int, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of which anything is shown, best first."""
        return tuple(sorted(self.in_order(), key=lambda hit: hit.rank))

    def in_order(self) -> list[Hit]:
        """Return the hits of which anything is shown, in the order in which they are shown."""
        return list({id(self.sentences[p].hit): self.sentences[p].hit for p in self.places}.values())

    def texts(self) -> list[str]:
        """Return the shown text of each passage, in order: gaps are marked, rows of tables read out, a line each."""
        found: list[str] = []
        before: int | None = None
        for place in self.places:
            quote, said = self.sentences[place], self.sentences[place].parts[0]
            last = self.sentences[before] if before is not None else None
            if last is None or last.hit is not quote.hit:
                found.append(said)
            elif said != quote.text or last.parts[0] != last.text:
                found[-1] += "\n" + said
            elif place - 1 == before:
                found[-1] += quote.hit.passage.text[last.end : quote.start] + said
            else:
                found[-1] += GAP + said
            before = place
        return found

    def without_last(self) -> Evidence | None:
        """Return it without the worst passage, or the only one without its last sentence; None if nothing is left."""
        worst = self.hits[-1]
        left = tuple(place for place in self.places if self.sentences[place].hit is not worst) or self.places[:-1]
        return Evidence(self.sentences, left) if left else None


def gather(hits: Sequence[Hit], count: int, question: str = "") -> Evidence:
    """Return the sentences of the first `count` hits, each sentence once; of rows of tables the columns asked for.

    Hits that overlap count as one, and one that says the same as a better one (the page of a near-twin) is left out:
    the same words, and no number that the other does not state as well.
    """
    ordered = sorted(first(hits, count), key=lambda hit: (hit.passage.document_id, hit.passage.spans[0]))
    found = tuple(quote for hit in ordered for quote in _asked_columns(hit, question))
    return Evidence(found, tuple(_once(found)))


def _asked_columns(hit: Hit, question: str) -> Iterator[Quote]:
    """Yield the sentences of a hit; of a row of a table with columns for several times those that are asked for."""
    rows = {row.start: row for table in tables(hit.passage.text) for row in table.rows if row.values}
    for quote in quotes(hit, longest=1):
        row = rows.get(quote.start)
        yield quote if row is None else replace(quote, parts=(row.within(question).words,))


def first(hits: Sequence[Hit], count: int) -> list[Hit]:
    """Return the best hits, best first, that make `count` different pieces of the documents."""
    chosen: list[Hit] = []
    pieces = 0
    for hit in hits:
        if any(_twins(hit, other) for other in chosen):
            continue
        pieces += not any(hit.passage.overlaps(other.passage) for other in chosen)
        if pieces > count:
            break
        chosen.append(hit)
    return chosen


def _twins(hit: Hit, better: Hit) -> bool:
    mine, theirs = (set(compared_terms(one.passage.text, one.passage.language)) for one in (hit, better))
    if len(mine & theirs) < TWIN * min(len(mine), len(theirs)) or len(mine - theirs) > (1 - TWIN) * len(mine):
        return False
    return stated(hit.passage.text) <= stated(better.passage.text)


def best(
    question: str, evidence: Evidence, fits: Callable[[Evidence], bool], meaning: Meaning | None = None
) -> Evidence | None:
    """Return the most relevant sentences of the evidence, in their order, as many as fit; None if not even one does.

    A row of a table comes with the lines above the table: they say what it is about, and in which unit. An item of a
    list comes with the line that introduces the list, and is wanted as much as that line. Headings and labels weigh
    half: they have the words of a question and answer none. A table of contents is left out.
    """
    introduced = _introduced(evidence)
    scores = _scores(question, evidence, meaning, introduced)
    titles = {**introduced, **_titles(evidence)}
    contents = _contents(evidence.sentences)
    kept: tuple[int, ...] = ()
    for place in sorted(evidence.places, key=lambda place: -scores[place]):
        if place in kept or (place in contents and kept):
            continue
        wider = tuple(sorted({*kept, place, *titles.get(place, ())}))
        if fits(Evidence(evidence.sentences, wider)):
            kept = wider
    return Evidence(evidence.sentences, kept) if kept else None


def _scores(
    question: str, evidence: Evidence, meaning: Meaning | None, introduced: Mapping[int, tuple[int, ...]]
) -> list[float]:
    """Return how much each sentence is wanted; `introduced` gives the lines that introduce an item of a list."""
    found = relevance(question, evidence.sentences, meaning)
    scores = [
        score * (LABEL if _is_label(quote) else 1.0) for score, quote in zip(found, evidence.sentences, strict=True)
    ]
    asked = frozenset(stems(question)) if asks_for_value(question) else frozenset[str]()
    for place, quote in enumerate(evidence.sentences):
        scores[place] += ROW * _asked_for(quote, asked)
    for place in _of_comparison(question, evidence):
        scores[place] += ROW
    for place in range(1, len(scores)):
        before, quote = evidence.sentences[place - 1], evidence.sentences[place]
        if before.hit is quote.hit and _LEANS.match(quote.text) and not _is_label(before):
            scores[place] = max(scores[place], LEANING * scores[place - 1])
    for place, lines in introduced.items():
        mark = _MARK.fullmatch(evidence.sentences[place].text) is not None
        scores[place] = 0.0 if mark else max(scores[place], LISTED * max(scores[line] for line in lines))
    return scores


def _of_comparison(question: str, evidence: Evidence) -> list[int]:
    """Return the place of the row with the largest or smallest value, or the change, that is asked for."""
    hits = list({id(quote.hit): quote.hit for quote in evidence.sentences}.values())
    found = first_compared(question, [hit.passage for hit in hits])
    if found is None:
        return []
    return [
        place for place, quote in enumerate(evidence.sentences)
        if quote.hit is hits[found[0]] and quote.start == found[1].start
    ]  # fmt: skip


def _asked_for(quote: Quote, asked: frozenset[str]) -> float:
    """Return 1 for a row of a table whose label is asked for, half where it stands under one that is not, else 0."""
    if not quote.text.startswith("|"):
        return 0.0
    label = without_notes(quote.text.split("|")[1])
    if not (own := stems(label)) or not asked.issuperset(own):
        return 0.0
    under = quote.parts[0].partition(label.strip())[0]
    return 1.0 if asked.issuperset(stems(under)) else 0.5


def _contents(sentences: Sequence[Quote]) -> frozenset[int]:
    """Return the places of the lines of tables of contents: several of one passage end with a page number."""
    listed = [
        place
        for place, quote in enumerate(sentences)
        if _is_label(quote) and _OF_CONTENTS.fullmatch(quote.text.strip())
    ]
    passages = Counter(id(sentences[place].hit) for place in listed)
    return frozenset(place for place in listed if passages[id(sentences[place].hit)] >= LINES_OF_CONTENTS)


def _is_label(quote: Quote) -> bool:
    """Return whether a piece is a heading, a label or a line of the contents: no sentence, item of a list, or row."""
    text = quote.text.strip()
    return quote.parts[0] == quote.text and not text.endswith(_SAID) and not _BULLET.match(text)


def _introduced(evidence: Evidence) -> dict[int, tuple[int, ...]]:
    """Return for each item of a list the places of the lines that introduce it.

    That is one that ends with a colon, and the one before that where it leans on it ("These include:"); the mark of an
    item ("1.") where it is a piece by itself. A list goes on in the next passage where the two overlap, and ends at a
    paragraph that is no item.
    """
    found: dict[int, tuple[int, ...]] = {}
    lines: tuple[int, ...] = ()
    before: int | None = None
    for place in evidence.places:
        quote = evidence.sentences[place]
        last = evidence.sentences[before] if before is not None else None
        same = last is not None and last.hit is quote.hit
        if last is None or not (same or last.hit.passage.overlaps(quote.hit.passage)):
            lines = ()
        mark = before if before in found and last is not None and _MARK.fullmatch(last.text) else None
        if lines and (_BULLET.match(quote.text) or (before in found and not _new_paragraph(last, quote))):
            found[place] = lines if mark is None else (*lines, mark)
        elif quote.text.endswith(":"):
            leans = same and before is not None and _LEANS.match(quote.text)
            lines = (place, before) if leans and before is not None else (place,)
        else:
            lines = ()
        before = place
    return found


def list_asked_for(question: str, evidence: Evidence) -> bool:
    """Return whether a question asks for the items of a list of which several are shown.

    That is so where the lines that introduce them have most of its words.
    """
    whole = Evidence(evidence.sentences, tuple(range(len(evidence.sentences))))
    items = Counter(lines[0] for place, lines in _introduced(whole).items() if place in evidence.places)
    language = language_of(evidence.hits)
    asked = set(stems(question, language))
    return any(
        count > 1 and len(asked & set(stems(evidence.sentences[line].text, language))) >= OF_LIST * len(asked)
        for line, count in items.items()
    )


def _new_paragraph(last: Quote | None, quote: Quote) -> bool:
    return last is None or last.hit is not quote.hit or "\n" in quote.hit.passage.text[last.end : quote.start]


def _titles(evidence: Evidence) -> dict[int, tuple[int, ...]]:
    """Return for each row of a table the places of the sentences of its passage that stand above the table."""
    found: dict[int, tuple[int, ...]] = {}
    for hit in evidence.in_order():
        above = 0
        places = [place for place in evidence.places if evidence.sentences[place].hit is hit]
        for table in tables(hit.passage.text):
            starts = {row.start for row in table.rows}
            head = table.head[0][0]
            titles = tuple(p for p in places if above <= evidence.sentences[p].start < head)
            found |= {place: titles for place in places if evidence.sentences[place].start in starts}
            above = table.rows[-1].end if table.rows else head
    return found


def _once(found: Sequence[Quote]) -> list[int]:
    """Return the places of the sentences that no other passage holds, the first of equal ones."""

    def elsewhere(place: int) -> bool:
        quote = found[place]
        return any(
            other.hit is not quote.hit and _holds(other.span, quote.span) and (other.span != quote.span or at < place)
            for at, other in enumerate(found)
        )

    return [place for place in range(len(found)) if not elsewhere(place)]


def _holds(outer: Span, inner: Span) -> bool:
    same = (outer.document_id, outer.page) == (inner.document_id, inner.page)
    return same and outer.start <= inner.start and inner.end <= outer.end
