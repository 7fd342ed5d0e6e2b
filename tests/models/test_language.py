from __future__ import annotations

import threading

import pytest

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.interfaces import Message
from pdfqa_core.models import Encoders, LanguageModel, ModelFiles, Models, ModelStatus
from pdfqa_core.registry import Registry
from pdfqa_core.settings import Settings
from pdfqa_core.streaming import complete
from tests.llm.gguf_files import header, write
from tests.llm.hub import offering
from tests.serving_fakes import FakeEngine


@pytest.fixture
def load(tmp_path):
    """Loaded models whose engine loads by a script, and whose encoder does nothing."""
    made = []

    def build(script=None, *, model=""):
        available = Registry("engine")
        available.register("scripted")(type("Scripted", (FakeEngine,), {"load": script} if script else {}))
        path = tmp_path / "tiny.gguf"
        write(path)
        settings = Settings().changed("llm", engine="scripted", model=model or str(path))
        files = ModelFiles(tmp_path)
        language = LanguageModel(settings.llm, files, available=available)
        models = Models(Encoders(lambda name, precision: QuietEncoder()), language, files)
        made.append(models)
        return models

    yield build
    for models in made:
        models.close()


class QuietEncoder:
    def encode(self, texts, *, stop):
        pass


def loading():
    return [thread for thread in threading.enumerate() if thread.name == "warm up"]


def warm(models):
    models.warm_up()
    for thread in loading():
        thread.join(120)
    assert loading() == []
    return models.language.status


def test_loading_is_reported_in_words_and_ends_ready(load):
    seen = []

    def script(self, stop):
        seen.append(models.language.status)
        for percent in (0, 50):
            yield percent
            seen.append(models.language.status)

    models = load(script)
    assert warm(models) == ModelStatus("ready", "tiny ready", "tiny, context 4,096 tokens")
    assert [status.words for status in seen] == ["loading tiny", "loading tiny, 0%", "loading tiny, 50%"]
    assert {status.state for status in seen} == {"loading"}


def test_a_model_that_does_not_load_is_missing_with_its_hint(load):
    def script(self, stop):
        raise ModelError("The file is damaged.", "Download it again.")

    status = warm(load(script))
    assert (status.state, status.words) == ("failed", "no language model: literal answers")
    assert status.detail == "The file is damaged. Download it again."


def test_an_unforeseen_failure_does_not_stay_loading(load, caplog):
    def script(self, stop):
        raise RuntimeError("out of luck")

    status = warm(load(script))
    assert (status.state, status.detail) == ("failed", "Loading failed: RuntimeError: out of luck")
    assert "out of luck" in caplog.text


def test_a_missing_file_is_told_at_once(load, tmp_path):
    models = load(model=str(tmp_path / "gone.gguf"))
    with pytest.raises(ModelError, match=r"gone\.gguf does not exist"):
        models.language.llm()
    status = warm(models)
    assert (status.state, status.words) == ("ready", "SmolLM2 135M Instruct ready")
    assert "SmolLM2 135M Instruct answers instead" in status.detail
    assert "gone.gguf does not exist. Check the path." in models.language.note
    assert (models.language.settings.model, models.language.wanted.model) == (
        "smollm2-135m",
        str(tmp_path / "gone.gguf"),
    )


def test_closing_while_loading_ends_the_loading(load):
    began = threading.Event()

    def script(self, stop):
        began.set()
        while not stop.is_set():
            stop.wait(0.01)
        raise StoppedError

    models = load(script)
    models.warm_up()
    assert (began.wait(10), models.language.loading) == (True, True)
    models.close()
    assert (loading(), models.language.loading) == ([], False)
    assert models.language.status.state == "loading"
    assert models.language.llm().engine.unloaded


# ------------------------------------------------------------------ other models


def working():
    names = ("switch model", "warm up", "fetch")
    return [thread for thread in threading.enumerate() if thread.name.startswith(names)]


def settled(models):
    while threads := working():
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    return models.language.status


@pytest.fixture
def other(tmp_path):
    return str(write(tmp_path / "other.gguf"))


def test_a_model_is_replaced_and_the_one_before_leaves_the_memory(load, other):
    models = load()
    warm(models)
    llm, before = models.language.llm(), models.language.llm().engine
    models.language.use(models.language.settings.model_copy(update={"model": other, "threads": 3, "batch_size": 64}))
    assert settled(models) == ModelStatus("ready", "other ready", "other, context 4,096 tokens")
    assert before.unloaded
    assert models.language.llm() is llm
    assert llm.name == "other"
    assert llm.engine.given == {
        "context_size": 4096, "threads": 3, "gpu_layers": -1, "batch_size": 64,
    }  # fmt: skip
    assert models.language.settings.model == other


def test_an_answer_under_way_is_finished_before_the_model_is_replaced(load, other):
    models = load()
    warm(models)
    llm = models.language.llm()
    llm.engine.enqueue(["one two three"])
    answer = complete(llm, [Message("user", "?")], max_tokens=9)
    assert next(answer) == "one "
    before = llm.engine
    models.language.use(models.language.settings.model_copy(update={"model": other}))
    waiting = []
    late = threading.Thread(target=lambda: waiting.append(llm.count_tokens([Message("user", "a b c")])))
    late.start()
    assert models.language.status.words == "loading other after the answer under way"
    assert not before.unloaded
    assert list(answer) == ["two ", "three "]
    settled(models)
    late.join(30)
    assert before.unloaded
    assert waiting == [7]


def test_a_model_that_does_not_load_leaves_the_one_before_in_use(load, other):
    def script(self, stop):
        if self.name == "other":
            raise ModelError("The file is damaged.", "Get it again.")

    models = load(script)
    warm(models)
    kept = models.language.settings
    models.language.use(models.language.settings.model_copy(update={"model": other}))
    status = settled(models)
    assert (status.state, status.words) == ("ready", "tiny ready")
    assert models.language.note == "other was not loaded: The file is damaged. Get it again."
    assert models.language.settings == kept


def test_loading_can_be_stopped_and_the_model_before_comes_back(load, other):
    began = threading.Event()

    def script(self, stop):
        if self.name == "other":
            began.set()
            while not stop.is_set():
                threading.Event().wait(0.01)
            raise StoppedError

    models = load(script)
    warm(models)
    models.language.use(models.language.settings.model_copy(update={"model": other}))
    assert began.wait(10)
    with pytest.raises(PdfQAError, match="Another model is being loaded"):
        models.language.use(models.language.settings.model_copy(update={"threads": 3}))
    models.language.stop_loading()
    assert settled(models).words == "tiny ready"


def test_unloading_frees_the_memory_and_a_question_brings_it_back(load):
    models = load()
    warm(models)
    engine = models.language.llm().engine
    engine.enqueue(["one two"])
    answer = complete(models.language.llm(), [Message("user", "?")], max_tokens=9)
    next(answer)
    with pytest.raises(PdfQAError, match="An answer is being written"):
        models.language.unload()
    answer.close()
    models.language.unload()
    assert engine.unloaded
    assert (models.language.status.state, models.language.status.words) == ("idle", "tiny not in memory")
    engine.loaded = True
    assert models.language.status.words == "tiny ready"


def test_a_model_can_be_replaced_while_the_encoder_is_still_loaded(load):
    language, go = load().language, threading.Event()
    language.warm_up(lambda _stop: go.wait(60))
    for thread in loading():
        thread.join(20)
    language.use(language.wanted.model_copy(update={"context_size": 1024}))
    go.set()
    for thread in working():
        thread.join(30)
    assert language.llm().engine.given["context_size"] == 1024


# ------------------------------------------------------------------ fetched at the first start

NAME = "qwen2.5-0.5b"


@pytest.fixture
def hub(monkeypatch):
    with offering(monkeypatch, NAME, header() + bytes(400_000)) as server:
        yield server


def test_closing_ends_a_download(load, hub):
    hub.slow = 3600
    models = load(model=NAME)
    models.warm_up()
    while not models.files.downloads.under_way():
        threading.Event().wait(0.01)
    models.close()
    assert working() == []
    assert models.files.downloads.get(NAME).state == "stopped"


@pytest.mark.model
def test_the_embedded_models(tmp_path):
    models = Models.open(tmp_path, Settings().changed("llm", model="smollm2-135m"))
    try:
        assert warm(models).state == "ready"
        assert "SmolLM2" in models.language.status.words
        assert models.encoders.encoder().encode(["one"]).shape == (1, 384)
        assert "".join(complete(models.language.llm(), [Message("user", "Say hello.")], max_tokens=8)).strip()
    finally:
        models.close()
