"""Which sentences of the hits go into a prompt, and which lines are quoted: those that fit the question best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading.matching import Meaning, Quote, quotes, vectors_of
from pdfqa_core.reading.tables import tables
from pdfqa_core.text import compared_terms
from pdfqa_core.types import Citation, Hit, Span

# ----------------------------------------------------------------------------------------------------
# How well the sentences of passages fit a question: what decides which of them are read, quoted and shown.

# Chosen on the even conversations of strangers, everyday and natural (benchmarks/answers.py says what these are).
MEANING_WEIGHT = 0.7  # share of the meaning, where an encoder is at hand
BEFORE = 0.3  # what the question before weighs beside the question
NEXT = 0.8  # of a sentence's score, for the one behind it: it may go on with it, or be the first of its list


def relevance(
    question: str, candidates: Sequence[Quote], meaning: Meaning | None = None, *, before: str = ""
) -> list[float]:
    """Return a score per quote, each of one sentence, in the order of hits and text.

    The score is the sum of the inverse document frequencies (over the quotes at hand; Spärck Jones 1972) of the
    question's terms that the quote holds, divided by the same sum over all of them; with `meaning` the weighted mean of
    that and the cosine of the vectors. A quote has at least NEXT of the score of the one before it in its passage.
    `before` is the question before, which counts too. Raises what the encoder raises.
    """
    if not candidates:
        return []
    asked = [(text, weight) for text, weight in ((question, 1.0), (before, BEFORE)) if text.strip()]
    frequency = Counter(term for quote in candidates for term in quote.terms)
    weights: dict[str, float] = {}
    for text, weight in asked:
        for term in {term for one in {quote.language for quote in candidates} for term in compared_terms(text, one)}:
            idf = math.log(1 + len(candidates) / (1 + frequency[term]))
            weights[term] = weights.get(term, 0.0) + weight * idf
    total = sum(weights.values()) or 1.0
    scores = [sum(weight for term, weight in weights.items() if term in quote.terms) / total for quote in candidates]
    if meaning is not None:
        rows = meaning.vectors([text for text, _ in asked])
        direction = sum(weight * row for (_, weight), row in zip(asked, rows, strict=True))
        cosines = vectors_of(candidates, meaning) @ direction / max(1e-9, float((direction @ direction) ** 0.5))
        scores = [
            (1 - MEANING_WEIGHT) * said + MEANING_WEIGHT * max(0.0, float(cosine))
            for said, cosine in zip(scores, cosines, strict=True)
        ]
    for place in range(1, len(candidates)):
        if candidates[place].hit is candidates[place - 1].hit:
            scores[place] = max(scores[place], NEXT * scores[place - 1])
    return scores


# ----------------------------------------------------------------------------------------------------
# Which sentences of the hits go into a prompt, and which lines are quoted: those that fit the question best.

GAP = " … "  # stands for sentences that were left out
LONGEST_LINES = 60  # words of a piece that is quoted
PIECES = 2  # that are quoted
TITLES = 2  # sentences above a table that come with its rows: what it is about, and its unit


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentences of hits, how well each fits the question, and the places of those that a model is shown.

    The hits are in the order of their place in the documents, as a person would read them, not of their rank.
    """

    sentences: tuple[Quote, ...]
    scores: tuple[float, ...]
    places: tuple[int, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of which anything is shown, best first."""
        return tuple(sorted(self.in_order(), key=lambda hit: hit.rank))

    @property
    def language(self) -> str:
        """The language of the best hit, which an answer is expected to be in."""
        return self.hits[0].passage.language if self.places else ENGLISH

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

    def fitting(self, fits: Callable[[Evidence], bool]) -> Evidence | None:
        """Return the best sentences, in their order, as many as fit; None if not even one does.

        A row of a table comes with what stands above the table.
        """
        above = _above(self)
        kept: tuple[int, ...] = ()
        for place in sorted(self.places, key=lambda place: -self.scores[place]):
            wider = tuple(sorted({*kept, place, *above.get(place, ())}))
            if place not in kept and fits(replace(self, places=wider)):
                kept = wider
        return replace(self, places=kept) if kept else None

    def best(self) -> Evidence:
        """Return the best sentence alone."""
        return replace(self, places=(max(self.places, key=self.scores.__getitem__),))

    def lines(self) -> tuple[Citation, ...]:
        """Return the best lines, and the best ones elsewhere; nothing where there is no text.

        Each is a sentence with its neighbours on the page, the better one first, up to LONGEST_LINES words. Rows of
        tables have the names of their columns. They are never `verified`.
        """
        found: list[Citation] = []
        left = self.places
        while left and len(found) < PIECES:
            first, last = self._around(max(left, key=self.scores.__getitem__))
            shown = self.sentences[first : last + 1]
            spans = [quote.span for quote in shown]
            span = replace(spans[0], start=min(one.start for one in spans), end=max(one.end for one in spans))
            text = replace(self, places=tuple(range(first, last + 1))).texts()[0]
            found.append(Citation(shown[0].hit.rank, shown[0].hit.passage.id, span, text, verified=False))
            left = tuple(
                place for place in left if not any(_meet(self.sentences[place].span, one.span) for one in found)
            )
        return tuple(found)

    def _around(self, best: int) -> tuple[int, int]:
        """Return the first and the last place of a sentence with its neighbours."""
        first = last = best
        own = self.sentences[best]
        length = _length(own)
        while True:
            beside = [
                place
                for place in (first - 1, last + 1)
                if 0 <= place < len(self.sentences)
                and self.sentences[place].hit is own.hit
                and _piece(self.sentences[place]) == _piece(own)
                and length + _length(self.sentences[place]) <= LONGEST_LINES
            ]
            if not beside:
                return first, last
            chosen = max(beside, key=self.scores.__getitem__)
            first, last = min(first, chosen), max(last, chosen)
            length += _length(self.sentences[chosen])


def gather(
    question: str, hits: Sequence[Hit], meaning: Meaning | None = None, *, count: int = 0, before: str = ""
) -> Evidence:
    """Return the sentences of the first `count` hits (0: of all) with their scores; `places` has each sentence once.

    Raises what the encoder raises.
    """
    chosen = sorted(hits[: count or None], key=lambda hit: (hit.passage.document_id, hit.passage.spans[0]))
    found = tuple(quote for hit in chosen for quote in quotes(hit, longest=1))
    once: dict[object, int] = {}
    for place, quote in enumerate(found):  # passages may overlap, and two tables have rows that are alike
        once.setdefault(quote.span if quote.label else (quote.span.document_id, quote.text), place)
    scores = relevance(question, found, meaning, before=before)
    return Evidence(found, tuple(scores), tuple(sorted(once.values())))


def _meet(one: Span, other: Span) -> bool:
    """Return whether two spans share text."""
    same_page = (one.document_id, one.page) == (other.document_id, other.page)
    return same_page and one.start < other.end and other.start < one.end


def _piece(quote: Quote) -> int:
    """Return which piece of its passage a sentence stands in: what lies between two pieces is not the passage's."""
    start, spans = quote.span, quote.hit.passage.spans
    within = (n for n, one in enumerate(spans) if one.page == start.page and one.start <= start.start < one.end)
    return next(within, -1)


def _length(quote: Quote) -> int:
    return len(quote.parts[0].split())


def _above(evidence: Evidence) -> dict[int, tuple[int, ...]]:
    """Return for each row of a table the places of the last sentences of its passage that stand above the table."""
    found: dict[int, tuple[int, ...]] = {}
    for hit in evidence.in_order():
        places = [place for place in evidence.places if evidence.sentences[place].hit is hit]
        reached = 0
        for table in tables(hit.passage.text):
            rows, head = {row.start for row in table.rows}, table.head[0][0]
            titles = [place for place in places if reached <= evidence.sentences[place].start < head]
            found |= {p: tuple(titles[-TITLES:]) for p in places if evidence.sentences[p].start in rows}
            reached = table.rows[-1].end if table.rows else table.head[1][1]
    return found
