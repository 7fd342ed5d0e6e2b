"""Language models of a workspace: which there are, fetching, adding, using and measuring them."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.background import in_background
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.llm import OpenAICompatible
from pdfqa_core.llm.catalogue import entry, is_path, on_disk, title_of
from pdfqa_core.llm.downloads import DownloadState
from pdfqa_core.llm.hardware import Memory, memory, read_bandwidth
from pdfqa_core.llm.native import library
from pdfqa_core.llm.template import TEMPLATES
from pdfqa_core.llm.threads import physical_cores
from pdfqa_core.loaded_models import LoadedModels, Models, api_key
from pdfqa_core.services.model_files import ModelFile, ModelFiles
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.streaming import EitherStop, complete
from pdfqa_core.types import LLM, Message, Progress, StopSignal, Usage

# Settings that make another engine; the others (sampling, longest answer) hold from the next answer on.
ENGINE_FIELDS = (
    "engine", "model", "url", "context_size", "threads", "gpu_layers", "batch_size", "chat_template",
)  # fmt: skip
SENTENCE = "The committee met on Tuesday and agreed on the budget of the new library. "
PROBE = 4  # sentences of the first short prompt
READING, WRITING = 3.0, 4.0  # seconds that the speed test takes for each
LONGEST = 1500  # tokens of the test's prompt
NO_CHANGE = PdfQAError(
    "Visitors of a demo cannot change its language model.", "Run the app on your own computer to use another one."
)


@dataclass(frozen=True, slots=True)
class Machine:
    """What this computer has for language models. `gpu`: llama.cpp was built with support of one."""

    memory: Memory
    cores: int
    gpu: bool


@dataclass(frozen=True, slots=True)
class Speed:
    """What the speed test found. Rates are tokens a second, `bandwidth` and `size` bytes (a second).

    `limit` is how many tokens a second the memory allows, because each needs the whole file once; None where the model
    runs on a GPU as well.
    """

    model: str
    prompt_tokens: int
    prompt_rate: float
    answer_tokens: int
    answer_rate: float
    bandwidth: float
    size: int
    threads: int
    limit: float | None

    @property
    def words(self) -> str:
        """What the numbers mean."""
        wait = f"A prompt of 500 tokens takes {500 / self.prompt_rate:.1f} s, "
        wait += f"an answer of 100 tokens {100 / self.answer_rate:.1f} s."
        if self.limit is None:
            return wait
        share = self.answer_rate / self.limit
        if share >= 0.6:
            return f"{wait} Answers come about as fast as this memory allows; only a smaller file would be faster."
        return (
            f"{wait} Answers reach {share:.0%} of what this memory allows: the processor holds them back, or other "
            "programs do. Try another number of threads."
        )


class ModelService:
    """The language models of a workspace. `settings` are the workspace's, with the language model chosen last."""

    def __init__(self, workspace: Path, settings: Settings, loaded: Models, tasks: Tasks) -> None:
        self.settings = settings
        self.loaded = loaded
        self.model_files = ModelFiles(workspace)
        self._tasks = tasks

    def running(self, settings: Settings) -> Settings:
        """Return the settings with the language model that really answers, which may have been changed since."""
        used = self.loaded.in_use
        if used is None:
            return settings
        values = {name: getattr(used, name) for name in ENGINE_FIELDS}
        return settings.model_copy(update={"llm": settings.llm.model_copy(update=values)})

    # ------------------------------------------------------------ what there is

    @staticmethod
    def machine() -> Machine:
        """Return what this computer has for language models."""
        try:
            gpu = bool(library().llama_supports_gpu_offload())
        except ModelError:
            gpu = False
        return Machine(memory(), physical_cores(), gpu)

    def known_models(self) -> tuple[ModelFile, ...]:
        """Return the models of the catalogue and those added by path."""
        return self.model_files.all(self.loaded.in_use or self.settings.llm)

    def model_download(self, name: str) -> DownloadState | None:
        """Return how the download of a model stands, None if there was none."""
        models = self.loaded
        return models.downloads.get(name) if isinstance(models, LoadedModels) else None

    @staticmethod
    def chat_templates() -> tuple[str, ...]:
        """Return the names of the chat templates that can be chosen."""
        return tuple(TEMPLATES)

    # ------------------------------------------------------------ changing

    def _changeable(self) -> LoadedModels:
        """Return the models. Raises PdfQAError on a demo."""
        if self.settings.server.demo:
            raise NO_CHANGE
        if not isinstance(self.loaded, LoadedModels):
            raise PdfQAError("These models cannot be changed.", "Open the workspace with the app.")
        return self.loaded

    def download_model(self, name: str) -> None:
        """Fetch a model of the catalogue in the background."""
        self._changeable().downloads.start(entry(name))

    def stop_download(self, name: str) -> None:
        """Stop fetching a model; what has arrived is kept."""
        self._changeable().downloads.stop(name)

    def add_model(self, path: str) -> str:
        """Remember a GGUF file of this computer, see `ModelFiles.add`."""
        self._changeable()
        return self.model_files.add(path)

    def remove_model(self, name: str) -> bool:
        """Remove a model, see `ModelFiles.remove`. Raises PdfQAError if it is in use or being fetched."""
        models = self._changeable()
        if name in (models.in_use.model, models.wanted.model) and models.in_use.engine != "openai":
            raise PdfQAError(f"{title_of(name)} is in use.", "Use another model first.")
        state = models.downloads.get(name)
        if state is not None and state.state == "downloading":
            raise PdfQAError(f"{state.title} is being downloaded.", "Stop that first.")
        if not is_path(name):
            models.downloads.forget(entry(name))
        return self.model_files.remove(name)

    def use_model(self, name: str) -> Settings:
        """Put a model (a name or a path) into use, now and at the next start; return the settings as they are now."""
        return self.change_llm(engine="llama_cpp", model=name, url="")

    def use_server(self, url: str, model: str) -> Settings:
        """Put a model on an OpenAI-compatible server into use, now and at the next start."""
        server = self._server(url, model)
        return self.change_llm(engine="openai", url=server.url, model=model.strip())

    def change_llm(self, **values: Any) -> Settings:
        """Change settings of the language model, now and at the next start; return the settings as they are now.

        Raises UsageError (a wrong value), ModelError (its file is missing), PdfQAError (on a demo, or while another
        model is being loaded); nothing has changed then.
        """
        models = self._changeable()
        wanted = self.settings.changed("llm", **values)
        before = models.wanted
        if _engine(wanted.llm) != _engine(before) or _engine(models.in_use) != _engine(before):
            models.use(wanted.llm)
        changed = {name: value for name, value in values.items() if value != getattr(self.settings.llm, name)}
        self.settings = wanted
        if changed:
            self.model_files.remember(**changed)
        return wanted

    def load_model(self) -> None:
        """Load the model in use."""
        self._changeable().load()

    def unload_model(self) -> None:
        """Free the memory of the model in use; the next question loads it again."""
        self._changeable().unload()

    def stop_loading(self) -> None:
        """Stop loading another model."""
        self._changeable().stop_loading()

    # ------------------------------------------------------------ servers

    def _server(self, url: str, model: str = "") -> OpenAICompatible:
        self._changeable()
        if not url.strip():
            raise UsageError("There is no address.", "Type one such as http://127.0.0.1:8080/v1.")
        return OpenAICompatible(
            url, model=model.strip(), api_key=api_key(), context_size=self.settings.llm.context_size
        )

    def server_models(self, url: str) -> list[str]:
        """Return the models of a server. Raises UsageError, ModelError."""
        return self._server(url).model_names()

    def try_server(self, url: str, model: str) -> str:
        """Return what a server answers to a short question, and how long that took, in words."""
        began = time.perf_counter()
        server = self._server(url, model)
        said = "".join(complete(server, [Message("user", "Reply with the word ready.")], max_tokens=16)).strip()
        if not said:
            raise ModelError(f"{server.name} answered nothing.", "Choose another model on that server.")
        return f"{server.name} answered “{said[:80]}” in {time.perf_counter() - began:.1f} s."

    # ------------------------------------------------------------ speed

    def speed_test(self, *, task: str = "") -> Iterator[Progress | Speed]:
        """Measure the model in use for about ten seconds; yields Progress in percent, then Speed, which is kept.

        Raises StoppedError, PdfQAError (a demo, a model on a server, a task of this name under way) and what loading
        raises.
        """
        models = self._changeable()
        if models.in_use.engine == "openai":
            raise PdfQAError("The speed of a server is not measured.", "Use its own test, or a model of this computer.")
        with self._tasks.start(task) as stop:
            llm, threads = models.llm(), models.engine.threads
            yield Progress("loading the model", 0, 100)
            for step in llm.prepare(stop):
                yield Progress(step.phase, 0, 100)
            size = self._size_in_use(models)
            yield Progress("measuring the memory", 5, 100)
            bandwidth = yield from in_background(lambda _: read_bandwidth(size, threads, stop=stop))
            yield Progress("reading a prompt", 20, 100)
            read = yield from _read_speed(llm, PROBE, stop)
            sentences = round(PROBE * READING * read[1] / max(1, read[0]))
            most = min(LONGEST, llm.context_size // 2)
            sentences = max(PROBE, min(sentences, PROBE * most // max(1, read[0])))
            yield Progress("reading a prompt", 25, 100)
            read = yield from _read_speed(llm, sentences, stop)
            yield Progress("writing an answer", 60, 100)
            written = yield from _write_speed(llm, stop)
            if stop.is_set():
                raise StoppedError("The speed test was stopped.")
            speed = Speed(
                llm.name, read[0], read[1], written[0], written[1], bandwidth, size, threads,
                None if models.in_use.gpu_layers else bandwidth / size,
            )  # fmt: skip
            if speed.limit is not None:
                self.model_files.keep_measured(bandwidth, speed.answer_rate / speed.limit)
            yield speed

    def _size_in_use(self, models: LoadedModels) -> int:
        name = models.in_use.model
        path = Path(name).expanduser() if is_path(name) else on_disk(entry(name), models.folder)
        if path is None or not path.is_file():
            raise ModelError(f"The file of {title_of(name)} is gone.", "Use another model.")
        return path.stat().st_size


def _engine(llm: LLMSettings) -> dict[str, Any]:
    return {name: getattr(llm, name) for name in ENGINE_FIELDS}


def _question(sentences: int) -> list[Message]:
    """Return a prompt that begins as none before, so that nothing of it is in the model's cache."""
    text = f"Note {secrets.token_hex(4)}. {SENTENCE * sentences}"
    return [Message("user", f"{text}\nWrite a long story about this meeting.")]


def _read_speed(llm: LLM, sentences: int, stop: StopSignal) -> Generator[Progress, None, tuple[int, float]]:
    """Read a prompt of so many sentences; return its tokens and how many of them were read a second."""
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
