"""The language model in use, whichever it is: readers hold this one while engines are replaced behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.types import GREEDY, Message, Progress, Sampling, StopSignal

POLL = 0.05  # seconds between two looks at a stop signal
LONGEST = 600.0  # seconds that a call without a stop signal waits for an engine to be replaced


class CurrentLLM:
    """Passes calls on to the engine in use. While it is replaced new calls wait, and it waits for those under way.

    Whatever else an engine offers (`load`, `prompt_tokens`, `model_names`, …) is there as well.
    """

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self._changed = threading.Condition()
        self._calls = 0
        self._closed = ""  # why new calls wait, in words

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "engine":
            raise AttributeError(name)
        return getattr(self.engine, name)

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
            while self._calls:
                if stop is not None and stop.is_set():
                    raise StoppedError
                time.sleep(POLL)
            yield
        finally:
            with self._changed:
                self._closed = ""
                self._changed.notify_all()

    @property
    def calls(self) -> int:
        """How many calls are under way."""
        return self._calls

    def _entered(self, stop: StopSignal | None) -> Generator[Progress, None, bool]:
        """Count one call more, as soon as no engine is being replaced; return False if it was stopped before."""
        while True:
            with self._changed:
                if stop is not None and stop.is_set():
                    return False
                if not self._closed:
                    self._calls += 1
                    return True
                words = self._closed
                self._changed.wait(POLL)
            yield Progress(words)

    def _left(self) -> None:
        with self._changed:
            self._calls -= 1

    # ------------------------------------------------------------ calls

    @contextmanager
    def _in_use(self, stop: StopSignal | None = None) -> Iterator[Any]:
        deadline = time.monotonic() + LONGEST
        waiting = self._entered(stop)
        while True:
            try:
                next(waiting)
            except StopIteration as end:
                if not end.value:
                    raise StoppedError from None
                break
            if time.monotonic() > deadline:
                raise PdfQAError("The language model is still being replaced.", "Try again later.")
        try:
            yield self.engine
        finally:
            self._left()

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt in tokens."""
        with self._in_use() as engine:
            return int(engine.count_tokens(messages))

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply."""
        with self._in_use(stop) as engine:
            found: Mapping[str, float] = engine.choose(messages, choices, stop=stop)
            return found

    def prepare(self, stop: StopSignal | None = None) -> Iterator[Progress]:
        """Load the model while yielding Progress."""
        yield from self._through(stop, lambda engine: getattr(engine, "prepare", _nothing)(stop))

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None, sampling: Sampling = GREEDY, **more: Any,
    ) -> Iterator[str]:  # fmt: skip
        """Yield the reply piece by piece."""
        pieces = self._through(
            stop, lambda engine: engine.complete(
                messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling, **more
            ),
        )  # fmt: skip
        try:
            for piece in pieces:
                if isinstance(piece, str):
                    yield piece
        finally:
            pieces.close()

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None, sampling: Sampling = GREEDY,
    ) -> Generator[str | Progress, None, None]:  # fmt: skip
        """Yield the reply piece by piece, with Progress between the pieces."""

        def begin(engine: Any) -> Iterator[str | Progress]:
            call = getattr(engine, "stream", engine.complete)
            found: Iterator[str | Progress] = call(
                messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling
            )
            return found

        yield from self._through(stop, begin)

    def _through(self, stop: StopSignal | None, begin: Callable[[Any], Iterator[Any]]) -> Generator[Any, None, None]:
        if not (yield from self._entered(stop)):
            return
        try:
            steps = begin(self.engine)
            try:
                yield from steps
            finally:
                close = getattr(steps, "close", None)
                if close is not None:
                    close()
        finally:
            self._left()


def _nothing(_stop: StopSignal | None) -> Iterator[Progress]:
    return iter(())
