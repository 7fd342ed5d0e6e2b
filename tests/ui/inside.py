"""The app inside the process of the tests, with scripted models: it is up in a moment, over what was made before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.models import LanguageModel, ModelFiles, Models
from pdfqa_core.registry import Registry
from pdfqa_core.services import Services
from pdfqa_core.settings import Settings
from pdfqa_core.ui import build_page, downloads, launch
from tests.services.helpers import LITERAL
from tests.serving_fakes import FakeEncoders, FakeEngine

WORD_FOR_WORD = LITERAL.changed("llm", model="smollm2-135m")


class Encoders(FakeEncoders):
    """The hashing encoders, which need no warming up."""

    def warm_up(self, stop: StopSignal | None = None) -> None:
        pass


@contextmanager
def opened(
    folder: Path, settings: Settings = WORD_FOR_WORD, engine: Callable[..., Any] = FakeEngine
) -> Iterator[Services]:
    """Open the services of a workspace in `folder`, where models are kept too."""
    engines: Registry[Any] = Registry("engine")
    engines.register("llama_cpp")(engine)
    files = ModelFiles(folder, folder / "models")
    language = LanguageModel(settings.llm, files, available=engines)
    models = Models(Encoders(), language, files, settings.server.demo)
    with Services.open(folder / "workspace", settings, models) as services:
        yield services


@contextmanager
def serving(services: Services) -> Iterator[str]:
    """Serve the page on a free port; give its address."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRADIO_TEMP_DIR", str(downloads.uploads()))
        page = build_page(services)
        try:
            yield launch(page, services, port=0).rstrip("/")
        finally:
            page.close(verbose=False)
