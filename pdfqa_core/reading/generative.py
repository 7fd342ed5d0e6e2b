"""The generative reader: the best passages and the question go to a language model, its sentences get citations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdfqa_core.errors import ModelError
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.citations import cite, strip_markers
from pdfqa_core.reading.prompts import INSTRUCTION, PASSAGE, READ, quoted
from pdfqa_core.reading.refusal import declines
from pdfqa_core.reading.stream import MarkerFilter, cut_at_loop
from pdfqa_core.types import GREEDY, LLM, Answer, Done, Event, Hit, Message, Progress, Sampling, StopSignal, Token

_SENTENCE_ENDS = frozenset(".!?\n")


@dataclass
class _Reply:
    """What the model has written so far."""

    text: str = ""
    pieces: int = 0
    first_token: float | None = None
    looped: bool = False


@readers.register("generative")
class GenerativeReader:
    """Writes an answer with a language model.

    `passages` of the hits go into the prompt, fewer if they do not fit the context beside `max_tokens` for the answer.
    The history is not part of the prompt: the question is expected to stand alone. `threshold` is the share of a
    sentence's content terms that its quote must hold to count as verified.
    An engine may offer `stream` (like `complete`, with Progress between the pieces) and `prepare` (loads the model,
    yields Progress); their progress is passed on.
    """

    needs_llm = True

    def __init__(
        self,
        llm: LLM,
        *,
        passages: int = 2,
        max_tokens: int = 256,
        sampling: Sampling = GREEDY,
        threshold: float = 0.5,
        instruction: str = INSTRUCTION,
    ) -> None:
        self.llm = llm
        self.passages = passages
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.threshold = threshold
        self.instruction = instruction

    def messages(self, question: str, hits: Sequence[Hit]) -> list[Message]:
        """Return the prompt for the question with the passages of all `hits`, in their order."""
        passages = "\n\n".join(
            PASSAGE.fill(number=str(number), text=quoted(hit.passage.text)) for number, hit in enumerate(hits, 1)
        )
        content = READ.fill(passages=passages, question=quoted(question), instruction=self.instruction)
        return [Message("user", content)]

    def fitting(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the passages that go into the prompt: the best ones, as many as fit.

        Raises ModelError if not even one does.
        """
        chosen = list(hits[: self.passages])
        room = self.llm.context_size - min(self.max_tokens, self.llm.context_size // 2)
        while chosen and self.llm.count_tokens(self.messages(question, chosen)) > room:
            chosen.pop()
        if hits and not chosen:
            raise ModelError(
                f"The question and one passage do not fit the context of {self.llm.name} "
                f"({self.llm.context_size:,} tokens).",
                "Ask a shorter question, make passages shorter, or set a larger context.",
            )
        return chosen

    def read(
        self,
        question: str,
        hits: Sequence[Hit],
        history: Sequence[tuple[str, str]] = (),
        *,
        stop: StopSignal | None = None,
    ) -> Iterator[Event]:
        """Yield Progress, Token and one Done; the tokens are the model's words, the answer in Done is cleaned."""
        began = time.perf_counter()
        if not hits:
            yield Done(Answer(INSUFFICIENT_CONTEXT, refused=True, reader="generative", model=self.llm.name))
            return
        prepare = getattr(self.llm, "prepare", None)
        if prepare is not None:
            yield from prepare(stop)
        chosen = self.fitting(question, hits)
        notes = []
        if len(chosen) < min(self.passages, len(hits)):
            left_out = min(self.passages, len(hits)) - len(chosen)
            notes.append(f"{left_out} of the passages did not fit the model's context and were left out.")
        reading = f"reading {len(chosen)} {'passage' if len(chosen) == 1 else 'passages'}"
        yield Progress(reading)
        reply = _Reply()
        messages = self.messages(question, chosen)
        yield from self._write(messages, reply, reading, stop)
        stopped = stop is not None and stop.is_set()
        seconds = {"read": time.perf_counter() - began}
        if reply.first_token is not None:
            seconds["first_token"] = reply.first_token - began
        if not stopped and not reply.looped and reply.pieces >= self.max_tokens:
            notes.append(f"The answer was cut after {self.max_tokens} tokens.")
        yield Done(self._answer(reply, hits, chosen, messages, stopped, seconds, notes))

    def _write(
        self, messages: Sequence[Message], reply: _Reply, reading: str, stop: StopSignal | None
    ) -> Iterator[Event]:
        stream = getattr(self.llm, "stream", self.llm.complete)
        pieces = stream(messages, max_tokens=self.max_tokens, stop=stop, sampling=self.sampling)
        shown = MarkerFilter()
        try:
            for piece in pieces:
                if isinstance(piece, Progress):
                    yield _worded(piece, reading)
                    continue
                if reply.first_token is None:
                    reply.first_token = time.perf_counter()
                    yield Progress("writing")
                reply.text += piece
                reply.pieces += 1
                if text := shown.feed(piece):
                    yield Token(text)
                if _SENTENCE_ENDS & set(piece) and (cut := cut_at_loop(reply.text)) is not None:
                    reply.text, reply.looped = cut, True
                    return
            if text := shown.flush():
                yield Token(text)
        finally:
            if hasattr(pieces, "close"):
                pieces.close()

    def _answer(
        self,
        reply: _Reply,
        hits: Sequence[Hit],
        chosen: Sequence[Hit],
        messages: Sequence[Message],
        stopped: bool,
        seconds: dict[str, float],
        notes: list[str],
    ) -> Answer:
        text, markers = strip_markers(reply.text.strip())
        text = text.strip()
        refused = not stopped and (not text or declines(text))
        if refused and text and text != INSUFFICIENT_CONTEXT:
            notes.append(f"The model declined: {text}")
        return Answer(
            INSUFFICIENT_CONTEXT if refused else text,
            () if refused else cite(text, chosen, threshold=self.threshold, markers=markers),
            tuple(hits),
            refused=refused,
            stopped=stopped,
            reader="generative",
            model=self.llm.name,
            seconds=seconds,
            prompt_tokens=getattr(self.llm, "prompt_tokens", 0) or self.llm.count_tokens(messages),
            completion_tokens=reply.pieces,
            notes=tuple(notes),
        )


def _worded(progress: Progress, reading: str) -> Progress:
    """Return an engine's progress in the words a user reads."""
    if progress.phase == "waiting":
        others = "1 other answer" if progress.total == 1 else f"{progress.total} other answers"
        return Progress(f"waiting for {others}")
    return Progress(reading, progress.done, progress.total) if progress.phase == "reading" else progress
