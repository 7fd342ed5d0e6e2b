"""The encoder and the language model of this process: loaded in the background, shared by all."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.llm import Engine, engines
from pdfqa_core.llm.catalogue import entry, is_path, on_disk, read_catalogue, resolve, title_of
from pdfqa_core.llm.current import CurrentLLM
from pdfqa_core.llm.downloads import Downloads
from pdfqa_core.llm.threads import default_threads
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import CrossEncoderScorer, Encoder, LateEncoder, PairScorer, TextEncoder, TokenEncoder
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.streaming import EitherStop
from pdfqa_core.types import LLM, StopSignal

INSTALL_LLAMA = "Install it with: pip install -r requirements.txt (compiles for some minutes)."
SWITCH = "switch model"  # the name of the thread that puts another model into use
NO_MODEL = "no language model: literal answers"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What the header shows: `state` is "loading", "ready", "idle" (not in memory) or "missing".

    `busy`: something goes on in the background, so that it will change soon.
    """

    state: str
    words: str
    detail: str = ""
    busy: bool = field(default=False, compare=False)


class PassageEncoder(TextEncoder, Protocol):
    """An encoder that also tells where its tokens are."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each token in the text."""
        ...


class Models(Protocol):
    """What the services need of the models; `LoadedModels` offers it."""

    @property
    def folder(self) -> Path:
        """Where model files lie."""
        ...

    @property
    def status(self) -> ModelStatus:
        """How far loading is."""
        ...

    def encoder(self, path_or_name: str = "") -> PassageEncoder:
        """Return the encoder at a path or of a hub name; "" is the bundled one."""
        ...

    def token_encoder(self, path_or_name: str = "") -> TokenEncoder:
        """Return the late interaction model at a path or of a hub name; "" is the bundled encoder."""
        ...

    def reranker(self, path_or_name: str) -> PairScorer:
        """Return the cross-encoder at a path or of a hub name."""
        ...

    def llm(self) -> LLM:
        """Return the language model, not necessarily loaded. Raises ModelError if it cannot be had."""
        ...

    @property
    def in_use(self) -> LLMSettings | None:
        """The settings of the language model that answers; None: those of the program."""
        ...

    def warm_up(self) -> None:
        """Load in the background."""
        ...

    def close(self) -> None:
        """Stop loading and free the language model."""
        ...


class LoadedModels:
    """Encoders by name and the one language model. Loads nothing before it is asked to.

    `available` are the engines that the settings choose from, `make_encoder` makes an encoder of a path or hub name.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *,
        available: Registry[Any] = engines,
        make_encoder: Callable[[str], PassageEncoder] = Encoder,
    ) -> None:
        self._wanted = settings.llm  # what was asked for
        self._used = settings.llm  # what answers: the bundled model while the wanted one is fetched, or if it fails
        self.downloads = Downloads(folder)
        self._note = ""  # why another model than the wanted one answers
        self._engines = available
        self._make_encoder = make_encoder
        self._folder = folder
        self._lock = threading.Lock()
        self._encoders: dict[str, PassageEncoder] = {}
        self._token_encoders: dict[str, TokenEncoder] = {}
        self._rerankers: dict[str, PairScorer] = {}
        self._llm: CurrentLLM | None = None
        self._switch_stop = threading.Event()
        self._status = ModelStatus("loading", "model not loaded yet")
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @property
    def folder(self) -> Path:
        """Where model files lie."""
        return self._folder

    @property
    def status(self) -> ModelStatus:
        """How far loading and downloading are."""
        status = self._status
        if status.state == "ready" and self._llm is not None and not self._llm.engine.loaded:
            name = self._llm.engine.name
            status = ModelStatus("idle", f"{name} not in memory", f"The next question loads {name}.")
        fetched = self.downloads.under_way()
        if not fetched:
            return replace(status, busy=status.state == "loading")
        words = ", ".join(f"downloading {one.title}, {one.percent} %" for one in fetched)
        return replace(status, words=f"{status.words} · {words}", busy=True)

    @property
    def in_use(self) -> LLMSettings:
        """The settings of the language model that answers."""
        return self._used

    @property
    def wanted(self) -> LLMSettings:
        """The settings that were asked for; `note` says why others are in use."""
        return self._wanted

    @property
    def note(self) -> str:
        """Why another model than the wanted one answers, "" if it does."""
        return self._note

    def encoder(self, path_or_name: str = "") -> PassageEncoder:
        """Return the encoder at a path or of a hub name; "" is the bundled one."""
        with self._lock:
            if path_or_name not in self._encoders:
                self._encoders[path_or_name] = self._make_encoder(path_or_name)
            return self._encoders[path_or_name]

    def token_encoder(self, path_or_name: str = "") -> TokenEncoder:
        """Return the late interaction model at a path or of a hub name; "" is the bundled encoder. Loads nothing."""
        with self._lock:
            return self._token_encoders.setdefault(path_or_name, LateEncoder(path_or_name))

    def reranker(self, path_or_name: str) -> PairScorer:
        """Return the cross-encoder at a path or of a hub name. Loads nothing."""
        with self._lock:
            return self._rerankers.setdefault(path_or_name, CrossEncoderScorer(path_or_name))

    def llm(self) -> LLM:
        """Return the language model, not necessarily loaded.

        Raises ModelError if its library or its file is missing, UsageError if the catalogue has no such name.
        """
        return self._current()

    @property
    def engine(self) -> Engine:
        """The engine in use."""
        return self._current().engine

    def _current(self) -> CurrentLLM:
        with self._lock:
            if self._llm is None:
                self._llm = CurrentLLM(self._build(self._used))
            return self._llm

    def _build(self, chosen: LLMSettings) -> Engine:
        engine: Callable[..., Engine] = self._engines.get(chosen.engine)
        if chosen.engine == "openai":
            return engine(chosen.url, model=chosen.model, api_key=api_key(), context_size=chosen.context_size)
        if chosen.engine == "llama_cpp" and importlib.util.find_spec("llama_cpp") is None:
            raise ModelError("llama-cpp-python is not installed, so no language model can run.", INSTALL_LLAMA)
        resolve(chosen.model, self._folder, convert=False)  # a missing file is told now, not in the middle of an answer

        def find() -> Path:
            return resolve(chosen.model, self._folder)

        return engine(
            find, name=title_of(chosen.model), context_size=chosen.context_size,
            threads=chosen.threads or default_threads(), gpu_layers=chosen.gpu_layers, batch_size=chosen.batch_size,
            chat_template=chosen.chat_template,
        )  # fmt: skip

    def warm_up(self) -> None:
        """Load the encoder, then the language model, in a thread of their own; `status` tells how far it is."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="warm up", daemon=True)
                self._thread.start()

    def _load(self) -> None:
        try:
            self._load_encoder()
            self._load_llm()
        except StoppedError:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the header must not say "loading" for ever
            _log.exception("loading failed")
            self._status = ModelStatus("missing", NO_MODEL, f"Loading failed: {type(error).__name__}: {error}")

    def _load_encoder(self) -> None:
        self._status = ModelStatus("loading", "loading the encoder")
        try:
            self.encoder().encode(["warm up"], stop=self._closing)
        except StoppedError:
            raise
        except PdfQAError as error:
            _log.warning("%s", error)

    def _load_llm(self) -> None:
        try:
            if not self._fetch_first():
                self._load_current(self._closing)
        except StoppedError:
            raise
        except PdfQAError as error:
            if not self._fall_back(error):
                self._status = ModelStatus("missing", NO_MODEL, str(error))

    def _load_current(self, stop: StopSignal) -> None:
        """Load the engine in use and say so."""
        engine = self._current().engine
        self._status = ModelStatus("loading", f"loading {engine.name}")
        if not engine.loaded:
            for step in engine.prepare(stop):
                self._status = ModelStatus("loading", f"{step.phase}, {step.done}%")
        detail = f"{engine.name}, context {engine.context_size:,} tokens"
        self._status = ModelStatus("ready", f"{engine.name} ready", f"{detail}. {self._note}" if self._note else detail)

    # ------------------------------------------------------------ the bundled model in place of the wanted one

    def _fetch_first(self) -> bool:
        """Fetch the wanted model if it is one of the catalogue that is not here; return whether it is fetched.

        Until it is there the bundled model answers, and if it fails as well.
        """
        wanted = self._wanted
        if wanted.engine == "openai" or is_path(wanted.model):
            return False
        chosen = entry(wanted.model)
        if chosen.package or on_disk(chosen, self._folder) is not None:
            return False
        title = chosen.title
        self.downloads.start(chosen, lambda: self._replace_quietly(wanted))
        if not self._fall_back(PdfQAError(f"{title} is being downloaded.", "The Models tab shows how far it is.")):
            self._status = ModelStatus("missing", NO_MODEL, f"{title} is being downloaded.")
        return True

    def _fall_back(self, reason: PdfQAError) -> bool:
        """Load the bundled model instead of the wanted one; return False if it cannot be had either."""
        bundled = read_catalogue()[0]
        if self._wanted.model == bundled.name or on_disk(bundled, self._folder) is None:
            return False
        spare = {"engine": "llama_cpp" if self._wanted.engine == "openai" else self._wanted.engine, "url": ""}
        before = self._used
        self._used = self._wanted.model_copy(update={**spare, "model": bundled.name, "chat_template": ""})
        self._note = f"{bundled.title} answers instead: {reason}"
        try:
            if self._llm is not None:
                self._llm.engine = self._build(self._used)
            self._load_current(self._closing)
        except StoppedError:
            raise
        except PdfQAError:
            self._used, self._note = before, ""
            return False
        return True

    def _replace_quietly(self, wanted: LLMSettings) -> None:
        """Put a model that has arrived into use, unless another one was chosen meanwhile."""
        thread = self._thread
        if thread is not None:
            thread.join()  # the bundled model is still being loaded
        if self._wanted == wanted and not self._closing.is_set():
            try:
                self.use(wanted)
            except PdfQAError as error:
                self._note = f"{title_of(self._used.model)} answers instead: {error}"
                _log.warning("%s", error)

    # ------------------------------------------------------------ other models

    def use(self, chosen: LLMSettings) -> None:
        """Replace the language model in the background; `status` tells how far it is.

        Answers under way are finished first, new ones wait. If the new model does not load the one before is loaded
        again, and `note` says why. Raises ModelError (its file is missing), UsageError (no such name or template),
        PdfQAError if another model is being loaded.
        """
        engine = self._build(chosen)
        thread = threading.Thread(target=self._switch, args=(chosen, engine), name=SWITCH, daemon=True)
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise PdfQAError("Another model is being loaded.", "Wait for it, or stop it.")
            self._switch_stop.clear()
            self._wanted, self._thread = chosen, thread
            self._status = ModelStatus("loading", f"loading {engine.name}")
            thread.start()

    @property
    def replacing(self) -> bool:
        """Whether another model is being put into use, which `stop_loading` ends."""
        return self._thread is not None and self._thread.name == SWITCH and self._thread.is_alive()

    def stop_loading(self) -> None:
        """Stop loading the model that `use` asked for; the one before is loaded again."""
        self._switch_stop.set()

    def _switch(self, chosen: LLMSettings, engine: Engine) -> None:
        try:
            self._switch_to(chosen, engine)
        except Exception as error:  # noqa: BLE001 - whatever it is, the header must not say "loading" for ever
            _log.exception("loading failed")
            self._status = ModelStatus("missing", NO_MODEL, f"Loading failed: {type(error).__name__}: {error}")

    def _switch_to(self, chosen: LLMSettings, engine: Engine) -> None:
        current = self._llm or CurrentLLM(engine)
        before, settings = current.engine, self._used
        stop = EitherStop(self._switch_stop, self._closing)
        if current.calls:
            self._status = ModelStatus("loading", f"loading {engine.name} after the answer under way")
        problem = ""
        try:
            with current.alone(f"loading {engine.name}", stop):
                if before is not engine:
                    before.unload()
                current.engine, self._used, self._note = engine, chosen, ""
                with self._lock:
                    self._llm = current
                self._load_current(stop)
        except PdfQAError as error:
            if self._closing.is_set():
                return
            problem = f"{engine.name} was not loaded: {error}"
        if problem:
            engine.unload()
            current.engine, self._used = before, settings
            self._note = problem
            try:
                self._load_current(self._closing)
            except StoppedError:
                return
            except PdfQAError as error:
                self._status = ModelStatus("missing", NO_MODEL, f"{problem} {error}")

    def unload(self) -> None:
        """Free the language model's memory; the next question loads it again. Raises PdfQAError during an answer."""
        if self._llm is None:
            return
        if self._llm.calls:
            raise PdfQAError("An answer is being written.", "Wait for it, or stop it.")
        with self._llm.alone("waiting for the model", self._closing):
            self._llm.engine.unload()
        self._status = ModelStatus("ready", f"{self._llm.name} ready")

    def load(self) -> None:
        """Load the model in use in the background."""
        self.use(self._used)

    def close(self) -> None:
        """Stop loading and downloading and free the language model, unless that does not end within 10 seconds."""
        self._closing.set()
        self.downloads.close()
        if self._thread is not None:
            self._thread.join(timeout=10)
            if self._thread.is_alive():
                _log.warning("the models are still loading; they end with the program")
                return
        if self._llm is not None:
            self._llm.engine.unload()


def api_key() -> str:
    """Return the key for a language model's server, from the environment only; "" if there is none."""
    return os.environ.get("PDFQA_LLM_API_KEY") or os.environ.get("OPENAI_API_KEY") or ""
