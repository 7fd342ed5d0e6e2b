"""The extractive reader: the sentences of the hits that fit the question best, word for word. Needs no model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.checking import Checker, is_statement
from pdfqa_core.reading.comparing import first_compared
from pdfqa_core.reading.evidence import ROW, first
from pdfqa_core.reading.matching import Quote, quotes
from pdfqa_core.reading.quoted_answer import QuotedAnswer
from pdfqa_core.reading.relevance import relevance
from pdfqa_core.streaming import is_set
from pdfqa_core.text import compared_terms
from pdfqa_core.types import Answer, Done, Event, Hit, Progress

HEADING_WORDS = 10  # a line without a full stop is taken for a heading up to this many


@readers.register("extractive", "the best sentences, word for word")
class ExtractiveReader:
    """Answers with at most `count` sentences of the first `passages` hits, in their order, each of them cited.

    The sentences are the most relevant ones (see `relevance`); those that share no content term with the question are
    not given, nor are headings and questions, unless there is nothing else. A row of a table is given with the names of
    its columns. Of `checker` only the meaning is used: what is literal is supported.
    """

    llm = None

    def __init__(self, *, passages: int = 2, count: int = 3, checker: Checker | None = None) -> None:
        self.passages = passages
        self.count = count
        self.checker = checker or Checker()

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, one Token per sentence and one Done; refuses if no sentence shares a term."""
        began = time.perf_counter()
        yield Progress(f"reading {min(len(hits), self.passages)} passages")
        chosen = self.sentences(question, hits)
        quoted = QuotedAnswer(between=" ")
        for quote in chosen:
            if is_set(stop):
                break
            yield quoted.add(quote)
        stopped = is_set(stop)
        refused = not quoted.text and not stopped
        answer = Answer(
            INSUFFICIENT_CONTEXT if refused else quoted.text, tuple(quoted.citations), tuple(hits), refused, stopped,
            reader="extractive", seconds={"read": time.perf_counter() - began}, sentences=tuple(quoted.sentences),
            read=tuple(hit.rank for hit in first(hits, self.passages)),
        )  # fmt: skip
        yield Done(answer)

    def sentences(self, question: str, hits: Sequence[Hit]) -> list[Quote]:
        """Return the chosen sentences in the order of the hits and of their text."""
        read = first(hits, self.passages)
        candidates = [quote for hit in read for quote in quotes(hit, longest=1)]
        extreme = first_compared(question, [hit.passage for hit in read])
        wanted = {one: set(compared_terms(question, one)) for one in {quote.language for quote in candidates}}
        scored: dict[tuple[str, ...], tuple[float, int, Quote]] = {}
        scores = relevance(question, candidates, self.checker.meaning)
        for place, (score, quote) in enumerate(zip(scores, candidates, strict=True)):
            if extreme is not None and quote.hit is read[extreme[0]] and quote.start == extreme[1].start:
                scored[(quote.text,)] = (score + ROW, place, quote)
                continue
            key = tuple(sorted(quote.terms))  # overlapping passages hold the same sentence twice
            if wanted[quote.language] & set(quote.terms) and (key not in scored or score > scored[key][0]):
                scored[key] = (score, place, quote)
        said = {key: found for key, found in scored.items() if _says_something(found[2], question)}
        best = sorted((said or scored).values(), key=lambda entry: -entry[0])[: self.count]
        return [quote for _, _, quote in sorted(best, key=lambda entry: entry[1])]


def _says_something(quote: Quote, question: str) -> bool:
    """Return whether a quote is a sentence or a row of a table, not a heading or a question."""
    if quote.parts[0] != quote.text:
        return True
    ended = quote.text.rstrip().endswith((".", "!", ";", '"', "”", ")"))
    return is_statement(quote.text, question) and (ended or len(quote.text.split()) > HEADING_WORDS)
