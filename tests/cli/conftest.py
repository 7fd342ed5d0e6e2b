from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest

from pdfqa_core.cli import main
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from tests.serving_fakes import PDF, FakeModels


@pytest.fixture(scope="session")
def read_once(tmp_path_factory):
    """A workspace in which the sample report has been read and indexed for bm25; tests work on copies."""
    folder = tmp_path_factory.mktemp("cli") / "workspace"
    settings = Settings().changed("retrieval", retriever="bm25")
    with Services.open(folder, settings, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        list(services.index.build(LOCAL_OWNER, settings))
    return folder


@pytest.fixture
def workspace(tmp_path, read_once, monkeypatch):
    """A copy of it, which commands find by themselves."""
    folder = tmp_path / "workspace"
    shutil.copytree(read_once, folder)
    monkeypatch.setenv("PDFQA_WORKSPACE", str(folder))
    return folder


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A workspace that is not there yet."""
    monkeypatch.setenv("PDFQA_WORKSPACE", str(tmp_path / "new"))
    monkeypatch.setenv("PDFQA_MODELS", str(tmp_path / "models"))
    return tmp_path / "new"


@pytest.fixture
def write(tmp_path):
    """Write a value as a JSON file."""

    def go(name, value):
        path = tmp_path / name
        path.write_text(json.dumps(value))
        return path

    return go


@pytest.fixture
def run(capsys):
    """Run a command; returns its status, what it printed, and its JSON object if it was asked for one."""

    def go(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        data = json.loads(out) if "--json" in arguments else None
        assert data is None or (isinstance(data, dict) and out.count("\n") == 1)
        return SimpleNamespace(status=status, out=out, err=err, data=data)

    return go
