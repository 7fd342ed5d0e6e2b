"""The examples of CONTRIBUTING.md work as they stand, and the files that it names are there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pdfqa_core import ui
from pdfqa_core.chunking import chunkers
from pdfqa_core.metrics.base import measures
from pdfqa_core.protocols.gold import file_readers, read_gold
from pdfqa_core.retrieval import Index, retrievers
from pdfqa_core.services import Services
from pdfqa_core.types import Passage, Span
from tests.services.helpers import BM25
from tests.serving_fakes import FakeModels

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### … (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture
def run(monkeypatch):
    """Run the example of a section and return its names; what it registers is forgotten after the test."""
    for registry in (retrievers, chunkers, measures, file_readers):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))

    def names_of(section: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": __name__}
        (code,) = re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)
        exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
        return names

    return names_of


def test_the_retriever_searches(run):
    run("retriever")
    texts = ("three words here", "one")
    passages = [Passage(text, (Span("d", 1, place, place + len(text)),), text) for place, text in enumerate(texts)]
    hits = retrievers.get("shortest")(Index.in_memory(passages, None)).search("words", 1)
    assert [hit.passage.text for hit in hits] == ["one"]


def test_the_chunker_makes_passages(run, make_page):
    run("chunker")
    assert [p.text for p in chunkers.get("halves")().chunk([make_page("Seals sleep on quays.")])] == [
        "Seals sleep", "on quays.",
    ]  # fmt: skip


def test_the_metric_scores(run):
    assert run("metric")["length_ratio"]("two words", ["one"]) == 2
    assert measures.get("length_ratio").inputs == ("prediction", "references")


def test_the_gold_reader_reads(run, tmp_path):
    run("gold reader")
    (tmp_path / "mine.txt").write_text("Why?\n")
    assert [question.question for question in read_gold(tmp_path / "mine.txt").questions] == ["Why?"]


def test_the_criterion_has_labels(run):
    assert run("criterion")["FLUENCY"].label("3") == "good"


def test_the_tab_is_shown(run, tmp_path, monkeypatch):
    monkeypatch.setitem(ui.TABS, "Hello", SimpleNamespace(build=run("tab")["build"]))
    with Services.open(tmp_path, BM25, FakeModels()) as services:
        page = ui.build_page(services)
    assert "Hello" in [getattr(block, "label", "") for block in page.blocks.values()]


@pytest.mark.parametrize("section", SECTIONS)
def test_three_files_are_enough_and_all_but_the_new_ones_are_there(section):
    files = [ROOT / name for name in re.findall(r"^\d\. `([\w./]+)`", SECTIONS[section], re.MULTILINE)]
    assert 1 <= len(files) <= 3
    assert all(file.parent.is_dir() for file in files)
    assert all(file.is_file() for file in files[1:] if file.suffix != ".html")


def test_the_tests_that_hold_the_promises_of_the_page_on_safety_are_there():
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 20
    missing = [
        f"{file}::{test}" for file, test in named
        if not re.search(rf"^(?:async )?def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]  # fmt: skip
    assert missing == []
