"""One question from start to end: rewrite, retrieve, read and cite, as a stream of events. Knows no user interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from pdfqa_core.errors import UsageError
from pdfqa_core.reading import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.answerability import Answerability, Judge
from pdfqa_core.streaming import is_set
from pdfqa_core.types import (
    Answer,
    Done,
    Event,
    History,
    Hit,
    Progress,
    Query,
    Reader,
    Retrieved,
    Rewriter,
    Rewritten,
    StopSignal,
)

LONGEST_QUESTION = 2000  # words

Retrieve = Callable[[Query, int], list[Hit]]


@dataclass(frozen=True, slots=True)
class Planned:
    """What was found for a question that one search does not answer, and who reads it.

    `judged`: whether the passages may turn out not to answer it. `notes` are sentences for the user.
    """

    hits: tuple[Hit, ...]
    reader: Reader
    judged: bool = True
    notes: tuple[str, ...] = ()


Plan = Callable[[str, Query, int], Planned | None]


def ask(
    question: str,
    history: History = (),
    *,
    rewriter: Rewriter,
    retrieve: Retrieve,
    reader: Reader,
    k: int = 5,
    plan: Plan | None = None,
    judge: Judge | None = None,
    threshold: float = 0.0,
    stop: StopSignal | None = None,
    settings_fingerprint: str = "",
    searched: str = "passages",
) -> Generator[Event, None, None]:
    """Yield Progress, Rewritten, Retrieved (before the first Token), Tokens and, last, one Done.

    `history` holds (question, answer) pairs, oldest first. `retrieve(query, k)` returns hits, best first;
    `plan(question, query, k)` what is read instead where the question asks for more than that, else None.
    A confidence of `judge` below `threshold` means a refusal without asking the reader; `searched` says in words what
    is searched ("1,394 passages"). A `stop` in any phase ends in a Done with the answer so far and `stopped` set.
    The rewriter's note becomes the answer's `rewriting`; without a history it is not asked at all. The reader is given
    the turn before where the question leans on it.
    `seconds` of the answer: "rewrite", "retrieve", "judge", "first_token" (from the question on), "write" (from
    there on), "read", "check", "total".
    Raises UsageError for an empty question or one of more than 2,000 words, and passes on the PdfQAErrors of the parts.
    """
    _check(question)
    began = time.perf_counter()
    seconds: dict[str, float] = {}

    planned: Planned | None = None

    def done(answer: Answer) -> Done:
        return Done(
            replace(
                answer,
                rewriting=rewritten.note,
                notes=(*(planned.notes if planned is not None else ()), *answer.notes),
                stopped=answer.stopped or is_set(stop),
                settings_fingerprint=settings_fingerprint,
                seconds={**answer.seconds, **seconds, "total": time.perf_counter() - began},
            )
        )

    yield Progress("understanding the question" if history else f"searching {searched}")
    question = question.strip()
    rewritten = rewriter.rewrite(question, history, stop=stop) if history else Rewritten(question)
    seconds["rewrite"] = time.perf_counter() - began
    yield rewritten
    standalone = rewritten.question
    if is_set(stop):
        yield done(Answer(""))
        return

    if history:
        yield Progress(f"searching {searched}")
    since = time.perf_counter()
    planned = plan(question, rewritten.query, k) if plan is not None else None
    hits = planned.hits if planned is not None else tuple(retrieve(rewritten.query, k))
    reader = planned.reader if planned is not None else reader
    seconds["retrieve"] = time.perf_counter() - since
    yield Retrieved(hits)
    since = time.perf_counter()
    found = None
    if judge is not None and hits and (planned is None or planned.judged) and not is_set(stop):
        found = yield from judge.judge(standalone, hits, stop=stop)
        seconds["judge"] = time.perf_counter() - since
    if is_set(stop):
        yield done(_judged(Answer(""), hits, found))
        return
    if not hits or (found is not None and found.confidence < threshold):
        why = found.reason(threshold) if found is not None else "No passage was found."
        yield done(_judged(Answer(INSUFFICIENT_CONTEXT, refused=True, notes=(why,)), hits, found))
        return

    since = time.perf_counter()
    before = history[-1:] if rewritten.leans else ()
    with closing(_events(reader, standalone, hits, before, stop)) as events:
        for event in events:
            if not isinstance(event, Done):
                yield event
                continue
            answer = _judged(event.answer, hits, found)
            seconds["read"] = time.perf_counter() - since - answer.seconds.get("check", 0.0)
            if "first_token" in answer.seconds:
                seconds["write"] = answer.seconds["read"] - answer.seconds["first_token"]
                seconds["first_token"] = since - began + answer.seconds["first_token"]
            yield done(answer)


def _judged(answer: Answer, hits: tuple[Hit, ...], found: Answerability | None) -> Answer:
    """Return the answer with its hits and what was judged of them; a judgement that was stopped says nothing."""
    if found is None or not found.signals:
        return replace(answer, hits=hits)
    notes = (*found.notes, *answer.notes)
    return replace(answer, hits=hits, confidence=found.confidence, signals=found.signals, notes=notes)


def _events(
    reader: Reader, question: str, hits: Sequence[Hit], history: History, stop: StopSignal | None
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
