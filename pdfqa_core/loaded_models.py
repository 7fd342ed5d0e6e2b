"""The encoder and the language model of this process: loaded in the background, shared by all."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.llm import engines
from pdfqa_core.llm.catalogue import resolve, title_of
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import CrossEncoderScorer, Encoder, LateEncoder, PairScorer, TextEncoder, TokenEncoder
from pdfqa_core.settings import Settings
from pdfqa_core.types import LLM

INSTALL_LLAMA = "Install it with: pip install -r requirements.txt (compiles for some minutes)."
NO_MODEL = "no language model: literal answers"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What the header shows: `state` is "loading", "ready" or "missing"."""

    state: str
    words: str
    detail: str = ""


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
        self._settings = settings.llm
        self._engines = available
        self._make_encoder = make_encoder
        self._folder = folder
        self._lock = threading.Lock()
        self._encoders: dict[str, PassageEncoder] = {}
        self._token_encoders: dict[str, TokenEncoder] = {}
        self._rerankers: dict[str, PairScorer] = {}
        self._llm: Any = None
        self._status = ModelStatus("loading", "model not loaded yet")
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @property
    def folder(self) -> Path:
        """Where model files lie."""
        return self._folder

    @property
    def status(self) -> ModelStatus:
        """How far loading is."""
        return self._status

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
        with self._lock:
            if self._llm is None:
                self._llm = self._build()
            return self._llm  # type: ignore[no-any-return]

    def _build(self) -> Any:
        chosen = self._settings
        engine = self._engines.get(chosen.engine)
        if chosen.engine == "openai":
            key = os.environ.get("PDFQA_LLM_API_KEY") or os.environ.get("OPENAI_API_KEY") or ""
            return engine(chosen.url, model=chosen.model, api_key=key, context_size=chosen.context_size)
        if chosen.engine == "llama_cpp" and importlib.util.find_spec("llama_cpp") is None:
            raise ModelError("llama-cpp-python is not installed, so no language model can run.", INSTALL_LLAMA)
        resolve(chosen.model, self._folder, convert=False)  # a missing file is told now, not in the middle of an answer

        def find() -> Path:
            return resolve(chosen.model, self._folder)

        return engine(
            find, name=title_of(chosen.model), context_size=chosen.context_size, threads=chosen.threads,
            gpu_layers=chosen.gpu_layers,
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
            llm: Any = self.llm()
            name = llm.name

            def report(share: float) -> None:
                self._status = ModelStatus("loading", f"loading {name}, {share:.0%}")

            if hasattr(llm, "load"):
                self._status = ModelStatus("loading", f"loading {name}")
                llm.load(report, stop=self._closing)
            self._status = ModelStatus("ready", f"{name} ready", f"{name}, context {llm.context_size:,} tokens")
        except StoppedError:
            raise
        except PdfQAError as error:
            self._status = ModelStatus("missing", NO_MODEL, str(error))

    def close(self) -> None:
        """Stop loading and free the language model, unless loading does not end within 10 seconds."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
            if self._thread.is_alive():
                _log.warning("the models are still loading; they end with the program")
                return
        if self._llm is not None and hasattr(self._llm, "unload"):
            self._llm.unload()
