"""The extractive reader: the sentences of the hits that fit the question best, word for word. Needs no model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.evidence import gather
from pdfqa_core.reading.matching import Quote
from pdfqa_core.reading.quoted_answer import QuotedAnswer
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Answer, Done, Event, Hit, Progress


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
            INSUFFICIENT_CONTEXT if refused else quoted.text, tuple(quoted.citations), tuple(hits), refused, stopped,
            reader="extractive", seconds={"read": time.perf_counter() - began}, sentences=tuple(quoted.sentences),
            read=tuple(hit.rank for hit in hits[: self.passages]),
        )  # fmt: skip
        yield Done(answer)

    def sentences(self, question: str, hits: Sequence[Hit], history: History = ()) -> list[Quote]:
        """Return the chosen sentences in the order of the documents and of their text."""
        before = history[-1][0] if history else ""
        found = gather(question, hits, self.checker.meaning, count=self.passages, before=before)
        places = sorted((p for p in found.places if found.scores[p] > 0), key=lambda place: -found.scores[place])
        return [found.sentences[place] for place in sorted(places[: self.count])]
