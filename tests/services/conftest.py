"""Services over a real workspace with real PDFs; only the models are fakes."""

from __future__ import annotations

import json
import shutil

import pytest

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.storage import Store
from tests.extraction.hostile import locked
from tests.services.answering_server import opened_with
from tests.services.helpers import BM25, SECRET, studies_of
from tests.serving_fakes import PDF, FakeModels


@pytest.fixture(scope="session")
def read_workspace(tmp_path_factory):
    """A workspace in which the sample report has been read; tests work on copies."""
    folder = tmp_path_factory.mktemp("read") / "workspace"
    with Services.open(folder, BM25, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    return folder


@pytest.fixture
def store(tmp_path, database_url):
    """An empty workspace's storage."""
    with Store.open(tmp_path / "workspace", database_url) as opened:
        yield opened


@pytest.fixture
def studies(store):
    return studies_of(store)


@pytest.fixture
def database_in_environment(database_url, monkeypatch):
    """An empty database that the environment names for all workspaces; none where each has its SQLite."""
    if database_url:
        monkeypatch.setenv("PDFQA_DATABASE_URL", database_url)


@pytest.fixture
def open_services(tmp_path, read_workspace, database_in_environment):
    """Open services on a copy of the read workspace, or on an empty one."""
    opened = []

    def build(settings=BM25, llm=None, *, empty=False, **models):
        folder = tmp_path / "workspace"
        if not empty and not folder.exists():
            shutil.copytree(read_workspace, folder)
        opened.append(Services.open(folder, settings, FakeModels(llm, settings.llm, **models)))
        return opened[-1]

    yield build
    for services in opened:
        services.close()


@pytest.fixture
def opened(tmp_path, read_workspace):
    """Open services, perhaps with a cluster, on copies of the read workspace that know nothing of each other."""
    services = []

    def build(settings, cluster=None):
        folder = tmp_path / f"workspace {len(services)}"
        shutil.copytree(read_workspace, folder)
        services.append(opened_with(folder, settings, cluster))
        return services[-1]

    yield build
    for one in services:
        one.close()


@pytest.fixture
def services(open_services):
    return open_services()


@pytest.fixture
def letter(make_pdf):
    return make_pdf(
        ["The quarry at Oldham sells granite by the tonne.", "Granite is blasted on Tuesdays."], name="letter.pdf"
    )


@pytest.fixture
def locked_pdf(tmp_path):
    return locked(tmp_path / "locked.pdf", "Behind the lock lies granite.", SECRET)


@pytest.fixture
def write(tmp_path):
    """Write a value as a JSON file."""

    def go(value, name="questions.json"):
        path = tmp_path / name
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return go
