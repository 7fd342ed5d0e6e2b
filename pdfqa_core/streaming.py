"""Stop signals, and the text of a language model's stream where nothing else of it is wanted."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from pdfqa_core.interfaces import GREEDY, LLM, Message, Sampling, StopSignal

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


def result_of(steps: Generator[Any, None, T]) -> T:
    """Run a generator to its end and return what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def complete(
    llm: LLM, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
    schema: Mapping[str, Any] | None = None, sampling: Sampling = GREEDY,
) -> Generator[str, None, None]:  # fmt: skip
    """Yield the pieces of a reply's text, see `LLM.stream`."""
    with closing(llm.stream(messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling)) as stream:
        for piece in stream:
            if isinstance(piece, str):
                yield piece
