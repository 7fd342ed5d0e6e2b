"""Having a language model write, while whoever waits is told how far it is and shown its words."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing

from pdfqa_core.interfaces import LLM, Message, Sampling, StopSignal, Usage
from pdfqa_core.reading.guard import Opening
from pdfqa_core.reading.stream import MarkerFilter, cut_at_loop
from pdfqa_core.streaming import EitherStop
from pdfqa_core.types import Event, Progress, Token

_SENTENCE_ENDS = frozenset(".!?\n")


def write(
    llm: LLM, messages: list[Message], *, max_tokens: int, sampling: Sampling, stop: StopSignal | None, reading: str,
    echoes: Sequence[str] = (),
) -> Generator[Event, None, tuple[str, Usage, float | None]]:  # fmt: skip
    """Yield Progress and a Token per piece; return the text, what it took, and when its first token came.

    `reading` says what is done before the first token. What may turn out to be one of `echoes` is held back. A model
    that repeats itself is stopped through `stop`, so that its tokens are counted to the end.
    """
    text, usage, first_token = "", Usage(), None
    loop = threading.Event()
    pieces = llm.stream(messages, max_tokens=max_tokens, stop=EitherStop(stop, loop), sampling=sampling)
    shown, opening = MarkerFilter(), Opening(echoes)
    with closing(pieces):
        for piece in pieces:
            if isinstance(piece, Usage):
                usage = piece
            elif isinstance(piece, Progress):
                yield _worded(piece, reading)
            elif not loop.is_set():
                if first_token is None:
                    first_token = time.perf_counter()
                    yield Progress("writing")
                text += piece
                if ready := shown.feed(opening.feed(piece)):
                    yield Token(ready)
                if _SENTENCE_ENDS & set(piece) and (cut := cut_at_loop(text)) is not None:
                    text = cut
                    loop.set()
    if not loop.is_set() and (ready := shown.flush()):
        yield Token(ready)
    return text, usage, first_token


def _worded(progress: Progress, reading: str) -> Progress:
    """Return an engine's progress in the words a user reads."""
    if progress.phase == "waiting":
        others = "1 other answer" if progress.total == 1 else f"{progress.total} other answers"
        return Progress(f"waiting for {others}")
    return Progress(reading, progress.done, progress.total) if progress.phase == "reading" else progress
