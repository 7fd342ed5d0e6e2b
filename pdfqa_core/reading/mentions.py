"""Which documents speak of something: a line for each, with the sentence that says most of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.matching import quotes
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.quoted_answer import QuotedAnswer
from pdfqa_core.reading.relevance import relevance
from pdfqa_core.streaming import is_set
from pdfqa_core.text import compared_terms
from pdfqa_core.types import Answer, Done, Event, Hit, Progress


class MentionsReader:
    """Answers with a sentence of each hit that has a word of the subject, behind the title of its document.

    `titles` are what the documents are called, by id; `meaning` tells which of several sentences is nearest.
    """

    llm = None

    def __init__(self, subject: str, titles: Mapping[str, str], meaning: Meaning | None = None) -> None:
        self.subject = subject
        self.titles = titles
        self.meaning = meaning

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, one Token per hit and one Done."""
        began = time.perf_counter()
        yield Progress(f"reading {len(hits)} passages")
        quoted = QuotedAnswer(between="\n")
        for hit in hits:
            if is_set(stop):
                break
            wanted = set(compared_terms(self.subject, hit.passage.language))
            found = list(quotes(hit, longest=1))
            named = [quote for quote in found if wanted & set(quote.terms)] or found
            scores = relevance(self.subject, named, self.meaning)
            best = named[max(range(len(named)), key=scores.__getitem__)]
            yield quoted.add(best, strip="•-– ", lead=f"- {self.titles[hit.passage.document_id]}: ")
        yield Done(
            Answer(
                quoted.text, tuple(quoted.citations), tuple(hits), stopped=is_set(stop), reader="extractive",
                seconds={"read": time.perf_counter() - began}, sentences=tuple(quoted.sentences),
                read=tuple(hit.rank for hit in hits),
            )
        )  # fmt: skip
