"""One question from start to end: rewrite, retrieve, read and cite, as a stream of events. Knows no user interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import History, Reader, Rewriter, StopSignal
from pdfqa_core.reading import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.answerability import Answerability, Judge
from pdfqa_core.streaming import is_set
from pdfqa_core.text import terms
from pdfqa_core.types import Answer, Citation, Done, Event, Hit, Progress, Query, Retrieved, Rewritten

LONGEST_QUESTION = 2000  # words
NOTHING_TO_SEARCH = "There is no text to search in these documents. Choose others, or read them with OCR."
NOTHING_FOUND = "No passage has a word in common with the question. Try other words."
ANSWERED_ANYWAY = "Answered because you asked for it: these passages may not hold the answer."
SURE = 0.35  # confidence below which an answer is only perhaps one; see docs/refusal.md

Retrieve = Callable[[Query, int], list[Hit]]
Nearest = Callable[[str, Sequence[Hit]], Citation | None]


@dataclass(frozen=True, slots=True)
class Planned:
    """What was found for a question that one search does not answer, and who reads it.

    `judged`: whether the passages may turn out not to answer it. `notes` are for the user: what was searched for.
    `called` is what the document is called, where the question names one. `parts` are questions that all have to be
    answered for the whole one to be.
    """

    hits: tuple[Hit, ...]
    reader: Reader
    judged: bool = True
    notes: tuple[str, ...] = ()
    called: str = ""
    parts: tuple[str, ...] = ()


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
    anyway: Reader | None = None,
    nearest: Nearest | None = None,
    stop: StopSignal | None = None,
    settings_fingerprint: str = "",
    passages: int | None = None,
    note: str = "",
    began: float | None = None,
) -> Generator[Event, None, None]:
    """Yield Progress, Rewritten, Retrieved (before the first Token), Tokens and, last, one Done.

    `history` holds (question, answer) pairs, oldest first. `retrieve(query, k)` returns hits, best first, `passages` is
    how many are searched (None: not known), `note` a sentence for the user on what is searched for; `plan(question,
    query, k)` what is read instead where the question asks for more than one search, else None. A confidence of `judge`
    below `threshold` means that nothing was found: the reader is not asked. An answer of one below SURE, one that
    repeats the last answer, and what the reader declined to answer are only perhaps an answer. With a reader `anyway`
    nothing is judged, and that one answers where `reader` declines. All that is not sure carries the sentence that is
    `nearest` to the question. A `stop` in any phase ends in a Done with the answer so far and
    `stopped` set.
    The rewriter's note becomes the answer's `rewriting`; without a history it is not asked at all. The judge and the
    reader are given the turn before.
    `seconds` of the answer: "prepare" (before this call, where `began`, a time of `perf_counter`, says since when),
    "rewrite", "retrieve", "judge", "first_token" (from the question on), "write" (from there on), "read", "check",
    "total".
    Raises UsageError for an empty question or one of more than 2,000 words, and passes on the PdfQAErrors of the parts.
    """
    _check(question)
    entered, began = time.perf_counter(), time.perf_counter() if began is None else began
    seconds = {"prepare": entered - began}

    planned: Planned | None = None

    def done(answer: Answer) -> Done:
        if (answer.refused or answer.perhaps) and nearest is not None:
            answer = replace(answer, nearest=nearest(standalone, answer.hits))
        return Done(
            replace(
                answer,
                rewriting=" ".join(
                    filter(None, (rewritten.note, note, *(planned.notes if planned is not None else ())))
                ),
                stopped=answer.stopped or is_set(stop),
                settings_fingerprint=settings_fingerprint,
                seconds={**answer.seconds, **seconds, "total": time.perf_counter() - began},
            )
        )

    searching = Progress("searching passages" if passages is None else f"searching {passages:,} passages")
    yield Progress("understanding the question") if history else searching
    question = question.strip()
    rewritten = rewriter.rewrite(question, history, stop=stop) if history else Rewritten(question)
    seconds["rewrite"] = time.perf_counter() - entered
    yield rewritten
    standalone = rewritten.question
    before = history[-1:]
    if is_set(stop):
        yield done(Answer(""))
        return

    if history:
        yield searching
    since = time.perf_counter()
    planned = plan(question, rewritten.query, k) if plan is not None else None
    planned = planned or Planned(tuple(retrieve(rewritten.query, k)), reader)
    hits = planned.hits
    seconds["retrieve"] = time.perf_counter() - since
    yield Retrieved(hits)
    since = time.perf_counter()
    found = None
    asked = judge if anyway is None and planned.judged else None
    if asked is not None and hits and not is_set(stop):
        found = yield from asked.judge(
            standalone, hits, before, called=planned.called, parts=planned.parts, stop=stop
        )  # fmt: skip
        seconds["judge"] = time.perf_counter() - since
    if is_set(stop):
        yield done(_judged(Answer(""), hits, found))
        return
    if not hits or (found is not None and found.confidence < threshold):
        why = found.reason(threshold) if found is not None else _nothing(passages)
        yield done(_judged(Answer(INSUFFICIENT_CONTEXT, refused=True, notes=(why,)), hits, found))
        return

    since = time.perf_counter()
    with closing(_events(planned.reader, standalone, hits, before, stop, anyway)) as events:
        for event in events:
            if not isinstance(event, Done):
                yield event
                continue
            answer = _judged(event.answer, hits, found)
            answer = _decided(answer, standalone, nearest, history, anyway=anyway is not None)
            seconds["read"] = time.perf_counter() - since - answer.seconds.get("check", 0.0)
            if "first_token" in answer.seconds:
                seconds["write"] = answer.seconds["read"] - answer.seconds["first_token"]
                seconds["first_token"] = since - began + answer.seconds["first_token"]
            yield done(answer)


def _nothing(passages: int | None) -> str:
    """Return why there are no hits, in words."""
    return NOTHING_TO_SEARCH if passages == 0 else NOTHING_FOUND


def _decided(answer: Answer, question: str, nearest: Nearest | None, history: History, *, anyway: bool) -> Answer:
    """Return the answer as what it is: where the reader wrote none the nearest lines are its text.

    They are perhaps an answer, unless one was asked for `anyway`; so is an answer that repeats the last one.
    """
    if answer.stopped:
        return answer
    if anyway:
        answer = replace(answer, notes=(ANSWERED_ANYWAY, *answer.notes))
    if answer.refused:
        near = nearest(question, answer.hits) if nearest is not None else None
        if near is None:
            return answer
        quoted = replace(near, verified=anyway, end=len(near.quote))
        return replace(answer, text=near.quote, refused=False, perhaps=not anyway, citations=(quoted,))
    said = terms(answer.text)
    return replace(answer, perhaps=True) if history and said and said == terms(history[-1][1]) else answer


def _judged(answer: Answer, hits: tuple[Hit, ...], found: Answerability | None) -> Answer:
    """Return the answer with its hits and what was judged of them; a judgement that was stopped says nothing.

    An answer of little confidence says that it may be none.
    """
    if found is None or not found.signals:
        return replace(answer, hits=hits)
    perhaps = found.confidence < SURE and bool(answer.text) and not answer.refused
    notes = (*found.notes, *answer.notes)
    return replace(
        answer, hits=hits, confidence=found.confidence, signals=found.signals, notes=notes, perhaps=perhaps
    )  # fmt: skip


def _events(
    reader: Reader, question: str, hits: Sequence[Hit], history: History, stop: StopSignal | None,
    anyway: Reader | None,
) -> Generator[Event, None, None]:  # fmt: skip
    """Yield the events of the reader; where it declines, the other one's Done takes the place of its own."""
    for event in reader.read(question, hits, history, stop=stop):
        if anyway is not None and isinstance(event, Done) and event.answer.refused:
            yield from (other for other in anyway.read(question, hits, history, stop=stop) if isinstance(other, Done))
        else:
            yield event


def _check(question: str) -> None:
    if not question.strip():
        raise UsageError("The question is empty.", "Type a question.")
    length = len(question.split())
    if length > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {length:,} words, at most {LONGEST_QUESTION:,} are possible.", "Ask a shorter question."
        )
