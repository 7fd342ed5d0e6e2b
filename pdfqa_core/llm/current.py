"""The language model in use, whichever it is: readers hold this one while engines are replaced behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.interfaces import GREEDY, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.llm.base import Engine
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress

POLL = 0.05  # seconds between two looks at a stop signal
LONGEST = 600.0  # seconds that a call without a stop signal waits for an engine to be replaced


class CurrentLLM:
    """Passes calls on to the engine in use. While it is replaced new calls wait, and it waits for those under way."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._changed = threading.Condition()
        self.calls = 0  # under way
        self._closed = ""  # why new calls wait, in words

    @property
    def name(self) -> str:
        """The name of the model in use."""
        return self.engine.name

    @property
    def context_size(self) -> int:
        """How many tokens prompt and reply may have together."""
        return self.engine.context_size

    @property
    def parallel(self) -> int:
        """How many requests are worth sending at the same time."""
        return self.engine.parallel

    # ------------------------------------------------------------ replacing

    @contextmanager
    def alone(self, why: str, stop: StopSignal | None = None) -> Iterator[None]:
        """Keep new calls waiting and wait for those under way; the block may set `engine`.

        Raises StoppedError if `stop` is set meanwhile, PdfQAError if another block is under way.
        """
        with self._changed:
            if self._closed:
                raise PdfQAError("Another model is being loaded.", "Wait for it, or stop it.")
            self._closed = why
        try:
            while self.calls:
                if is_set(stop):
                    raise StoppedError
                time.sleep(POLL)
            yield
        finally:
            with self._changed:
                self._closed = ""
                self._changed.notify_all()

    def _entered(self, stop: StopSignal | None) -> Generator[Progress, None, None]:
        """Count one call more, as soon as no engine is being replaced. Raises StoppedError."""
        while True:
            with self._changed:
                if is_set(stop):
                    raise StoppedError
                if not self._closed:
                    self.calls += 1
                    return
                words = self._closed
                self._changed.wait(POLL)
            yield Progress(words)

    def _left(self) -> None:
        with self._changed:
            self.calls -= 1

    # ------------------------------------------------------------ calls

    @contextmanager
    def _in_use(self, stop: StopSignal | None = None) -> Iterator[Engine]:
        deadline = time.monotonic() + LONGEST
        for _ in self._entered(stop):
            if time.monotonic() > deadline:
                raise PdfQAError("The language model is still being replaced.", "Try again later.")
        try:
            yield self.engine
        finally:
            self._left()

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt in tokens."""
        with self._in_use() as engine:
            return engine.count_tokens(messages)

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply."""
        with self._in_use(stop) as engine:
            return engine.choose(messages, choices, stop=stop)

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Load the model while yielding Progress."""
        yield from self._entered(stop)
        try:
            yield from self.engine.prepare(stop)
        finally:
            self._left()

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None, sampling: Sampling = GREEDY,
    ) -> Stream:  # fmt: skip
        """Yield the reply's pieces, with Progress between them, and last one Usage."""
        try:
            yield from self._entered(stop)
        except StoppedError:
            yield Usage(finish_reason="stopped")
            return
        try:
            yield from self.engine.stream(messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling)
        finally:
            self._left()
