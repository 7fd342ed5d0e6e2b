"""The index in LanceDB behind the services: chosen by settings, the same hits, and nothing left of what is removed."""

from __future__ import annotations

import sys

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.retrieval.lance import installed
from pdfqa_core.services import LOCAL_OWNER, indexes
from tests.services.helpers import BM25, HYBRID, METERS, built, only

needs_lance = pytest.mark.skipif(not installed(), reason="needs lancedb and pylance (requirements-lance.txt)")


def found(services, settings):
    built(services, settings)
    hits = services.index.search(LOCAL_OWNER, METERS, settings)
    return [(hit.passage, pytest.approx(hit.score, rel=1e-5)) for hit in hits]


@needs_lance
def test_the_same_is_found_on_disk(services, tmp_path):
    on_disk = HYBRID.changed("retrieval", index="lance")
    assert found(services, on_disk) == found(services, HYBRID)
    assert (tmp_path / "workspace" / "indexes" / "lance").is_dir()
    assert services.index.ready(LOCAL_OWNER, on_disk)


@needs_lance
def test_a_removed_document_is_gone_from_the_disk(services, tmp_path):
    assert found(services, BM25.changed("retrieval", index="lance"))
    folder = tmp_path / "workspace" / "indexes" / "lance"

    def is_told() -> bool:
        return any(b"meters" in file.read_bytes() for file in folder.rglob("*") if file.is_file())

    assert is_told()
    services.documents.remove(LOCAL_OWNER, only(services).id)
    assert not is_told()


@needs_lance
def test_many_passages_are_searched_on_disk_where_that_is_left_open(services, monkeypatch):
    settings = BM25.changed("retrieval", index="auto")
    assert not services.index.on_disk(LOCAL_OWNER, settings)
    monkeypatch.setattr(indexes, "MOST_IN_MEMORY", 8)
    assert services.index.on_disk(LOCAL_OWNER, settings)
    assert not services.index.on_disk(LOCAL_OWNER, BM25)


def test_without_lancedb_the_way_to_install_it_is_told(services, monkeypatch):
    monkeypatch.setitem(sys.modules, "lancedb", None)
    assert not installed()
    settings = BM25.changed("retrieval", index="auto")
    monkeypatch.setattr(indexes, "MOST_IN_MEMORY", 8)
    assert not services.index.on_disk(LOCAL_OWNER, settings)
    with pytest.raises(ModelError, match=r"pip install -r requirements-lance\.txt - or set index to memory"):
        built(services, BM25.changed("retrieval", index="lance"))
