"""Having a language model write, while whoever waits is told how far it is and shown its words.

A text that begins to repeat itself ends there, and citation markers that the model writes itself are held back.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator
from contextlib import closing

from pdfqa_core.interfaces import LLM, Message, Sampling, StopSignal, Usage
from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.streaming import EitherStop
from pdfqa_core.text import sentences, terms
from pdfqa_core.types import Event, Progress, Token

LEAST_WORDS = 4  # shorter sentences may be repeated ("Yes." "See above.")
_TAIL = re.compile(r"(.{6,200}?)\1{2,}\s*$", re.DOTALL)
_SENTENCE_ENDS = frozenset(".!?\n")


def write(
    llm: LLM, messages: list[Message], *, max_tokens: int, sampling: Sampling, stop: StopSignal | None, reading: str
) -> Generator[Event, None, tuple[str, Usage, float | None]]:
    """Yield Progress and a Token per piece; return the text, what it took, and when its first token came.

    `reading` says what is done before the first token. A model that repeats itself is stopped through `stop`, so that
    its tokens are counted to the end.
    """
    text, usage, first_token = "", Usage(), None
    loop = threading.Event()
    pieces = llm.stream(messages, max_tokens=max_tokens, stop=EitherStop(stop, loop), sampling=sampling)
    shown = MarkerFilter()
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
                if ready := shown.feed(piece):
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


def cut_at_loop(text: str) -> str | None:
    """Return the text up to where it begins to repeat itself, None if it does not.

    A loop is a sentence or line that was written before word for word, or a piece of 6 to 200 characters three times
    in a row at the end. Only sentences that are finished count, so call it when one ends.
    """
    seen: set[tuple[str, ...]] = set()
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentences(line[0]):
            key = tuple(terms(line[0][start:end]))
            if key in seen:
                return text[: line.start() + start].rstrip()
            if len(key) >= LEAST_WORDS:
                seen.add(key)
    tail = _TAIL.search(text[-700:])
    if tail is None or not tail[1].strip():
        return None
    return text[: max(0, len(text) - 700) + tail.start() + len(tail[1])].rstrip(" ,;")


class MarkerFilter:
    """Holds back text from an opening bracket on until it is clear whether a citation marker like [1] follows."""

    LONGEST = 24

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        self._held += piece
        bracket = self._held.rfind("[")
        closed = self._held.rfind("]")
        if bracket < 0 or closed > bracket or len(self._held) - bracket > self.LONGEST:
            return self.flush()
        while bracket > 0 and self._held[bracket - 1].isspace():
            bracket -= 1
        shown, self._held = self._held[:bracket], self._held[bracket:]
        return strip_markers(shown)

    def flush(self) -> str:
        """Return what is still held back."""
        shown, self._held = self._held, ""
        return strip_markers(shown)
