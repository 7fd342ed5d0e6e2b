"""What stands in for the loaded models where services are tested: a scripted language model and a hashing encoder."""

from __future__ import annotations

import json
from pathlib import Path

from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import ModelError
from pdfqa_core.models import LanguageModel, ModelFiles, ModelStatus, State
from pdfqa_core.services import SAMPLE
from pdfqa_core.settings import LLMSettings
from pdfqa_core.text import words
from pdfqa_core.types import Progress
from tests.conftest import FakeLLM
from tests.retrieval.fakes import FakeEncoder, LengthScorer, WordVectors

PDF = SAMPLE / "harbour-heat.pdf"
QUESTIONS = {
    item["id"]: item for item in map(json.loads, (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines())
}


class WordEncoder(FakeEncoder):
    """A fake encoder whose tokens are words."""

    def token_spans(self, text):
        return words(text)


class FakeEngine(FakeLLM):
    """A scripted engine that is loaded like llama.cpp; `load` yields the percent, or raises what loading raises."""

    loaded = False
    waiting = 1  # somebody always needs it, so that no speed is measured unasked

    def __init__(self, find, *, name, **given):
        super().__init__()
        self.name, self.given = name, given
        self.context_size = given["context_size"]
        self.unloaded = False

    def load(self, stop):
        yield 100

    def prepare(self, stop=None):
        for percent in self.load(stop) or ():
            yield Progress(f"loading {self.name}", percent, 100)
        self.loaded = True

    def unload(self):
        self.loaded, self.unloaded = False, True


class FakeEncoders:
    """Hashing encoders by name; `encoders` are those that were asked for."""

    def __init__(self):
        self.encoders: dict[str, WordEncoder] = {}

    def encoder(self, path_or_name="", precision="auto"):
        return self.encoders.setdefault(path_or_name, WordEncoder(model_hash=f"fake-{path_or_name}"))

    def token_encoder(self, path_or_name=""):
        return WordVectors(model_hash=f"words-{path_or_name}")

    def reranker(self, path_or_name):
        return LengthScorer()

    def forget(self, path_or_name):
        self.encoders.pop(path_or_name, None)


class FakeLanguage:
    """A scripted language model that is ready, or what `status` says.

    `others` are scripted models by name, for work that needs another one; `made` are those that were asked for.
    """

    offload = None
    loading = False
    file: Path | None = None
    calls = (0, 0)
    named = staticmethod(LanguageModel.named)

    def __init__(self, llm: FakeLLM | None, settings: LLMSettings, status: ModelStatus | None):
        self.settings = self.named(settings)
        self.status = status or ModelStatus(State.READY, "fake ready")
        self._llm = llm
        self.others: dict[str, FakeLLM | None] = {}
        self.made: list[FakeLanguage] = []
        self.closed = False

    def note_speed(self, answer):
        pass

    def beside(self, wanted):
        wanted = self.named(wanted)
        self.made.append(FakeLanguage(self.others[wanted.model], wanted, None))
        return self.made[-1]

    def key(self, url):
        return ""

    def close(self):
        self.closed = True

    def running(self, settings):
        return settings

    def llm(self):
        if self._llm is None:
            raise ModelError("There is no language model.", "Install one.")
        return self._llm


class FakeModels:
    """Stands in for `models.Models` without loading anything."""

    demo = False

    def __init__(
        self, llm: FakeLLM | None = None, settings: LLMSettings | None = None, status: ModelStatus | None = None,
        files: ModelFiles | None = None, cluster: Cluster | None = None,
    ):  # fmt: skip
        self.cluster = cluster
        self.encoders = FakeEncoders()
        self.language = FakeLanguage(llm, settings or LLMSettings(), status)
        self.files = files or ModelFiles(Path("models"))
        self.closed = False

    def warm_up(self):
        pass

    def close(self):
        self.closed = True
