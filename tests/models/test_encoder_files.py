"""Encoders of the catalogue: fetched file by file from a stand-in hub, checked, used, removed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from dataclasses import replace

import pytest

from pdfqa_core.errors import ModelError, PdfQAError
from pdfqa_core.llm import download as module
from pdfqa_core.models import Encoders, LanguageModel, ModelFiles, Models
from pdfqa_core.models.files import (
    PROMPTS,
    EncoderFiles,
    encoder_entry,
    fetch_encoder,
    is_encoder,
    read_encoders,
)
from pdfqa_core.retrieval import Encoder, bundled_model_path
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings, read_settings
from tests.llm.hub import serving
from tests.serving_fakes import PDF, WordEncoder

NAME = "multilingual-e5-small"
PARTS = {"model.safetensors": os.urandom(3_000_000), "tokenizer.json": os.urandom(200_000)}


def git_id(body):
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


def bodies():
    """Return files as an encoder has them, with weights that are none."""
    return {path: PARTS.get(path, b'{"made": "' + path.encode() + b'"}') for path in encoder_entry(NAME).files}


@pytest.fixture
def hub(monkeypatch):
    """A hub that has an encoder, and says of small files what the real one says: their git id."""
    monkeypatch.setattr(module, "PAUSE", 0.01)
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as server:
        entry = encoder_entry(NAME)
        for path in entry.files:
            body = bodies()[path]
            place = f"{entry.repo}/resolve/{entry.revision}/{path}"
            server.files[place] = body
            if len(body) < 100_000:
                server.etags[place] = git_id(body)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def entry():
    """An entry whose checksums are those of the stand-in's files."""
    known, files = encoder_entry(NAME), bodies()
    sums = {path: hashlib.sha256(files[path]).hexdigest() for path in known.sha256}
    return replace(known, sha256=sums, size=sum(map(len, files.values())))


def test_every_entry_names_all_that_an_encoder_is_loaded_from():
    entries = read_encoders()
    assert len({one.name for one in entries}) == len(entries) == 3
    for one in entries:
        assert {"modules.json", "config.json", "tokenizer.json", "1_Pooling/config.json"} < set(one.files)
        assert one.files[-1] == "model.safetensors"
        assert len(one.revision) == 40
        assert all(len(digest) == 64 for digest in one.sha256.values())
        assert {"model.safetensors", "tokenizer.json", "config.json"} == set(one.sha256)
        assert one.languages
    assert [one.name for one in entries if one.multilingual] == ["multilingual-minilm", NAME]


def test_an_encoder_arrives_whole_with_its_prompts(hub, tmp_path, entry):
    seen = []
    folder = fetch_encoder(entry, tmp_path, on_progress=seen.append)
    assert folder == tmp_path / NAME
    assert json.loads((folder / PROMPTS).read_text())["prompts"] == {"query": "query: ", "document": "passage: "}
    assert (seen[-1].done, seen[-1].total) == (entry.size, entry.size)
    done = [step.done for step in seen if step.total and step.phase == "downloading"]
    assert done == sorted(done)
    assert {path: (folder / path).read_bytes() for path in entry.files} == bodies()
    before = len(hub.ranges())
    fetch_encoder(entry, tmp_path)
    assert len(hub.ranges()) == before  # nothing is fetched twice


def test_what_stands_before_questions_and_passages_is_encoded_too(tmp_path):
    folder = tmp_path / NAME
    shutil.copytree(bundled_model_path(), folder)
    (folder / PROMPTS).write_bytes(encoder_entry(NAME).prompts)
    asked, plain = Encoder(folder), Encoder(bundled_model_path())
    for question, prefix in ((True, "query: "), (False, "passage: ")):
        ours = asked.encode(["where is the ferry?"], question=question)
        theirs = plain.encode([f"{prefix}where is the ferry?"])
        assert float((ours @ theirs.T)[0, 0]) > 0.9999


@pytest.mark.parametrize("path", ["modules.json", "model.safetensors"])
def test_a_file_that_is_another_one_is_refused(hub, tmp_path, entry, path):
    place = f"{entry.repo}/resolve/{entry.revision}/{path}"
    hub.etags.setdefault(place, entry.sha256.get(path, ""))
    hub.files[place] = bytes(len(hub.files[place]))
    with pytest.raises(ModelError, match="wrong checksum and was thrown away"):
        fetch_encoder(entry, tmp_path)
    assert not (tmp_path / NAME / path).exists()


def test_weights_that_the_hub_has_exchanged_are_not_even_fetched(hub, tmp_path):
    known = replace(encoder_entry(NAME), files=("model.safetensors",))  # with the checksum of the real weights
    with pytest.raises(ModelError, match="is not the file that the catalogue knows") as raised:
        fetch_encoder(known, tmp_path)
    assert "model.safetensors" in raised.value.what
    assert hub.ranges() == []


def test_one_that_is_not_here_says_how_to_get_it(tmp_path):
    files = EncoderFiles(tmp_path)
    assert is_encoder(NAME)
    assert files.find("") == ""
    assert files.find("/home/me/encoder") == "/home/me/encoder"
    with pytest.raises(ModelError, match="Multilingual E5 small is not on this computer") as raised:
        files.find(NAME)
    assert f"pdfqa models download {NAME}" in raised.value.hint


def put(folder):
    """Lay the files of an encoder where a download would have."""
    for path in (*encoder_entry(NAME).files, PROMPTS):
        file = folder / "text-encoders" / NAME / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")


@pytest.fixture
def opened(tmp_path):
    made = []

    def build(**server):
        workspace = tmp_path / "workspace"
        settings = read_settings(workspace, {"PDFQA_MODEL": "smollm2-135m"}).changed("server", **server)
        files = ModelFiles(workspace, tmp_path / "models")
        files.encoders.chosen = settings.retrieval.embedding_model
        encoders = Encoders(lambda name, _: WordEncoder(model_hash=f"fake-{files.encoders.find(name)}"))
        models = Models(encoders, LanguageModel(settings.llm, files), files, settings.server.demo)
        made.append(Services.open(workspace, settings, models))
        return made[-1]

    yield build
    for services in made:
        services.close()


def test_an_encoder_is_switched_for_good_and_the_index_is_made_again(opened, tmp_path):
    put(tmp_path / "models")
    services = opened()
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    list(services.index.build(LOCAL_OWNER, services.settings))
    services.models.changes().use_encoder(NAME)
    now = services.settings
    assert now.retrieval.embedding_model == NAME
    assert services.index.encoder(now).model_hash != services.index.encoder(Settings()).model_hash
    services.index.preparation.want(LOCAL_OWNER, now)
    while not services.index.ready(LOCAL_OWNER, now):
        threading.Event().wait(0.01)
    with pytest.raises(PdfQAError, match="is in use"):
        services.models.changes().remove_encoder(NAME, Settings().retrieval)
    assert opened().settings.retrieval.embedding_model == NAME  # the next start knows it
    services.models.changes().use_encoder("")
    assert services.settings.retrieval.embedding_model == ""
    services.models.changes().remove_encoder(NAME, Settings().retrieval)
    assert not (tmp_path / "models" / "text-encoders" / NAME).exists()
    assert read_settings(services.workspace, {}).retrieval.embedding_model == ""
