"""One question from start to end: rewrite, retrieve, judge, read, decide. Knows no user interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import History, Reader, Rewriter, StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.answerability import AGREED, Answerability, Judge
from pdfqa_core.reading.outcomes import decided, with_lines
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Answer, Citation, Done, Event, Hit, Progress, Query, Retrieved, Rewritten

LONGEST_QUESTION = 2000  # words
NOTHING_TO_SEARCH = "There is no text to search in these documents. Choose others, or read them with OCR."
NOTHING_FOUND = "No passage has a word in common with the question. Try other words."

Retrieve = Callable[[Query, int], Sequence[Hit]]
Lines = Callable[[str, Sequence[Hit], History], Sequence[Citation]]


def ask(
    question: str,
    history: History = (),
    *,
    rewriter: Rewriter,
    retrieve: Retrieve,
    reader: Reader,
    k: int = 5,
    judge: Judge | None = None,
    threshold: float = 0.0,
    sure_from: float = 0.0,
    lines: Lines | None = None,
    stop: StopSignal | None = None,
    settings_fingerprint: str = "",
    passages: int | None = None,
    note: Callable[[], str] = str,
    began: float | None = None,
) -> Generator[Event, None, None]:
    """Yield Progress, Rewritten, Retrieved (before the first Token), Tokens and, last, one Done.

    `history` holds (question, answer) pairs, oldest first. `retrieve(query, k)` returns hits, best first,
    `passages` is how many are searched (None: not known), `note` gives a sentence for the user on what was
    searched, or "". A confidence of `judge` (None: nothing is judged) below `threshold` means that nothing was
    found: the reader is not asked. With a threshold of 0 that cannot be, and the search judges alone. An answer
    that is right with less than a probability of `sure_from` is only perhaps one (see `sureness`). `lines` gives
    what fits the question best: it stands with every answer that is not sure. A `stop` in any phase ends in a Done
    with the answer so far and `stopped` set. The rewriter's note becomes the answer's `rewriting`; without a
    history it is not asked at all. The judge and the reader are given the turn before.
    `seconds` of the answer: "prepare" (before this call, where `began`, a time of `perf_counter`, says since when),
    "rewrite", "retrieve", "judge", "first_token" (from the question on), "write" (from there on), "read", "check",
    "weigh" (the model is asked about its answer), "total".
    Raises UsageError for an empty question or one of more than 2,000 words, and passes on the PdfQAErrors of the parts.
    """
    _check(question)
    entered, began = time.perf_counter(), time.perf_counter() if began is None else began
    seconds = {"prepare": entered - began}
    before = history[-1:]

    def done(answer: Answer) -> Done:
        return Done(
            replace(
                answer,
                rewriting=" ".join(filter(None, (rewritten.note, note()))),
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
    if is_set(stop):
        yield done(Answer(""))
        return

    if history:
        yield searching
    since = time.perf_counter()
    hits = tuple(retrieve(rewritten.query, k))
    seconds["retrieve"] = time.perf_counter() - since
    yield Retrieved(hits)
    since = time.perf_counter()
    found = None
    if judge is not None and hits and not is_set(stop):
        found = yield from judge.judge(standalone, hits, before, decides=threshold > 0.0, stop=stop)
        seconds["judge"] = time.perf_counter() - since
    if is_set(stop):
        yield done(_judged(Answer(""), hits, found))
        return
    nearest = lines(standalone, hits, before) if lines is not None and hits else ()
    if not hits or (found is not None and found.confidence < threshold):
        why = found.reason(threshold) if found is not None else _nothing(passages)
        nothing = Answer(INSUFFICIENT_CONTEXT, refused=True, notes=(why,))
        yield done(_judged(with_lines(nothing, nearest), hits, found))
        return

    since = time.perf_counter()
    language = hits[0].passage.language or ENGLISH
    last = history[-1][1] if history else ""
    for event in reader.read(standalone, hits, before, stop=stop):
        if not isinstance(event, Done):
            yield event
            continue
        answer = _judged(event.answer, hits, found)
        seconds["read"] = time.perf_counter() - since - answer.seconds.get("check", 0.0)
        if "first_token" in answer.seconds:
            seconds["write"] = answer.seconds["read"] - answer.seconds["first_token"]
            seconds["first_token"] = since - began + answer.seconds["first_token"]
        if judge is not None and not answer.refused and not is_set(stop):
            answer = yield from _weighed(answer, judge, standalone, before, stop)
        yield done(decided(answer, nearest, sure_from, language, last))


def _weighed(
    answer: Answer, judge: Judge, question: str, before: History, stop: StopSignal | None
) -> Generator[Event, None, Answer]:
    """Return the answer with what the model says to it now that it is written."""
    since = time.perf_counter()
    agreed = yield from judge.agrees(question, answer.text, answer.hits, before, stop=stop)
    signals = answer.signals if agreed is None else {**answer.signals, AGREED: agreed}
    return replace(answer, signals=signals, seconds={**answer.seconds, "weigh": time.perf_counter() - since})


def _nothing(passages: int | None) -> str:
    """Return why there are no hits, in words."""
    return NOTHING_TO_SEARCH if passages == 0 else NOTHING_FOUND


def _judged(answer: Answer, hits: tuple[Hit, ...], found: Answerability | None) -> Answer:
    """Return the answer with its hits and what was judged of them; a judgement that was stopped says nothing."""
    if found is None or not found.signals:
        return replace(answer, hits=hits)
    notes = (*found.notes, *answer.notes)
    return replace(answer, hits=hits, confidence=found.confidence, signals=found.signals, notes=notes)


def _check(question: str) -> None:
    if not question.strip():
        raise UsageError("The question is empty.", "Type a question.")
    length = len(question.split())
    if length > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {length:,} words, at most {LONGEST_QUESTION:,} are possible.", "Ask a shorter question."
        )
