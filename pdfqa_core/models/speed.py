"""How fast the language model in use reads and writes here."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.interfaces import LLM, Message, StopSignal, Usage
from pdfqa_core.llm.base import Engine
from pdfqa_core.llm.catalogue import title_of
from pdfqa_core.streaming import EitherStop
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    from pdfqa_core.models.language import LanguageModel

SENTENCE = "The committee met on Tuesday and agreed on the budget of the new library. "
PROBE = 4  # sentences of the first short prompt
READING, WRITING = 3.0, 4.0  # seconds that the speed test takes for each
QUIET = 10.0  # seconds after the start: until then a page opens, and a PDF may be read that is asked about at once
AT_START = 3.0  # seconds that `first_rate` takes at most
FEWEST = 8  # tokens whose time tells a rate
LONGEST = 1500  # tokens of the test's prompt


@dataclass(frozen=True, slots=True)
class Speed:
    """What the speed test found. Rates are tokens a second, `size` is the model's file in bytes."""

    model: str
    prompt_tokens: int
    prompt_rate: float
    answer_tokens: int
    answer_rate: float
    size: int

    @property
    def words(self) -> str:
        """What the numbers mean."""
        return (
            f"A prompt of 500 tokens takes {500 / self.prompt_rate:.1f} s, "
            f"an answer of 100 tokens {100 / self.answer_rate:.1f} s."
        )


def speed_test(language: LanguageModel, stop: StopSignal) -> Iterator[Progress | Speed]:
    """Measure the model in use for about ten seconds; yields Progress in percent, then Speed.

    Raises StoppedError, PdfQAError (a model on a server) and what loading raises.
    """
    used = language.settings
    if used.engine == "openai":
        raise PdfQAError("The speed of a server is not measured.", "Use its own test, or a model of this computer.")
    llm = language.llm()
    yield Progress("loading the model", 0, 100)
    for step in llm.prepare(stop):
        yield Progress(step.phase, 0, 100)
    if language.file is None or not language.file.is_file():
        raise ModelError(f"The file of {title_of(used.model)} is gone.", "Use another model.")
    size = language.file.stat().st_size
    yield Progress("reading a prompt", 5, 100)
    read = yield from _read_speed(llm, PROBE, stop)
    sentences = round(PROBE * READING * read[1] / max(1, read[0]))
    most = min(LONGEST, llm.context_size // 2)
    sentences = max(PROBE, min(sentences, PROBE * most // max(1, read[0])))
    yield Progress("reading a prompt", 25, 100)
    read = yield from _read_speed(llm, sentences, stop)
    yield Progress("writing an answer", 60, 100)
    written = yield from _write_speed(llm, stop)
    yield Speed(llm.name, read[0], read[1], written[0], written[1], size)


@dataclass(frozen=True, slots=True)
class _Spare:
    """A stop signal that is set at a time (see `time.perf_counter`), or as soon as somebody waits for the engine."""

    engine: Engine
    end: float

    def is_set(self) -> bool:
        return self.engine.waiting > 0 or time.perf_counter() > self.end


def first_rate(engine: Engine, stop: StopSignal) -> float:
    """Return how many tokens a second an engine writes while nobody needs it; 0 where it wrote too few to tell."""
    ended = EitherStop(stop, _Spare(engine, time.perf_counter() + AT_START))
    tokens, first, last = 0, 0.0, 0.0
    story = [Message("user", "Write a long story.")]
    for piece in () if ended.is_set() else engine.stream(story, max_tokens=512, stop=ended):
        if isinstance(piece, str):
            last = time.perf_counter()
            first = first or last
        elif isinstance(piece, Usage):
            tokens = piece.completion_tokens - 1
    return tokens / (last - first) if tokens >= FEWEST else 0.0


def _question(sentences: int) -> list[Message]:
    """Return a prompt that begins as none before, so that nothing of it is in the model's cache."""
    text = f"Note {secrets.token_hex(4)}. {SENTENCE * sentences}"
    return [Message("user", f"{text}\nWrite a long story about this meeting.")]


def _read_speed(llm: LLM, sentences: int, stop: StopSignal) -> Generator[Progress, None, tuple[int, float]]:
    """Read a prompt of `sentences` sentences; return its tokens and how many of them were read a second."""
    began = ended = None
    usage = Usage()
    for piece in llm.stream(_question(sentences), max_tokens=1, stop=stop):
        if not isinstance(piece, Progress):
            ended = ended or time.perf_counter()
            usage = piece if isinstance(piece, Usage) else usage
        elif piece.phase == "reading":
            began = began or time.perf_counter()
        elif piece.phase == "waiting":
            yield Progress("waiting for an answer under way", 20, 100)
    if stop.is_set() or began is None or ended is None:
        raise StoppedError("The speed test was stopped.")
    return usage.evaluated_tokens, usage.evaluated_tokens / (ended - began)


def _write_speed(llm: LLM, stop: StopSignal) -> Generator[Progress, None, tuple[int, float]]:
    """Write for some seconds; return the tokens after the first and how many of them were written a second."""
    tokens, seconds, shown = 0, 0.0, 60
    enough = threading.Event()
    end = time.perf_counter() + WRITING + READING  # a model that says nothing ends the test as well
    while not enough.is_set() and time.perf_counter() < end and not stop.is_set():
        first = last = 0.0
        for piece in llm.stream(_question(1), max_tokens=512, stop=EitherStop(stop, enough)):
            if isinstance(piece, Usage):
                tokens += max(0, piece.completion_tokens - 1)
            elif isinstance(piece, str):
                last = time.perf_counter()
                first = first or last
                percent = 60 + round(40 * min(1.0, (seconds + last - first) / WRITING))
                if percent > shown:
                    shown = percent
                    yield Progress("writing an answer", percent, 100)
                if seconds + last - first >= WRITING:
                    enough.set()
        seconds += last - first
    if stop.is_set():
        raise StoppedError("The speed test was stopped.")
    if not tokens or not seconds:
        raise ModelError(f"{llm.name} wrote nothing.", "Choose another model.")
    return tokens, tokens / seconds
