"""A strategy of every kind is used by the command line, and none of the program's files knows of it."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from pdfqa_core.cli import main
from pdfqa_core.services import recipes
from pdfqa_core.settings import load
from tests.serving_fakes import PDF

KINDS = {
    "extractor": "extraction", "chunker": "chunking", "retriever": "retrieval", "rewriter": "conversation",
    "reader": "reading",
}  # fmt: skip
MODULE = "tests.own_strategies"


@pytest.fixture
def own(monkeypatch):
    """Settings that name the strategies of the module, which are forgotten after the test."""
    for kind in KINDS:
        monkeypatch.setattr(recipes.REGISTRIES[kind], "_entries", dict(recipes.REGISTRIES[kind]._entries))
    sys.modules.pop(MODULE, None)
    importlib.import_module(MODULE)
    data = {section: {kind: f"own_{kind}"} for kind, section in KINDS.items()}
    return load(data).changed("chunking", step=5).changed("reading", refusal="none")


def test_the_command_line_explains_and_uses_them(own, tmp_path, capsys):
    def run(*arguments):
        options = [str(argument) for argument in arguments]
        assert main([*options, "--workspace", str(tmp_path), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    with pytest.raises(SystemExit):
        main(["search", "--help"])
    assert "own_retriever: the last passages first." in " ".join(capsys.readouterr().out.split())
    recipe = ("--chunker", "own_chunker", "--step", "5", "--retriever", "own_retriever")
    (document,) = run("ingest", PDF, "--extractor", "own_extractor", *recipe)["documents"]
    assert (document["extractor"], document["state"], document["pages"]) == ("own_extractor", "ready", 1)
    found = run("search", "Where?", *recipe, "--weight", "0.25")["hits"]
    assert [(hit["text"], hit["score"]) for hit in found] == [
        ("all winter. Herons do not.", 1.25),
        ("Seals sleep on the quay", 0.25),
    ]
    answer = run("ask", "Where?", *recipe, "--reader", "own_reader", "--rewriter", "own_rewriter", "--refusal", "none")
    assert answer["answer"] == "Where? Seals sleep on the quay all winter. Herons do not."
