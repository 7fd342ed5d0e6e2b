"""One question from start to end: rewrite, retrieve, read and cite, as a stream of events. Knows no user interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from pdfqa_core.errors import UsageError
from pdfqa_core.reading import INSUFFICIENT_CONTEXT
from pdfqa_core.types import (
    Answer,
    Done,
    Event,
    Hit,
    Progress,
    Reader,
    Retrieved,
    Rewriter,
    Rewritten,
    StopSignal,
)

LONGEST_QUESTION = 2000  # words

Retrieve = Callable[[str, int], list[Hit]]
Confidence = Callable[[str, Sequence[Hit]], float]


def ask(
    question: str,
    history: Sequence[tuple[str, str]] = (),
    *,
    rewriter: Rewriter,
    retrieve: Retrieve,
    reader: Reader,
    k: int = 5,
    confidence: Confidence | None = None,
    threshold: float = 0.0,
    stop: StopSignal | None = None,
    settings_fingerprint: str = "",
    searched: str = "passages",
) -> Iterator[Event]:
    """Yield Progress, Rewritten, Retrieved (before the first Token), Tokens and, last, one Done.

    `history` holds (question, answer) pairs, oldest first. `retrieve(question, k)` returns hits, best first.
    `confidence` (0..1) below `threshold` means a refusal without asking the reader; `searched` says in words what is
    searched ("1,394 passages"). A `stop` in any phase ends in a Done with what there is by then and `stopped` set.
    `seconds` of the answer: "rewrite", "retrieve", "first_token" (from the question on), "read", "check", "total".
    Raises UsageError for an empty question or one of more than 2,000 words, and passes on the PdfQAErrors of the parts.
    """
    _check(question)
    began = time.perf_counter()
    seconds: dict[str, float] = {}

    def done(answer: Answer) -> Done:
        return Done(
            replace(
                answer,
                stopped=answer.stopped or _is_set(stop),
                settings_fingerprint=settings_fingerprint,
                seconds={**answer.seconds, **seconds, "total": time.perf_counter() - began},
            )
        )

    yield Progress("understanding the question" if history else f"searching {searched}")
    standalone = rewriter.rewrite(question.strip(), history, stop=stop)
    seconds["rewrite"] = time.perf_counter() - began
    yield Rewritten(standalone)
    if _is_set(stop):
        yield done(Answer(""))
        return

    if history:
        yield Progress(f"searching {searched}")
    since = time.perf_counter()
    hits = tuple(retrieve(standalone, k))
    seconds["retrieve"] = time.perf_counter() - since
    yield Retrieved(hits)
    sure = confidence(standalone, hits) if confidence is not None and hits else None
    if _is_set(stop):
        yield done(Answer("", hits=hits, confidence=sure))
        return
    if not hits or (sure is not None and sure < threshold):
        note = (
            f"The best passages found are unlikely to answer the question (confidence {sure:.2f}, needed "
            f"{threshold:.2f})."
            if sure is not None
            else "No passage was found."
        )
        yield done(Answer(INSUFFICIENT_CONTEXT, hits=hits, refused=True, confidence=sure, notes=(note,)))
        return

    since = time.perf_counter()
    with closing(_events(reader, standalone, hits, history, stop)) as events:
        for event in events:
            if not isinstance(event, Done):
                yield event
                continue
            answer = replace(event.answer, hits=hits, confidence=sure)
            seconds["read"] = time.perf_counter() - since - answer.seconds.get("check", 0.0)
            if "first_token" in answer.seconds:
                seconds["first_token"] = since - began + answer.seconds["first_token"]
            yield done(answer)


def _events(
    reader: Reader, question: str, hits: Sequence[Hit], history: Sequence[tuple[str, str]], stop: StopSignal | None
) -> Generator[Event, None, None]:
    yield from reader.read(question, hits, history, stop=stop)


def _check(question: str) -> None:
    if not question.strip():
        raise UsageError("The question is empty.", "Type a question.")
    length = len(question.split())
    if length > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {length:,} words, at most {LONGEST_QUESTION:,} are possible.", "Ask a shorter question."
        )


def _is_set(stop: StopSignal | None) -> bool:
    return stop is not None and stop.is_set()
