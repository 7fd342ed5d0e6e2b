"""Reading several passages of one section, or of two sides: what the model is told, and their own words in order."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.kinds import Kind
from pdfqa_core.reading.matching import Quote, quotes
from pdfqa_core.reading.quoted_answer import QuotedAnswer
from pdfqa_core.streaming import is_set
from pdfqa_core.text import terms, words
from pdfqa_core.types import Answer, Done, Event, Hit, Progress

# How a question of each kind is to be answered; it stands at the end of the prompt.
INSTRUCTIONS: Mapping[Kind, str] = {
    Kind.COMPARISON: (
        "Compare the two using only the passages above: say in one or two sentences what holds for each, "
        "then in one sentence how they differ. If a passage speaks of one of them only, say so."
    ),
    Kind.LIST: (
        "Answer with a list of everything in the passages above that is asked for, one item a line, each beginning "
        'with "- ". Use only the passages above and leave nothing out.'
    ),
    Kind.SECTION: "Summarise in three to five sentences what the passages above say about it. Use nothing else.",
}

MOST_QUOTES = 15
FEW_ITEMS = 2  # items from which on a section counts as a list
LEAST_WORDS = 4  # of a sentence that says something
_ITEM = re.compile(r"\s*(?:[-*•–·▪◦]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S|\s*[A-Z][^.:|]{1,60}:\s+\S")


class SectionReader:
    """Answers with the section's own words, in their order: the first sentence of each of its paragraphs.

    With `items`, the items of its lists, where it has some; without `firsts` all its sentences, since what follows the
    first may be its exception. At most `count` of them; of the hits those of the first one's section are read.
    """

    llm = None

    def __init__(self, *, items: bool = False, firsts: bool = True, count: int = MOST_QUOTES) -> None:
        self.items = items
        self.firsts = firsts
        self.count = count

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, one Token per line and one Done; refuses where there is nothing to quote."""
        began = time.perf_counter()
        own = [
            hit for hit in hits if hit.retriever == hits[0].retriever and hit.passage.heading == hits[0].passage.heading
        ]
        yield Progress(f"reading {len(own)} passages")
        quoted = QuotedAnswer(between="\n")
        chosen, left = self.chosen(own)
        for quote in chosen:
            if is_set(stop):
                break
            yield quoted.add(quote)
        stopped = is_set(stop)
        refused = not quoted.text and not stopped
        notes = (f"The section has {left} more lines; its passages stand in the evidence.",) if left else ()
        yield Done(
            Answer(
                INSUFFICIENT_CONTEXT if refused else quoted.text, tuple(quoted.citations), tuple(hits), refused,
                stopped, reader="extractive", seconds={"read": time.perf_counter() - began}, notes=notes,
                sentences=tuple(quoted.sentences),
            )
        )  # fmt: skip

    def chosen(self, hits: Sequence[Hit]) -> tuple[list[Quote], int]:
        """Return the lines to quote, each once, and how many more there would be."""
        once: dict[tuple[str, ...], Quote] = {}
        for quote in (quote for hit in hits for quote in quotes(hit, longest=1)):
            once.setdefault(tuple(terms(quote.text)), quote)
        found = list(once.values())
        items = [quote for quote in found if _ITEM.match(quote.text) and len(words(quote.text)) > 1]
        if self.items and len(items) >= FEW_ITEMS:
            return items[: self.count], max(0, len(items) - self.count)
        said = [quote for quote in found if _says(quote)]
        firsts = [quote for quote in said if any(quote.span.start == span.start for span in quote.hit.passage.spans)]
        lines = said if self.items or not self.firsts or len(firsts) < FEW_ITEMS else firsts
        return lines[: self.count], max(0, len(lines) - self.count)


def _says(quote: Quote) -> bool:
    """Whether a quote is a sentence, not a heading."""
    return len(words(quote.text)) >= LEAST_WORDS and quote.text.rstrip("”\"')").endswith((".", "!", "?", ":"))
