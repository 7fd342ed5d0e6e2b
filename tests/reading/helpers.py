"""Hits made of plain texts."""

from pdfqa_core.reading.checking import Checked, Checker
from pdfqa_core.types import CheckedSentence, Done, Hit, Passage, Span, Support, Token


class Agreeing(Checker):
    """Says that the passages support whatever was written, for tests of something else."""

    def check(self, text, hits, question="", *, stop=None):
        yield from ()
        return Checked(sentences=(CheckedSentence(0, len(text), Support.SUPPORTED),))


def hit(text, rank=1, document="doc", page=1, start=100, **more):
    span = Span(document, page, start, start + len(text))
    return Hit(Passage(f"p{rank}", (span,), text), 1.0 / rank, rank, "test", **more)


def hits(*texts):
    return [hit(text, rank, page=rank) for rank, text in enumerate(texts, 1)]


def read(reader, question, found, **options):
    """Return (text of all tokens, the answer, all events)."""
    events = list(reader.read(question, found, **options))
    assert isinstance(events[-1], Done)
    assert sum(isinstance(event, Done) for event in events) == 1
    return "".join(event.text for event in events if isinstance(event, Token)), events[-1].answer, events
