"""The language model of this process: which one answers, its state, and replacing it."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.interfaces import GREEDY, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.llm import engines
from pdfqa_core.llm.base import Engine
from pdfqa_core.llm.catalogue import (
    AUTO,
    default_model,
    entry,
    is_path,
    missing,
    on_disk,
    read_catalogue,
    resolve,
    title_of,
)
from pdfqa_core.llm.hardware import Offload
from pdfqa_core.llm.openai import base_url
from pdfqa_core.models import speed
from pdfqa_core.models.files import ModelFiles
from pdfqa_core.registry import Registry
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.streaming import EitherStop, is_set
from pdfqa_core.types import Answer, Progress

# ----------------------------------------------------------------------------------------------------
# The language model in use, whichever it is: readers hold this one while engines are replaced behind it.

POLL = 0.05  # seconds between two looks at a stop signal
LONG_ANSWER = 20  # tokens from which on an answer tells how fast the model writes
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
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Stream:
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


# ----------------------------------------------------------------------------------------------------
# The language model of this process: which one answers, its state, and replacing it.

# Settings that make another engine; the others (sampling, longest answer) hold from the next answer on.
ENGINE_FIELDS = (
    "engine", "model", "url", "context_size", "threads", "gpu_layers", "batch_size",
)  # fmt: skip
INSTALL_LLAMA = "Install it with: pip install -r requirements.txt (compiles for some minutes)."
OPENAI = "api.openai.com"
NO_MODEL = "no language model: literal answers"
_log = logging.getLogger(__name__)


class State(StrEnum):
    """The state of the language model."""

    MISSING = "missing"  # its library or its file is not here
    FAILED = "failed"  # it did not load
    LOADING = "loading"
    SWITCHING = "switching"  # another one is put in its place, or it is loaded again
    READY = "ready"
    IDLE = "idle"  # not in memory: the next question loads it

    @property
    def usable(self) -> bool:
        """Whether questions can be asked; they wait while it is loaded."""
        return self not in (State.MISSING, State.FAILED)

    @property
    def loading(self) -> bool:
        """Whether it is being loaded, so that this will change soon."""
        return self in (State.LOADING, State.SWITCHING)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What the header shows: the state, in few words and in more.

    `busy`: loading or downloading goes on. `lacking`: the wanted model is not here, and nobody fetches it.
    """

    state: State
    words: str
    detail: str = ""
    busy: bool = field(default=False, compare=False)
    lacking: bool = field(default=False, compare=False)


def engine_settings(llm: LLMSettings) -> dict[str, Any]:
    """Return the settings that make an engine."""
    return {name: getattr(llm, name) for name in ENGINE_FIELDS}


def api_key(url: str) -> str:
    """Return the key for a language model's server, read from the environment only; "" without one.

    A key goes to the address that it was set with: where PDFQA_LLM_URL names a server, to that alone. OpenAI's own
    variable is for OpenAI's own server: no other is sent what it holds.
    """
    given, openais = os.environ.get("PDFQA_LLM_API_KEY", ""), os.environ.get("OPENAI_API_KEY", "")
    named = os.environ.get("PDFQA_LLM_URL", "")
    try:
        host = urlsplit(base_url(url)).hostname
        if given and (not named or base_url(url) == base_url(named)):
            return given
    except (ValueError, UsageError):  # no address; whoever opens it says so
        return ""
    return openais if host == OPENAI else ""


class LanguageModel:
    """The one language model. Loads nothing before it is asked to.

    The settings that were asked for (`wanted`, where "auto" has become a name) and those in use (`settings`) differ
    while the wanted model is fetched, if it failed, and where the default one is not here: the bundled one answers
    then, and `note` says why ("" otherwise). `available` are the engines that the settings choose from, `key` gives the
    key for the address of a server.
    """

    def __init__(
        self,
        settings: LLMSettings,
        files: ModelFiles,
        *,
        available: Registry[Any] = engines,
        key: Callable[[str], str] = api_key,
    ) -> None:
        self.wanted = self._used = self.named(settings)
        self.note = ""
        self._files = files
        self._engines = available
        self.key = key
        self._lock = threading.Lock()
        self._llm: CurrentLLM | None = None
        self._file: Path | None = None
        self._status = ModelStatus(State.IDLE, "model not loaded yet")
        self._thread: threading.Thread | None = None
        self._beside: threading.Thread | None = None
        self._stop = threading.Event()
        self._closing = threading.Event()
        if self.wanted.model != settings.model and self._absent(self.wanted):
            self._used = self._bundled(self.wanted)
            self.note = f"{title_of(self._used.model)} answers instead: {missing(entry(AUTO), files.folder)}"

    @staticmethod
    def named(settings: LLMSettings) -> LLMSettings:
        """Return settings in which "auto" is the name of this machine's default model."""
        if settings.model != AUTO or settings.engine == "openai":
            return settings
        return settings.model_copy(update={"model": default_model()})

    @staticmethod
    def _bundled(wanted: LLMSettings) -> LLMSettings:
        """Return settings with the bundled model in the place of the wanted one."""
        engine = "llama_cpp" if wanted.engine == "openai" else wanted.engine
        spare = {"engine": engine, "url": "", "model": read_catalogue()[0].name}
        return wanted.model_copy(update=spare)

    def beside(self, wanted: LLMSettings) -> LanguageModel:
        """Return another language model with files of the same folders, for work that must not disturb this one.

        Nobody else is answered by it. A key goes with it only to the address of this one.
        """
        known = self.wanted.url
        return LanguageModel(
            self.named(wanted),
            self._files,
            available=self._engines,
            key=lambda url: self.key(url) if url == known else "",
        )

    def _absent(self, llm: LLMSettings) -> bool:
        """Whether the model is one of the catalogue that is not here."""
        named = llm.engine != "openai" and not is_path(llm.model)
        return named and on_disk(entry(llm.model), *self._files.folders) is None

    # ------------------------------------------------------------ what there is

    @property
    def settings(self) -> LLMSettings:
        """The settings of the model that answers."""
        return self.wanted.model_copy(update=engine_settings(self._used))

    def running(self, settings: Settings) -> Settings:
        """Return settings with the model that answers, whichever they name."""
        llm = settings.llm.model_copy(update=engine_settings(self._used))
        return settings.model_copy(update={"llm": llm})

    @property
    def status(self) -> ModelStatus:
        """How far loading and downloading are."""
        status = self._status
        if status.state == State.READY and self._llm is not None and not self._llm.engine.loaded:
            name = self._llm.name
            status = ModelStatus(State.IDLE, f"{name} not in memory", f"The next question loads {name}.")
        if fetched := self._files.downloads.under_way():
            words = ", ".join(f"downloading {one.title}, {one.percent} %" for one in fetched)
            return replace(status, words=f"{status.words} · {words}", busy=True)
        ended = self._files.downloads.get(self.wanted.model)
        if ended is not None and ended.state != "done" and self._used.model != self.wanted.model:
            words, detail = f"{status.words} · {ended.title} is not here", f"{status.detail} {ended.what} {ended.hint}"
            status = replace(status, words=words, detail=detail.strip(), lacking=True)
        return replace(status, busy=status.state.loading)

    @property
    def loading(self) -> bool:
        """Whether a model is being loaded now; that ends with `close` too."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def file(self) -> Path | None:
        """The file that answers, or that the next question loads; None on a server or without a model."""
        used = self._used
        if used.engine == "openai" or self._file is not None:
            return self._file
        path = Path(used.model).expanduser() if is_path(used.model) else None
        return path or on_disk(entry(used.model), *self._files.folders)

    @property
    def offload(self) -> Offload | None:
        """How much of the model in memory is on a GPU, None where nothing is."""
        return self._llm.engine.offload if self._llm is not None else None

    def note_speed(self, answer: Answer) -> None:
        """Keep how fast a long answer was written, so that the speed of other models can be told."""
        seconds, llm = answer.seconds.get("write", 0.0), self._llm
        if llm is not None and answer.model == llm.name and answer.completion_tokens >= LONG_ANSWER and seconds:
            self._keep_speed(lambda: (answer.completion_tokens - 1) / seconds)  # the first token ends the reading

    def _measure(self, after: threading.Thread) -> None:
        """Find out how fast the model writes where that is not known yet, unless somebody needs it meanwhile."""
        after.join()
        self._closing.wait(speed.QUIET)
        llm = self._llm
        if llm is not None and llm.engine.loaded and self._files.expected_speed(1) is None:
            self._keep_speed(lambda: speed.first_rate(llm.engine, self._closing))

    def _keep_speed(self, rate: Callable[[], float]) -> None:
        """Keep how many tokens a second the file in use writes; where that fails it is left to the next answer."""
        file = self.file
        if self.offload or file is None or not file.is_file():
            return
        try:
            self._files.keep_measured(file.stat().st_size * rate())
        except PdfQAError as error:
            _log.warning("how fast the model writes was not kept: %s", error)

    @property
    def calls(self) -> tuple[int, int]:
        """How many calls the model is answering, and how many wait for it."""
        if self._llm is None:
            return 0, 0
        calls = self._llm.calls
        return min(calls, self._llm.parallel), max(0, calls - self._llm.parallel)

    def llm(self) -> CurrentLLM:
        """Return the language model, not necessarily loaded.

        Raises ModelError if its library or its file is missing, UsageError if the catalogue has no such name.
        """
        with self._lock:
            if self._llm is None:
                self._llm = CurrentLLM(self._build(self._used))
                if self.note:
                    _log.warning("%s", self.note)
            return self._llm

    def _build(self, chosen: LLMSettings) -> Engine:
        make: Callable[..., Engine] = self._engines.get(chosen.engine)
        if chosen.engine == "openai":
            return make(chosen.url, model=chosen.model, api_key=self.key(chosen.url), context_size=chosen.context_size)
        if chosen.engine == "llama_cpp" and importlib.util.find_spec("llama_cpp") is None:
            raise ModelError("llama-cpp-python is not installed, so no language model can run.", INSTALL_LLAMA)
        folders = self._files.folders
        resolve(chosen.model, *folders, convert=False)  # a missing file raises now, not in the middle of an answer

        def find() -> Path:
            self._file = resolve(chosen.model, *folders)
            return self._file

        return make(
            find,
            name=title_of(chosen.model),
            context_size=chosen.context_size,
            threads=chosen.threads,
            gpu_layers=chosen.gpu_layers,
            batch_size=chosen.batch_size,
        )

    # ------------------------------------------------------------ loading at the start

    def warm_up(self, beside: Callable[[StopSignal], None]) -> None:
        """Load the model, and call `beside` at the same time, in threads; `status` shows the progress.

        A while after both the speed is measured, where it is not known yet and nobody needs the model.
        """

        def work() -> None:
            self._beside = other = self._started(lambda: beside(self._closing), "warm up beside")
            self._load_or_fall_back()
            threading.Thread(target=self._measure, args=(other,), name="measure speed", daemon=True).start()

        with self._lock:
            if self._thread is None:
                self._status = replace(self._status, state=State.LOADING)
                self._thread = self._started(work, "warm up")

    def _started(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Begin `work` in the background; whatever happens to it, the header must not say "loading" for ever."""

        def run() -> None:
            try:
                work()
            except StoppedError:
                return
            except Exception as error:  # noqa: BLE001
                _log.exception("loading failed")
                self._status = ModelStatus(State.FAILED, NO_MODEL, f"Loading failed: {type(error).__name__}: {error}")

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def _load_or_fall_back(self) -> None:
        failure = State.MISSING
        try:
            if self._fetch():
                return
            engine = self.llm().engine
            failure = State.FAILED
            self._load(engine, self._closing)
        except StoppedError:
            raise
        except PdfQAError as error:
            if not self._fall_back(str(error)):
                self._status = ModelStatus(failure, NO_MODEL, str(error))

    def _load(self, engine: Engine, stop: StopSignal, state: State = State.LOADING) -> None:
        """Load an engine and say so."""
        self._status = ModelStatus(state, f"loading {engine.name}")
        if not engine.loaded:
            for step in engine.prepare(stop):
                self._status = ModelStatus(state, f"{step.phase}, {step.done}%")
        self._say_ready(engine)

    def _say_ready(self, engine: Engine) -> None:
        detail = f"{engine.name}, context {engine.context_size:,} tokens"
        detail += f", {engine.offload.words}" if engine.offload else ""
        detail += f". {self.note}" if self.note else ""
        self._status = ModelStatus(State.READY, f"{engine.name} ready", detail)

    def _fetch(self) -> bool:
        """Fetch the wanted model if it is one of the catalogue that is not here; return whether it is fetched.

        Until it is there the bundled model answers, and if it fails as well.
        """
        if not self._absent(self.wanted) or (chosen := entry(self.wanted.model)).package:
            return False
        self.fetch(chosen.name)
        if not self._fall_back(f"{chosen.title} is not here yet, see its card on the Models tab."):
            self._status = ModelStatus(State.MISSING, NO_MODEL, f"{chosen.title} is not here yet.")
        return True

    def fetch(self, name: str) -> None:
        """Download a model of the catalogue in the background; if it is the wanted one, use it when it is here."""
        wanted, chosen = self.wanted, entry(name)
        arrived = partial(self._use_arrived, wanted) if chosen.name == wanted.model else lambda: None
        self._files.downloads.start(chosen, arrived)

    def _fall_back(self, reason: str) -> bool:
        """Load the bundled model instead of the wanted one; return False if that fails too."""
        bundled = read_catalogue()[0]
        if self.wanted.model == bundled.name or on_disk(bundled, *self._files.folders) is None:
            return False
        used, note = self._bundled(self.wanted), f"{bundled.title} answers instead: {reason}"
        try:
            built = self._llm.engine if self._llm is not None and self._used == used else self._build(used)
            with self._lock:
                self._llm = current = self._llm or CurrentLLM(built)
            with current.alone(f"loading {built.name}", self._closing):
                before, self.note = (current.engine, self._used, self.note), note
                current.engine, self._used = built, used
                try:
                    self._load(built, self._closing)
                except PdfQAError:
                    current.engine, self._used, self.note = before
                    raise
        except StoppedError:
            raise
        except PdfQAError:
            return False
        return True

    def _use_arrived(self, wanted: LLMSettings) -> None:
        """Put a model that has arrived into use, unless another one was chosen meanwhile."""
        if self._thread is not None:
            self._thread.join()  # the bundled model is still being loaded
        if self.wanted == wanted and self._used.model != wanted.model and not self._closing.is_set():
            try:
                self._switch(wanted, wanted, "")
            except PdfQAError as error:
                self.note = f"{title_of(self._used.model)} answers instead: {error}"
                _log.warning("%s", error)

    # ------------------------------------------------------------ other models

    def use(self, wanted: LLMSettings) -> None:
        """Put these settings into use; where they need another engine, in the background.

        Answers under way are finished first, new ones wait. If the new model does not load the one before is loaded
        again, and `note` says why. Raises ModelError (its file is missing), UsageError (no such name or template),
        PdfQAError if another model is being loaded; nothing has changed then.
        """
        wanted = self.named(wanted)
        replaced = wanted.model == self.wanted.model != self._used.model and self._absent(wanted)
        used, note = (self._bundled(wanted), self.note) if replaced else (wanted, "")
        if engine_settings(wanted) == engine_settings(self.wanted) and engine_settings(used) == engine_settings(
            self._used
        ):
            self.wanted = wanted
        else:
            self._switch(wanted, used, note)

    def load(self) -> None:
        """Load the model in use in the background."""
        self._switch(self.wanted, self.settings, self.note)

    def stop_loading(self) -> None:
        """Stop loading the model that was asked for; the one before is loaded again."""
        self._stop.set()

    def unload(self) -> None:
        """Free the model's memory; the next question loads it again. Raises PdfQAError during an answer."""
        if self._llm is None:
            return
        if self._llm.calls:
            raise PdfQAError("An answer is being written.", "Wait for it, or stop it.")
        with self._llm.alone("waiting for the model", self._closing):
            self._llm.engine.unload()
        self._status = ModelStatus(State.READY, f"{self._llm.name} ready")

    def _switch(self, wanted: LLMSettings, used: LLMSettings, note: str) -> None:
        """Load `used`, which is wanted or, as the note says, answers instead."""
        engine = self._build(used)
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise PdfQAError("Another model is being loaded.", "Wait for it, or stop it.")
            self._stop.clear()
            self.wanted = wanted
            self._status = ModelStatus(State.SWITCHING, f"loading {engine.name}")
            self._llm = current = self._llm or CurrentLLM(engine)
            self._thread = self._started(lambda: self._replace(current, engine, used, note), "switch model")

    def _replace(self, current: CurrentLLM, engine: Engine, used: LLMSettings, note: str) -> None:
        """Load another engine while calls wait. If that fails they wait until the one before is back."""
        stop = EitherStop(self._stop, self._closing)
        if current.calls:
            self._status = ModelStatus(State.SWITCHING, f"loading {engine.name} after the answer under way")
        before, settings = current.engine, self._used
        try:
            with current.alone(f"loading {engine.name}", stop):
                if before is not engine:
                    before.unload()
                current.engine, self._used, self.note, self._file = engine, used, note, None
                try:
                    self._load(engine, stop, State.SWITCHING)
                except PdfQAError as error:
                    engine.unload()
                    current.engine, self._used = before, settings
                    self._restore(before, f"{engine.name} was not loaded: {error}")
        except PdfQAError as error:  # stopped while an answer was under way: nothing has changed
            self.note = f"{engine.name} was not loaded: {error}"
            self._say_ready(before)

    def _restore(self, engine: Engine, note: str) -> None:
        if self._closing.is_set():
            return
        self.note = note
        try:
            self._load(engine, self._closing, State.SWITCHING)
        except StoppedError:
            return
        except PdfQAError as error:
            self._status = ModelStatus(State.FAILED, NO_MODEL, f"{note} {error}")

    def close(self) -> None:
        """Stop loading and free the model, unless that does not end within 10 seconds."""
        self._closing.set()
        for thread in filter(None, (self._thread, self._beside)):
            thread.join(timeout=10)
            if thread.is_alive():
                _log.warning("the models are still loading; that ends with the program")
                return
        if self._llm is not None:
            self._llm.engine.unload()
