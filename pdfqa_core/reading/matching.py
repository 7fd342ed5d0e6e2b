"""How well a sentence of an answer matches the sentences of passages, by their words and by their meaning."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading.tables import tables
from pdfqa_core.text import compared_terms, sentences
from pdfqa_core.types import Hit, Passage, Span

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
MEANING_WEIGHT = 0.5  # share of the meaning in a score
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
        return max(self.row, (1 - MEANING_WEIGHT) * words + MEANING_WEIGHT * similarity)


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
