"""Closed book: the language model answers from what it knows, without any passage. A baseline of evaluations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from pdfqa_core.interfaces import GREEDY, LLM, History, Message, Sampling, StopSignal
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.reading.declining import declines
from pdfqa_core.reading.prompts import READ, quoted, turn
from pdfqa_core.reading.writing import write
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Answer, Done, Event, Hit

INSTRUCTION = "Answer the question in one to three sentences."


class ClosedBookReader:
    """Asks the question alone, behind the turn before it where there is one; hits are passed over."""

    def __init__(self, llm: LLM, *, max_tokens: int = 256, sampling: Sampling = GREEDY, instruction: str = "") -> None:
        self.llm = llm
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.instruction = instruction or INSTRUCTION

    def messages(self, question: str, history: History = ()) -> list[Message]:
        """Return the prompt."""
        text = READ.fill(passages="", earlier=turn(history), question=quoted(question), instruction=self.instruction)
        return [Message("user", text.strip())]

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, Token and one Done. Raises ModelError."""
        began = time.perf_counter()
        yield from self.llm.prepare(stop)
        reply, usage, first_token = yield from write(
            self.llm, self.messages(question, history), max_tokens=self.max_tokens, sampling=self.sampling, stop=stop,
            reading="reading the question",
        )  # fmt: skip
        text = strip_markers(reply).strip()
        stopped = is_set(stop)
        refused = declines(text) and not stopped
        seconds = {"read": time.perf_counter() - began}
        if first_token is not None:
            seconds["first_token"] = first_token - began
        yield Done(
            Answer(
                INSUFFICIENT_CONTEXT if refused else text, refused=refused, stopped=stopped, reader="closed book",
                model=self.llm.name, seconds=seconds | {"total": seconds["read"]}, prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
            )
        )  # fmt: skip
