"""A strategy of every kind is used by page and command line, and none of the program's files knows of it."""

from __future__ import annotations

import importlib
import json
import sys

import gradio as gr
import pytest

from pdfqa_core.cli import main
from pdfqa_core.services import LOCAL_OWNER, Services, recipes, strategies
from pdfqa_core.settings import load
from pdfqa_core.ui import build_page
from pdfqa_core.ui.recipe import FIELDS, build_form
from pdfqa_core.ui.retrieval import Handlers
from pdfqa_core.ui.session import Session
from tests.services.helpers import stored_of
from tests.serving_fakes import PDF, FakeModels

KINDS = {
    "extractor": "extraction", "chunker": "chunking", "retriever": "retrieval", "rewriter": "conversation",
    "reader": "reading",
}  # fmt: skip
MODULE = "tests.own_strategies"


@pytest.fixture
def own(monkeypatch):
    """Settings that name the strategies of the module, which are forgotten after the test."""
    for kind in KINDS:
        monkeypatch.setattr(strategies.REGISTRIES[kind], "_entries", dict(strategies.REGISTRIES[kind]._entries))
    sys.modules.pop(MODULE, None)
    importlib.import_module(MODULE)
    data = {section: {kind: f"own_{kind}"} for kind, section in KINDS.items()}
    return load(data).changed("chunking", step=5).changed("reading", refusal="none")


def test_the_page_offers_explains_and_uses_them(own, tmp_path):
    with Services.open(tmp_path, own, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        build_page(services)
        with gr.Blocks():
            form = build_form(own, models=True)
        for section, kind in (("chunking", "chunker"), ("retrieval", "retriever"), ("reading", "reader")):
            field = form.fields[section, kind]
            assert f"own_{kind}" in [value for _, value in field.choices]
            assert field.info == strategies.REGISTRIES[kind].words(f"own_{kind}")
        assert "own_retriever" in [value for _, value in form.fields["retrieval", "first_stage"].choices]
        seen = {name for (_, name), field in form.fields.items() if field.visible}
        assert {"step", "weight", "passages"} <= seen
        assert not {"size", "length", "k1", "prompt_tokens"} & seen
        bm25 = own.changed("retrieval", retriever="bm25")
        changed = dict(zip(FIELDS, form.filled(bm25, own)[len(form.boxes) : -1], strict=True))
        assert changed["retrieval", "k1"]["visible"]
        assert not changed["retrieval", "weight"]["visible"]
        *_, (shown, _) = Handlers(services, form).search("seals", "own_retriever", "", Session(settings=bm25))
        assert all(words in shown for words in ("bm25 ", "own_retriever ", "sleep on the quay"))
        first = stored_of(list(services.answers.ask(LOCAL_OWNER, "Where?", own)))
        then = services.answers.ask(LOCAL_OWNER, "When?", own, conversation_id=first.conversation_id)
        assert stored_of(list(then)).turn.answer.text == "WHEN? Seals sleep on the quay all winter. Herons do not."
        assert recipes.name_of(own) == "own_retriever over own_chunker (step 5), with headings"


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
