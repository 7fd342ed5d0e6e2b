"""What extractors, language models, readers and rewriters have to offer, so that one can stand in for another.

A class follows a protocol by having its methods; it need not inherit from it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pdfqa_core.types import Event, Hit, Page, Progress, Rewritten


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn. Temperature 0 takes the most likely one, whatever else is set.

    `top_k` 0, `top_p` 1, `min_p` 0 and `repeat_penalty` 1 are off.
    """

    temperature: float = 0.0
    seed: int = 0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0


GREEDY = Sampling()


class StopSignal(Protocol):
    """What a `threading.Event` offers to those who must notice a stop."""

    def is_set(self) -> bool:
        """Whether the work should end now."""
        ...


class Extractor(Protocol):
    """PDF to pages."""

    def extract(self, path: Path, document_id: str, *, password: str | None = None) -> Iterator[Page]:
        """Yield the pages of the PDF in order. Raises a `DocumentError` with the state it ends in."""
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took, in tokens as the engine counted them (0: not known); the last item of a stream.

    `finish_reason` is "stop" (the model ended its reply), "length" (the most tokens or the context were reached),
    "stopped" (the stop signal was set) or another word of the engine's. `evaluated_tokens` of the prompt's tokens were
    evaluated for this reply, the others were still in the context from the one before.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str = "stop"
    evaluated_tokens: int = 0


Stream: TypeAlias = Generator[str | Progress | Usage, None, None]


class LLM(Protocol):
    """Messages to text, streamed and stoppable. `streaming.complete` returns the text of a stream alone."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def context_size(self) -> int:
        """How many tokens prompt and reply may have together."""
        ...

    @property
    def parallel(self) -> int:
        """How many requests are worth sending at the same time; where it is 1, others wait in a queue."""
        ...

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Get ready to answer (load the model, ask the server), unless that was done; StoppedError if `stop` is set."""
        ...

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Stream:
        """Yield the reply's pieces and Progress, last one Usage; ends early when `stop` is set.

        A piece may hold several tokens, or none. `schema` is a JSON schema to obey.
        """
        ...

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply, scaled so that they add up to 1.

        From the probabilities of tokens, never from generated text. Raises ModelError if the engine does not give them.
        """
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length in tokens of the prompt these messages make."""
        ...


History: TypeAlias = Sequence[tuple[str, str]]  # (question, answer) pairs, oldest first


class Reader(Protocol):
    """Question and hits to an answer with citations."""

    @property
    def llm(self) -> LLM | None:
        """The language model that it asks, None: it asks none."""
        ...

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress and Token events, then one Done."""
        ...


class Rewriter(Protocol):
    """Follow-up question to standalone question."""

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return what can be searched for without the history."""
        ...
