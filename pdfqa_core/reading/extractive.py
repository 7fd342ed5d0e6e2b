"""The extractive reader: the sentences of the hits that fit the question best, word for word. Needs no model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.evidence import Meaning, Quote, gather, match, quotes, vectors_of
from pdfqa_core.reading.prompts import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Answer, CheckedSentence, Citation, Done, Event, Hit, Progress, Support, Token

# ----------------------------------------------------------------------------------------------------
# One sentence of the evidence: the one that says best what was selected in an answer, or is nearest to a question.

LEAST = 0.3  # score (0..1) from which a sentence matches


def best_sentence(text: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> Citation | None:
    """Return the sentence of the hits with the best match score, of several the one of the best hit.

    None if none reaches LEAST. `meaning` adds the similarity of vectors to that of words. The citation's `start` and
    `end` stay 0: the selection need not be a sentence of an answer. Raises what the encoder raises.
    """
    quote = best_quote(text, hits, meaning)
    if quote is None:
        return None
    return Citation(quote.hit.rank, quote.hit.passage.id, quote.span, quote.text, verified=True)


def best_quote(text: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> Quote | None:
    """Return the same sentence as the quote that it is, with a row of a table in words."""
    text = " ".join(text.split())
    candidates = [quote for hit in hits for quote in quotes(hit, longest=1)]
    if not text or not candidates:
        return None
    cosines: list[float | None] = [None] * len(candidates)
    if meaning is not None:
        cosines = [float(cosine) for cosine in vectors_of(candidates, meaning) @ meaning.vectors([text])[0]]
    found = [match(text, quote, cosine) for quote, cosine in zip(candidates, cosines, strict=True)]
    best = max(found, key=lambda one: (one.score, -one.quote.hit.rank))
    return best.quote if best.score >= LEAST else None


# ----------------------------------------------------------------------------------------------------
# An answer that is put together from quotes, word for word.


@dataclass(slots=True)
class QuotedAnswer:
    """The text so far, quotes with `between` between them; each one is cited, and supported since it is literal."""

    between: str
    text: str = ""
    citations: list[Citation] = field(default_factory=list)
    sentences: list[CheckedSentence] = field(default_factory=list)

    def add(self, quote: Quote, *, strip: str = "", lead: str = "") -> Token:
        """Add a quote without the characters of `strip` at its beginning; return what the text has gained.

        `lead` stands before it and is not part of what is cited.
        """
        words = " ".join(quote.parts[0].split()).lstrip(strip or None)
        piece = f"{self.between}{lead}{words}" if self.text else f"{lead}{words}"
        self.text += piece
        start, end = len(self.text) - len(words), len(self.text)
        self.citations.append(Citation(quote.hit.rank, quote.hit.passage.id, quote.span, quote.text, True, start, end))
        self.sentences.append(CheckedSentence(start, end, Support.SUPPORTED))
        return Token(piece)


# ----------------------------------------------------------------------------------------------------
# The extractive reader: the sentences of the hits that fit the question best, word for word. Needs no model.


@readers.register("extractive", "the best sentences, word for word")
class ExtractiveReader:
    """Answers with at most `count` sentences of the first `passages` hits, in their order, each of them cited.

    The sentences are the most relevant ones (see `relevance`). A row of a table is given with the names of its columns.
    Of `checker` only the meaning is used: what is literal is supported.
    """

    llm = None

    def __init__(self, *, passages: int = 2, count: int = 3, checker: Checker | None = None) -> None:
        self.passages = passages
        self.count = count
        self.checker = checker or Checker()

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, one Token per sentence and one Done; refuses if no sentence has anything of the question."""
        began = time.perf_counter()
        yield Progress(f"reading {min(len(hits), self.passages)} passages")
        chosen = self.sentences(question, hits, history)
        quoted = QuotedAnswer(between=" ")
        for quote in chosen:
            if is_set(stop):
                break
            yield quoted.add(quote)
        stopped = is_set(stop)
        refused = not quoted.text and not stopped
        answer = Answer(
            INSUFFICIENT_CONTEXT if refused else quoted.text,
            tuple(quoted.citations),
            tuple(hits),
            refused,
            stopped,
            reader="extractive",
            seconds={"read": time.perf_counter() - began},
            sentences=tuple(quoted.sentences),
            read=tuple(hit.rank for hit in hits[: self.passages]),
        )
        yield Done(answer)

    def sentences(self, question: str, hits: Sequence[Hit], history: History = ()) -> list[Quote]:
        """Return the chosen sentences in the order of the documents and of their text."""
        before = history[-1][0] if history else ""
        found = gather(question, hits, self.checker.meaning, count=self.passages, before=before)
        said = [p for p in found.places if found.scores[p] > 0 and any(map(str.isalpha, found.sentences[p].text))]
        places = sorted(said, key=lambda place: -found.scores[place])
        return [found.sentences[place] for place in sorted(places[: self.count])]
