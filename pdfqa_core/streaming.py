"""Stop signals, and the text of a language model's stream where nothing else of it is wanted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from pdfqa_core.interfaces import GREEDY, LLM, Message, Sampling, StopSignal

# ----------------------------------------------------------------------------------------------------
# How long work on several pieces still takes, judged by what is done so far.

_SETTLED = 1.0  # seconds before which the pace says nothing


class TimeLeft:
    """The pace of work on pieces whose extent (pages) shows only when they are begun; safe to use from threads.

    `sizes` are known beforehand, in any unit: a piece that has not been begun is taken to have as many pages per unit
    as those that have been.
    """

    def __init__(self, sizes: Sequence[float], clock: Callable[[], float] = time.monotonic) -> None:
        self._sizes = list(sizes)
        self._pages: dict[int, int] = {}
        self._done: dict[int, int] = {}
        self._clock = clock
        self._began: float | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start the clock, unless it runs already."""
        with self._lock:
            self._began = self._clock() if self._began is None else self._began

    def step(self, piece: int, done: int, pages: int) -> None:
        """Take note that `done` of the `pages` of a piece are done."""
        with self._lock:
            self._pages[piece], self._done[piece] = pages, min(done, pages)

    def finish(self, piece: int) -> None:
        """Take note that a piece takes no more time, however far it came."""
        with self._lock:
            self._pages[piece] = self._done[piece] = self._done.get(piece, 0)

    def seconds(self) -> float | None:
        """Return the estimate; None while the pace is unknown."""
        with self._lock:
            if self._began is None:
                return None
            elapsed, done = self._clock() - self._began, sum(self._done.values())
            if elapsed < _SETTLED or not done:
                return None
            begun = [piece for piece, pages in self._pages.items() if pages]
            known = sum(self._sizes[piece] for piece in begun)
            per_unit = sum(self._pages[piece] for piece in begun) / known if known else 0.0
            waiting = sum(size for piece, size in enumerate(self._sizes) if piece not in self._pages)
            left = sum(self._pages.values()) - done + waiting * per_unit
            return left * elapsed / done


# ----------------------------------------------------------------------------------------------------
# Stop signals, and the text of a language model's stream where nothing else of it is wanted.

T = TypeVar("T")


def is_set(stop: StopSignal | None) -> bool:
    """Whether there is a stop signal and it is set."""
    return stop is not None and stop.is_set()


@dataclass(frozen=True, slots=True)
class EitherStop:
    """A stop signal that is set when one of two is."""

    one: StopSignal | None
    other: StopSignal | None

    def is_set(self) -> bool:
        """Whether the work should end now."""
        return is_set(self.one) or is_set(self.other)


def result_of(steps: Generator[Any, None, T], on_step: Callable[[Any], None] = lambda step: None) -> T:
    """Run a generator to its end and return what it returns; `on_step` is given what it yields."""
    while True:
        try:
            on_step(next(steps))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def complete(
    llm: LLM,
    messages: Sequence[Message],
    *,
    max_tokens: int,
    stop: StopSignal | None = None,
    schema: Mapping[str, Any] | None = None,
    sampling: Sampling = GREEDY,
) -> Generator[str, None, None]:
    """Yield the pieces of a reply's text, see `LLM.stream`."""
    with closing(llm.stream(messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling)) as stream:
        for piece in stream:
            if isinstance(piece, str):
                yield piece
