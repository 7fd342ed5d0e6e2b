from __future__ import annotations

import shutil
import threading

import pytest

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.llm import engines
from pdfqa_core.loaded_models import LoadedModels, ModelStatus
from pdfqa_core.registry import Registry
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings, workspace_path
from pdfqa_core.types import Message, Stored
from tests.conftest import FakeLLM
from tests.serving_fakes import PDF, QUESTIONS

LITERAL = Settings().changed("retrieval", retriever="bm25")


class Engine(FakeLLM):
    """A scripted engine; `script` is what loading does with its report and its stop signal."""

    def __init__(self, find, *, name, context_size, threads, gpu_layers):
        super().__init__()
        self.name, self.context_size, self.find = name, context_size, find
        self.unloaded = False

    def load(self, report, *, stop):
        self.script(report, stop)

    def script(self, report, stop):
        report(1.0)

    def unload(self):
        self.unloaded = True


@pytest.fixture
def load(tmp_path):
    """Loaded models whose engine loads by a script, and whose encoder does nothing or fails."""
    made = []

    def build(script=None, *, model="", encoder_error=None):
        available = Registry("engine")
        available.register("scripted")(type("Scripted", (Engine,), {"script": script} if script else {}))
        path = tmp_path / "tiny.gguf"
        path.write_bytes(b"GGUF")
        settings = Settings().changed("llm", engine="scripted", model=model or str(path))
        models = LoadedModels(
            settings, tmp_path / "models", available=available, make_encoder=lambda name: QuietEncoder(encoder_error)
        )
        made.append(models)
        return models

    yield build
    for models in made:
        models.close()


class QuietEncoder:
    def __init__(self, error):
        self.error = error

    def encode(self, texts, *, stop):
        if self.error is not None:
            raise self.error


def loading():
    return [thread for thread in threading.enumerate() if thread.name == "warm up"]


def warm(models):
    models.warm_up()
    for thread in loading():
        thread.join(120)
    assert loading() == []
    return models.status


def test_nothing_is_loaded_before_it_is_asked_for(load):
    models = load()
    assert models.status == ModelStatus("loading", "model not loaded yet")
    assert models.llm() is models.llm()


def test_loading_is_reported_in_words_and_ends_ready(load):
    seen = []

    def script(self, report, stop):
        seen.append(models.status)
        for share in (0.0, 0.5):
            report(share)
            seen.append(models.status)

    models = load(script)
    assert warm(models) == ModelStatus("ready", "tiny ready", "tiny, context 4,096 tokens")
    assert [status.words for status in seen] == ["loading tiny", "loading tiny, 0%", "loading tiny, 50%"]
    assert {status.state for status in seen} == {"loading"}


def test_warming_up_twice_loads_once(load):
    loads = []
    models = load(lambda self, report, stop: loads.append(1))
    warm(models)
    warm(models)
    assert loads == [1]


def test_a_model_that_does_not_load_is_missing_with_its_hint(load):
    def script(self, report, stop):
        raise ModelError("The file is damaged.", "Download it again.")

    status = warm(load(script))
    assert (status.state, status.words) == ("missing", "no language model: literal answers")
    assert status.detail == "The file is damaged. Download it again."


def test_an_unforeseen_failure_does_not_stay_loading(load, caplog):
    def script(self, report, stop):
        raise RuntimeError("out of luck")

    status = warm(load(script))
    assert (status.state, status.detail) == ("missing", "Loading failed: RuntimeError: out of luck")
    assert "out of luck" in caplog.text


def test_a_missing_encoder_does_not_keep_the_language_model_from_loading(load, caplog):
    status = warm(load(encoder_error=ModelError("No encoder.", "pip install it")))
    assert status.state == "ready"
    assert "No encoder. pip install it" in caplog.text


def test_a_missing_file_is_told_at_once(load, tmp_path):
    models = load(model=str(tmp_path / "gone.gguf"))
    with pytest.raises(ModelError, match=r"gone\.gguf does not exist"):
        models.llm()
    status = warm(models)
    assert status.state == "missing"
    assert "Check the path." in status.detail


def test_a_name_that_is_not_in_the_catalogue_is_a_usage_error(load):
    with pytest.raises(UsageError, match="no model called 'gigantic'"):
        load(model="gigantic").llm()


def test_closing_while_loading_ends_the_loading(load):
    began = threading.Event()

    def script(self, report, stop):
        began.set()
        while not stop.is_set():
            stop.wait(0.01)
        raise StoppedError

    models = load(script)
    models.warm_up()
    assert began.wait(10)
    models.close()
    assert loading() == []
    assert models.status.state == "loading"
    assert models.llm().unloaded


def test_closing_before_anything_was_loaded(load):
    load().close()
    models = load()
    warm(models)
    models.close()
    assert models.llm().unloaded


def test_encoders_are_made_once_by_name(tmp_path):
    models = LoadedModels(Settings(), tmp_path)
    assert models.encoder() is models.encoder("")
    assert models.encoder("other") is not models.encoder()
    assert models.folder == tmp_path


def test_a_server_is_an_engine_too(tmp_path):
    settings = Settings().changed("llm", engine="openai", url="http://127.0.0.1:9/v1", model="big")
    llm = LoadedModels(settings, tmp_path).llm()
    assert isinstance(llm, engines.get("openai"))
    assert llm.context_size == 4096


def test_a_missing_model_means_literal_answers_with_a_note(tmp_path):
    settings = LITERAL.changed("llm", model=str(tmp_path / "gone.gguf"))
    with Services(tmp_path / "workspace", settings) as services:
        list(services.ingest(LOCAL_OWNER, [PDF]))
        event = list(services.answer(LOCAL_OWNER, QUESTIONS["q03"]["question"], settings))[-1]
    assert isinstance(event, Stored)
    assert event.turn.answer.reader == "extractive"
    assert "gone.gguf does not exist. Check the path." in event.turn.answer.notes[0]


@pytest.mark.model
def test_the_embedded_models(tmp_path):
    converted = next(workspace_path({}).glob("models/*.gguf"), None)
    if converted:
        (tmp_path / "models").mkdir()
        shutil.copy(converted, tmp_path / "models")
    models = LoadedModels(Settings(), tmp_path / "models")
    try:
        assert warm(models).state == "ready"
        assert "SmolLM2" in models.status.words
        assert models.encoder().encode(["one"]).shape == (1, 384)
        assert "".join(models.llm().complete([Message("user", "Say hello.")], max_tokens=8)).strip()
    finally:
        models.close()


@pytest.mark.model
def test_closing_the_embedded_models_while_they_load(tmp_path):
    models = LoadedModels(Settings(), tmp_path / "models")
    models.warm_up()
    models.close()
    for thread in loading():
        thread.join(120)
    assert loading() == []
    assert models.status.state == "loading"
