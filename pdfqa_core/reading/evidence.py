"""The sentences of passages: how well each matches a text, and which go into a prompt or are quoted."""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading.tables import tables
from pdfqa_core.text import compared_terms, sentences
from pdfqa_core.types import Citation, Hit, Passage, Span

# ----------------------------------------------------------------------------------------------------
# How near two texts are in meaning: vectors from an encoder that is passed in, each text encoded once.

Vectors: TypeAlias = npt.NDArray[np.float32]
Encode: TypeAlias = Callable[[Sequence[str]], Vectors]


class Meaning:
    """The vectors of texts. `encode` returns one row of length 1 per text; the last `limit` texts are remembered."""

    def __init__(self, encode: Encode, limit: int = 4000) -> None:
        self._encode = encode
        self._limit = limit
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return an (n, dimension) array; one call of the encoder for all texts that are not known yet.

        Raises what the encoder raises.
        """
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        if missing:
            found.update(zip(missing, np.asarray(self._encode(missing), dtype=np.float32), strict=True))
        with self._lock:
            for text in texts:
                self._known[text] = found[text]
                self._known.move_to_end(text)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)

    def forget(self) -> None:
        """Forget the texts."""
        with self._lock:
            self._known.clear()


# ----------------------------------------------------------------------------------------------------
# How well a sentence of an answer matches the sentences of passages, by their words and by their meaning.

LONGEST_QUOTE = 2  # adjacent sentences of a passage that may support one sentence of an answer together
MATCH_MEANING = 0.5  # share of the meaning in a score
LEAST_SIMILARITY = 0.3  # what is estimated of sentences that share next to nothing; measured with the thresholds


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of a passage: what it says, where it stands, its terms, and the sentences it is made of.

    `text` is `hit.passage.text[start:end]`. `parts` and `terms` are what a reader sees: the same, or for a row of a
    table, which has a `label`, the row with the names of its columns.
    """

    hit: Hit
    span: Span
    text: str
    start: int
    end: int
    terms: Counter[str]
    parts: tuple[str, ...]
    label: str = ""

    @property
    def language(self) -> str:
        """The language by whose rules it is compared."""
        return self.hit.passage.language


@dataclass(frozen=True, slots=True)
class Match:
    """How well a quote supports a sentence.

    `containment` is the share of the sentence's content terms that the quote holds, `f1` the harmonic mean of that
    share and the share of the quote's terms that the sentence uses (token F1, Rajpurkar et al. 2016), `similarity` the
    cosine of their vectors (Reimers and Gurevych 2019), None without an encoder; `row` how well a number of the
    sentence fits the quote's cell of a table, 0 where it is none.
    """

    quote: Quote
    containment: float
    f1: float
    similarity: float | None = None
    row: float = 0.0

    @property
    def score(self) -> float:
        """0..1: the mean of the match of words (the mean of containment and F1) and of the similarity, or `row`.

        Without an encoder the similarity is estimated from the words, so that the same thresholds hold.
        """
        words = (self.containment + self.f1) / 2
        if self.similarity is None:
            similarity = LEAST_SIMILARITY + (1 - LEAST_SIMILARITY) * words if words else 0.0
        else:
            similarity = max(0.0, self.similarity)
        return max(self.row, (1 - MATCH_MEANING) * words + MATCH_MEANING * similarity)


def language_of(hits: Sequence[Hit]) -> str:
    """Return the language of the best hit, which an answer is expected to be in."""
    return hits[0].passage.language if hits else ENGLISH


def locate(passage: Passage, start: int, end: int) -> tuple[Span, int, int] | None:
    """Return the span on a page that `passage.text[start:end]` stands for, and the part of it that lies in the span.

    The passage's text is its spans' texts, joined by a separator of one length. Of a range that touches several spans
    the largest part is taken. None if the text is not what the spans hold.
    """
    lengths = [span.end - span.start for span in passage.spans]
    gaps = len(lengths) - 1
    spare = len(passage.text) - sum(lengths)
    if spare < 0 or (spare if gaps == 0 else spare % gaps):
        return None
    separator = spare // gaps if gaps else 0
    origins = [0, *accumulate(length + separator for length in lengths[:-1])]
    parts = [
        (min(end, origin + length) - max(start, origin), span, origin, length)
        for span, origin, length in zip(passage.spans, origins, lengths, strict=True)
    ]
    shared, span, origin, length = max(parts, key=lambda part: part[0])
    if shared <= 0:
        return None
    first, last = max(start, origin), min(end, origin + length)
    return Span(span.document_id, span.page, span.start + first - origin, span.start + last - origin), first, last


def quotes(hit: Hit, longest: int = LONGEST_QUOTE) -> Iterator[Quote]:
    """Yield every run of 1 to `longest` adjacent sentences of a hit that lies within one span.

    A row of a table stands alone; rows without values (the names of the columns among them) are part of others.
    """
    text, language = hit.passage.text, hit.passage.language
    found = tables(text)
    rows = {row.start: row for table in found for row in table.rows}
    silent = {start for table in found for start, _ in table.head}
    silent |= {row.start for table in found for row in table.rows if not row.values}
    bounds = [bound for bound in sentences(text, language) if bound[0] not in silent]
    for size in range(1, longest + 1):
        for position in range(len(bounds) - size + 1):
            run = bounds[position : position + size]
            if size > 1 and any(start in rows for start, _ in run):
                continue
            start, end = run[0][0], run[-1][1]
            place = locate(hit.passage, start, end)
            if place is None:
                span, first, last = hit.passage.spans[0], start, end
            else:
                span, first, last = place
                if (first, last) != (start, end) and size > 1:
                    continue
            row = rows.get(start) if size == 1 else None
            parts = (row.words,) if row else tuple(text[a:b] for a, b in run) if size > 1 else (text[first:last],)
            terms = Counter(compared_terms(" ".join(parts), language))
            yield Quote(hit, span, text[first:last], first, last, terms, parts, row.label if row else "")


def match(sentence: str, quote: Quote, similarity: float | None = None) -> Match:
    """Return how well `quote` supports `sentence`."""
    wanted = Counter(compared_terms(sentence, quote.language))
    shared = (wanted & quote.terms).total()
    containment = shared / wanted.total() if wanted else 0.0
    used = shared / quote.terms.total() if quote.terms else 0.0
    f1 = 2 * containment * used / (containment + used) if shared else 0.0
    return Match(quote, containment, f1, similarity)


def vectors_of(candidates: Sequence[Quote], meaning: Meaning) -> Vectors:
    """Return one row of length 1 per quote: the direction of the sum of its sentences' vectors."""
    parts = [part for quote in candidates for part in quote.parts]
    singles = meaning.vectors(parts)
    starts = [0, *accumulate(len(quote.parts) for quote in candidates[:-1])]
    sums = np.add.reduceat(singles, starts, axis=0)
    found: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return found


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
