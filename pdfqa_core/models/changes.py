"""What may be done with the models and their files on one's own computer, all of it refused on a demo."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pdfqa_core.errors import ModelError, PdfQAError, UsageError
from pdfqa_core.interfaces import Message, StopSignal
from pdfqa_core.llm import OpenAICompatible
from pdfqa_core.llm.catalogue import entry, is_path, on_disk, title_of
from pdfqa_core.models.encoders import Encoders
from pdfqa_core.models.files import ModelFiles, title_of_encoder
from pdfqa_core.models.language import LanguageModel, api_key
from pdfqa_core.models.speed import Speed, speed_test
from pdfqa_core.retrieval.encoder import parts_of
from pdfqa_core.settings import LLMSettings, RetrievalSettings, Settings
from pdfqa_core.streaming import complete
from pdfqa_core.types import Progress


@dataclass(frozen=True, slots=True)
class Changes:
    """The language model in use and its files, for those who may change them; `Models.changes` gives it."""

    language: LanguageModel
    files: ModelFiles
    encoders: Encoders

    # ------------------------------------------------------------ files

    def download(self, name: str) -> None:
        """Fetch a model of the catalogue in the background, see `LanguageModel.fetch`."""
        self.language.fetch(name)

    def remove(self, name: str) -> bool:
        """Remove a model, see `ModelFiles.remove`. Raises PdfQAError if it is in use or being fetched."""
        used = self.language.settings
        if name in (used.model, self.language.wanted.model) and used.engine != "openai":
            raise PdfQAError(f"{title_of(name)} is in use.", "Use another model first.")
        state = self.files.downloads.get(name)
        if state is not None and state.state == "downloading":
            raise PdfQAError(f"{state.title} is being downloaded.", "Stop that first.")
        if not is_path(name):
            self.files.downloads.forget(entry(name))
        return self.files.remove(name)

    # ------------------------------------------------------------ encoders

    def use_encoder(self, name: str) -> None:
        """Compare meanings by an encoder ("" is the bundled one), now and at the next start. Raises ModelError."""
        self.files.encoders.folders(name)
        self.files.remember_encoder(name)
        self.files.encoders.chosen = name

    def remove_encoder(self, name: str, used: RetrievalSettings) -> None:
        """Delete the files of an encoder. Raises PdfQAError if it is being fetched or in use, by these settings too."""
        chosen = (self.files.encoders.chosen or "", used.embedding_model, used.late_model)
        if name and any(name in parts_of(one) for one in chosen):
            raise PdfQAError(f"{title_of_encoder(name)} is in use.", "Use another encoder first.")
        self.files.encoders.remove(name)
        self.encoders.forget(name)

    # ------------------------------------------------------------ the model in use

    def get(self, name: str) -> None:
        """Use a model of the catalogue as soon as it is here; the one in use answers until it has been fetched."""
        if on_disk(entry(name), *self.files.folders) is not None:
            self.use(name)
            return
        before = self.language.wanted

        def arrived() -> None:
            if self.language.wanted == before:  # nobody has chosen another one meanwhile
                self.use(name)

        self.files.downloads.start(entry(name), arrived)

    def use(self, name: str) -> LLMSettings:
        """Put a model (a name or a path) into use, now and at the next start."""
        return self.change(engine="llama_cpp", model=name, url="")

    def use_server(self, url: str, model: str) -> LLMSettings:
        """Put a model on an OpenAI-compatible server into use, now and at the next start."""
        return self.change(engine="openai", url=self._server(url, model).url, model=model.strip())

    def change(self, **values: Any) -> LLMSettings:
        """Change settings of the language model, now and at the next start; return those that were asked for.

        Raises UsageError (a wrong value), ModelError (its file is missing), PdfQAError (another model is being loaded);
        nothing has changed then.
        """
        before = self.language.wanted
        wanted = Settings(llm=before).changed("llm", **values).llm
        self.language.use(wanted)
        changed = {name: value for name, value in values.items() if value != getattr(before, name)}
        if changed:
            self.files.remember(**changed)
        return wanted

    def speed_test(self, stop: StopSignal) -> Iterator[Progress | Speed]:
        """Measure the model in use, see `speed_test`; what was measured is kept."""
        for event in speed_test(self.language, stop):
            if isinstance(event, Speed) and not self.language.offload:
                self.files.keep_measured(event.size * event.answer_rate)
            yield event

    # ------------------------------------------------------------ servers

    def _server(self, url: str, model: str = "") -> OpenAICompatible:
        if not url.strip():
            raise UsageError("There is no address.", "Type one such as http://127.0.0.1:8080/v1.")
        context = self.language.wanted.context_size
        return OpenAICompatible(url, model=model.strip(), api_key=api_key(url), context_size=context)

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
