"""The local engine: a GGUF model run by llama.cpp in this process, one stream at a time.

Knows nothing about passages or questions. Loading, waiting in the queue and reading the prompt report Progress; Stop
ends every one of these phases.
"""

from __future__ import annotations

import codecs
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from pdfqa_core.background import in_background
from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import GREEDY, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.llm.base import check_choices, common_length, engines, shares_of_sequences
from pdfqa_core.llm.gguf import read_header
from pdfqa_core.llm.grammar import grammar_of
from pdfqa_core.llm.hardware import (
    AS_MANY,
    Gpu,
    Offload,
    default_threads,
    find_gpu,
    layers_that_fit,
    physical_cores,
    repacking_pays,
    with_layers,
)
from pdfqa_core.llm.native import BATCH, NativeModel, Sampler
from pdfqa_core.streaming import is_set, result_of
from pdfqa_core.types import Progress

# ----------------------------------------------------------------------------------------------------
# Chat messages to the text a model was trained on, filled by llama-cpp-python in jinja2's sandbox.
#
# The template is the model's own, or ChatML for files that carry none.

# Used where a GGUF file carries no template (ChatML).
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

# What parts the messages in common templates; it must not stand inside a message, whatever the model's own tokens are.
_MARKERS = (
    "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]",
    "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>",
)  # fmt: skip


class ChatTemplate:
    """A chat template of one model.

    Control tokens inside the messages ("<|im_start|>") are broken up with a space before the template is filled, so
    that no text from a PDF can end its message and begin another. Thinking before a reply is switched off
    where the template can do that.
    Raises ModelError if the template does not compile or refuses the messages.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", control_texts: Iterable[str] = ()) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        markers = {text for text in control_texts if len(text) > 2} | set(_MARKERS)
        self._control = re.compile("|".join(map(re.escape, sorted(markers, key=len, reverse=True))))  # longest first
        try:
            self._forms = [
                Jinja2ChatFormatter(
                    source or CHATML, eos_token=eos, bos_token=bos, add_generation_prompt=to_be_continued
                )
                for to_be_continued in (False, True)
            ]
        except TemplateError as error:
            raise ModelError(f"The model's chat template is not valid: {error}.", "Choose another model.") from error

    def _clean(self, text: str) -> str:
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def render(self, messages: Sequence[Message]) -> str:
        """Return the prompt, which ends where the model's reply begins."""
        return self._render(messages, to_be_continued=True)

    def render_reply(self, messages: Sequence[Message], reply: str) -> str:
        """Return the prompt with the beginning of a reply, after the space that the template puts before replies."""
        prompt = self.render(messages)
        answered = self._render([*messages, Message("assistant", reply)], to_be_continued=False)
        lead = answered.removeprefix(prompt).partition(self._clean(reply))[0] if answered.startswith(prompt) else ""
        return prompt + ("" if lead.strip() else lead) + self._clean(reply)

    def _render(self, messages: Sequence[Message], *, to_be_continued: bool) -> str:
        given: list[Any] = [{"role": message.role, "content": self._clean(message.content)} for message in messages]
        try:
            return str(self._forms[to_be_continued](messages=given, enable_thinking=False).prompt)
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ModelError(
                f"The model's chat template refuses the messages: {error}.", "Choose another model."
            ) from error


# ----------------------------------------------------------------------------------------------------
# First come, first served: the queue for the one language model. Knows nothing about models.


class TicketLock:
    """A fair lock that tells those who wait how many are before them. `tickets` are the one served and those waiting.

    A ticket may be given back by any thread (a generator is sometimes closed by another thread than the one that
    started it), and giving it back twice does nothing.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.tickets: deque[int] = deque()
        self._numbers = count(1)

    def enter(self) -> int:
        """Return a new ticket at the end of the queue."""
        with self._changed:
            ticket = next(self._numbers)
            self.tickets.append(ticket)
            return ticket

    def wait(self, ticket: int, seconds: float) -> int:
        """Return how many are before `ticket` (0: it is served now); if any, wait at most `seconds` for a change first.

        Raises ValueError if the ticket was given back.
        """
        with self._changed:
            before = self.tickets.index(ticket)
            if before:
                self._changed.wait_for(lambda: self.tickets.index(ticket) != before, timeout=seconds)
            return self.tickets.index(ticket)

    def leave(self, ticket: int) -> None:
        """Give the ticket back, whether it is served or still waits."""
        with self._changed:
            if ticket in self.tickets:
                self.tickets.remove(ticket)
                self._changed.notify_all()


# ----------------------------------------------------------------------------------------------------
# The local engine: a GGUF model run by llama.cpp in this process, one stream at a time.

POLL = 0.05  # seconds between two looks at a stop signal

_log = logging.getLogger(__name__)


@engines.register("llama_cpp", "runs a GGUF file in this program")
class LlamaCpp:
    """A model file, loaded at first use and kept.

    `model` is the GGUF file, or a function that finds (or makes) it when it is needed. `threads` 0: as
    many as compute best, see `default_threads`; where others keep a core busy they are chosen anew at each prompt.
    `gpu_layers` -1: as many as fit in the memory of what `gpu` finds; `offload` is what is there once the
    model is loaded. `context_size` is in tokens; it becomes smaller when the model was trained on less. `batch_size`
    prompt tokens are evaluated at once: more need more memory. `repack`: weights are laid out anew for llama.cpp's own
    kernels; None: where they are the faster ones.
    """

    parallel = 1

    def __init__(
        self,
        model: Path | Callable[[], Path],
        *,
        name: str = "",
        context_size: int = 4096,
        threads: int = 0,
        gpu_layers: int = 0,
        batch_size: int = BATCH,
        repack: bool | None = None,
        gpu: Callable[[], Gpu | None] = find_gpu,
    ) -> None:
        self._find = model if callable(model) else lambda: model
        self.name = name or (model.stem if isinstance(model, Path) else "model")
        self.context_size = context_size
        self._wanted: dict[str, Any] = {
            "context_size": context_size,
            "batch_size": batch_size,
            "repack": repacking_pays() if repack is None else repack,
        }
        self._threads = threads
        self._gpu_layers, self._gpu = gpu_layers, gpu
        self.offload: Offload | None = None
        self.lock = TicketLock()
        self._loading = threading.RLock()  # held while the model is loaded, freed or used outside a stream
        self._native: NativeModel | None = None
        self._template: ChatTemplate | None = None

    # -------------------------------------------------------------- loading

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._native is not None

    @property
    def threads(self) -> int:
        """How many threads compute, at most where the model is not loaded."""
        native = self._native
        return native.threads if native is not None else self._threads or physical_cores()

    @property
    def waiting(self) -> int:
        """How many calls wait for the one under way."""
        return max(0, len(self.lock.tickets) - 1)

    def load(self, report: Callable[[Progress], None] = lambda step: None, stop: StopSignal | None = None) -> None:
        """Load the model unless it is loaded; `report` is called with Progress in percent.

        Raises ModelError if the file is missing, damaged or too large, StoppedError if `stop` is set.
        """

        def progress(share: float) -> bool:
            report(Progress(f"loading {self.name}", round(100 * share), 100))
            return not is_set(stop)

        with self._loading:
            if self._native is not None:
                return
            path = self._find()
            if not path.is_file():
                raise ModelError(f"The model file {path} does not exist.", "Choose another model.")
            began = time.perf_counter()
            native, self.offload = self._opened(path, progress)
            try:
                self._template = ChatTemplate(
                    native.chat_template(), bos=native.bos, eos=native.eos, control_texts=native.control_texts()
                )
            except ModelError:
                native.close()
                raise
            self.context_size = native.context_size
            self._native = native
            _log.info("loaded %s in %.1f s", path.name, time.perf_counter() - began)

    def _opened(self, path: Path, progress: Callable[[float], bool]) -> tuple[NativeModel, Offload | None]:
        """Load a file, as many of its layers on the GPU as are wanted; return it with what is there."""
        gpu = self._gpu() if self._gpu_layers else None
        planned = max(0, self._gpu_layers) if gpu else 0
        if gpu and self._gpu_layers == AS_MANY:
            header = read_header(path)
            planned = layers_that_fit(
                gpu,
                header.size,
                header.number("block_count"),
                header.dimensions,
                self.context_size,
                self._wanted["batch_size"],
            )

        threads = self._threads or default_threads()

        def load(layers: int) -> NativeModel:
            return NativeModel(path, on_progress=progress, gpu_layers=layers, threads=threads, **self._wanted)

        native, layers = with_layers(load, planned, self._gpu_layers)
        found = Offload(min(layers, native.layers), native.layers, gpu.name) if gpu and layers else None
        return native, found

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Load the model in the background while yielding Progress in percent; raises what `load` raises."""
        if self.loaded:
            return
        shown = Progress(f"loading {self.name}", 0, 100)
        yield shown
        for step in in_background(lambda report: self.load(report, stop)):
            if step != shown:
                shown = step
                yield step

    def unload(self) -> None:
        """Free the model's memory once nobody uses it; the next stream loads it again."""
        ticket = self.lock.enter()
        try:
            while self.lock.wait(ticket, 1.0):
                pass
            with self._loading:
                if self._native is not None:
                    self._native.close()
                self._native = self._beside = self.offload = None
        finally:
            self.lock.leave(ticket)

    def _ready(self) -> tuple[NativeModel, ChatTemplate]:
        self.load()
        if self._native is None or self._template is None:
            raise ModelError(f"{self.name} was unloaded while it was needed.", "Try again.")
        return self._native, self._template

    # -------------------------------------------------------------- tokens

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        with self._loading:
            native, template = self._ready()
            return _tokenize(native, template.render(messages))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt in the model's own tokens. Loads the model if it is not loaded."""
        return len(self._tokens(messages))

    # -------------------------------------------------------------- streams

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Stream:
        """Yield the reply's pieces, with Progress between them, and last one Usage.

        Progress("waiting", 0, n): n streams are before this one; Progress("loading NAME", percent, 100);
        Progress("reading", done, total) in prompt tokens. Raises ModelError if the prompt does not fit the context or
        the model does not load.
        """
        ticket = self.lock.enter()
        try:
            yield from self._wait(ticket, stop)
            yield from self.prepare(stop)
            native, _ = self._ready()
            self._take_free_cores(native)
            prompt = self._tokens(messages)
            room = self._room(native, len(prompt))
            sampler = native.sampler(sampling, grammar_of(schema) if schema is not None else "")
            try:
                with _watching(stop, native):
                    evaluated = yield from self._read(native, prompt)
                    written, reason = yield from self._write(native, sampler, min(max_tokens, room), stop)
            finally:
                sampler.close()
            yield Usage(len(prompt), written, reason, evaluated)
        except StoppedError:
            yield Usage(finish_reason="stopped")
        finally:
            self.lock.leave(ticket)

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the beginning of the reply, scaled so that they add up to 1.

        A choice's probability is the product of those of its tokens, after the prompt and the space that the model's
        template puts before replies. Where one choice begins like another, the shorter one counts without the longer.
        Raises UsageError (no choices, an empty one, two alike), ModelError (the prompt does not fit, the model does not
        load), StoppedError if `stop` is set.
        """
        check_choices(choices)
        ticket = self.lock.enter()
        try:
            result_of(self._wait(ticket, stop))
            result_of(self.prepare(stop))
            native, template = self._ready()
            self._take_free_cores(native)
            sequences = {choice: _tokenize(native, template.render_reply(messages, choice)) for choice in choices}
            self._room(native, max(map(len, sequences.values())))
            prompt = _tokenize(native, template.render(messages))
            start = min(len(prompt), common_length(list(sequences.values())))
            known: dict[tuple[int, ...], Any] = {}  # what comes after a beginning
            logs = dict.fromkeys(choices, 0.0)
            with _watching(stop, native):
                for choice, tokens in sequences.items():
                    for place in range(start, len(tokens)):
                        beginning = tuple(tokens[:place])
                        if beginning not in known:
                            result_of(self._read(native, beginning))
                            known[beginning] = native.log_probabilities()
                        logs[choice] += float(known[beginning][tokens[place]])
            return shares_of_sequences(logs, sequences)
        finally:
            self.lock.leave(ticket)

    def _wait(self, ticket: int, stop: StopSignal | None) -> Generator[Progress, None, None]:
        told = 0
        while (position := self.lock.wait(ticket, POLL)) and not is_set(stop):
            if position != told:
                told = position
                yield Progress("waiting", 0, position)
        if is_set(stop):
            raise StoppedError

    def _take_free_cores(self, native: NativeModel) -> None:
        """Choose the number of threads anew where a core was busy before."""
        if not self._threads and native.threads < physical_cores():
            native.compute_with(default_threads())

    def _room(self, native: NativeModel, length: int) -> int:
        """Return how many tokens fit the context beside a prompt of `length`. Raises ModelError if not even one."""
        if length >= native.context_size:
            raise ModelError(
                f"The prompt has {length} tokens, the context of {self.name} holds {native.context_size}.",
                "Ask a shorter question, use fewer or shorter passages, or set a larger context.",
            )
        return native.context_size - length

    def _read(self, native: NativeModel, prompt: Sequence[int]) -> Generator[Progress, None, int]:
        """Evaluate the prompt beyond what the context holds; return how many tokens that were.

        Its last token goes alone: evaluated among others it gives slightly other numbers, and the same prompt would be
        answered differently when it is asked again. Raises StoppedError.
        """
        kept, last = native.keep_prefix(prompt), len(prompt) - 1
        done = kept
        while done < len(prompt):
            yield Progress("reading", done, len(prompt))
            batch = prompt[done : max(done + 1, min(done + native.batch_size, last))]
            if native.abort.is_set() or not native.evaluate(batch):
                raise StoppedError
            done += len(batch)
        return done - kept

    def _write(
        self, native: NativeModel, sampler: Sampler, max_tokens: int, stop: StopSignal | None
    ) -> Generator[str, None, tuple[int, str]]:
        """Yield the reply; return its length in tokens and why it ended, as `Usage` has it."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for written in range(max_tokens):
            if is_set(stop):
                return written, "stopped"
            token = sampler.next()
            if native.is_end(token):
                return written, "stop"
            if text := decoder.decode(native.piece(token)):
                yield text
            if written + 1 < max_tokens and not native.evaluate([token]):
                return written + 1, "stopped"
        return max_tokens, "length"


def _tokenize(native: NativeModel, prompt: str) -> list[int]:
    return native.tokenize(prompt, add_special=not (native.bos and prompt.startswith(native.bos)))


@contextmanager
def _watching(stop: StopSignal | None, native: NativeModel) -> Iterator[None]:
    """Carry a stop signal over to the model's abort flag while the block runs."""
    native.abort.set(False)
    if stop is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(POLL):
            if stop.is_set():
                native.abort.set(True)
                return

    watcher = threading.Thread(target=watch, name="stop watcher", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        native.abort.set(False)
