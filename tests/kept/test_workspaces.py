"""A workspace of version 0.2 opens today, with all that is in it; one of 0.1 is refused in words (see README.md)."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.cli import main
from pdfqa_core.exports.evaluation_files import write_jsonl
from pdfqa_core.exports.frames import items_frame, write_frame
from pdfqa_core.exports.runs import results_object
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import read_settings
from pdfqa_core.storage import Store
from tests.serving_fakes import FakeModels
from tests.storage.conftest import rating_history

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Kept:
    """An unpacked workspace and what was said of it when it was made."""

    workspace: Path
    expected: Path

    def lines(self, name: str) -> list[Any]:
        return lines((self.expected / name).read_bytes())

    def json(self, name: str) -> Any:
        return json.loads((self.expected / name).read_text(encoding="utf-8"))


@pytest.fixture
def kept(tmp_path):
    with zipfile.ZipFile(FOLDER / "workspace-0.2.zip") as archive:
        archive.extractall(tmp_path)
    return Kept(tmp_path / "workspace", tmp_path / "expected")


@pytest.fixture
def services(kept):
    settings = read_settings(kept.workspace, {})
    with Services.open(kept.workspace, settings, FakeModels(settings=settings.llm)) as opened:
        yield opened


@pytest.fixture
def pdfqa(kept, capsysbinary):
    """Call the program on the kept workspace; returns what it printed."""

    def call(*arguments: str) -> bytes:
        assert main([*arguments, "--workspace", str(kept.workspace)]) == 0
        return capsysbinary.readouterr().out

    return call


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def has(now: Any, then: Any) -> bool:
    """Whether a value of today says all that it said then; keys may have been added."""
    if isinstance(then, dict) and isinstance(now, dict):
        return all(key in now and has(now[key], value) for key, value in then.items())
    if isinstance(then, list) and isinstance(now, list):
        return len(now) == len(then) and all(map(has, now, then))
    if isinstance(then, float):
        return bool(now == pytest.approx(then, rel=1e-5))  # another library adds the same numbers up
    return bool(now == then)


def test_documents_pages_and_passages(services, kept):
    documents = services.documents.kept.list(LOCAL_OWNER)
    assert has(lines(write_jsonl(documents)), kept.lines("documents.jsonl"))
    (document,) = documents
    pages = services.documents.text(LOCAL_OWNER, document.id, services.settings)
    assert has(lines(write_jsonl(pages)), kept.lines("pages.jsonl"))
    passages = services.index.passages(LOCAL_OWNER, services.settings)
    assert has(lines(write_jsonl(passages)), kept.lines("passages.jsonl"))
    assert services.documents.pages.view(LOCAL_OWNER, document.id, 3, width=200).image


def test_settings_and_preferences(services, kept):
    then = kept.json("settings.json")
    now = services.settings.model_dump(mode="json")
    assert has(now["reading"], {"reader": "extractive", "passages": 3})
    assert has(now["llm"], {"threads": 1, "max_tokens": 128})
    assert has(now["retrieval"], {"retriever": then["retrieval"]["retriever"], "k": 8})
    assert services.people.owners.preference(LOCAL_OWNER, "theme") == "dark"


def test_the_search_uses_the_index_that_is_there(pdfqa, kept):
    then = kept.json("search.json")
    files = {path: path.stat().st_mtime_ns for path in (kept.workspace / "indexes").rglob("*") if path.is_file()}
    # The index was made with the weights as they are, words weighed as in rank-bm25.
    as_then = ("--embedding-precision", "exact", "--idf", "okapi", "--no-merge-overlaps")
    hits = json.loads(pdfqa("search", then["question"], *as_then, "--json"))["hits"]
    assert has(hits, then["hits"])
    assert {
        path: path.stat().st_mtime_ns for path in (kept.workspace / "indexes").rglob("*") if path.is_file()
    } == files


def test_conversations_with_their_citations(pdfqa, kept):
    assert has(lines(pdfqa("export", "conversations", "--output", "-")), kept.lines("conversations.jsonl"))
    markdown = pdfqa("export", "conversations", "--format", "markdown", "--output", "-")
    then = (kept.expected / "conversations.md").read_bytes()
    words_of_today = b"Quoted from the pages, not written by a model"  # and quotes have no tick
    then = then.replace(b"3 sentences: 3 supported; answered by extractive", words_of_today)
    today, cited = markdown.replace(b" (the passage says this)", b"").split(b"\n## Documents cited\n")
    assert today == then
    assert b"harbour-heat.pdf" in cited


def test_a_conversation_goes_on(services, kept):
    (summary,) = services.answers.conversations.list(LOCAL_OWNER)
    settings = services.settings.changed("retrieval", retriever="bm25")
    *_, stored = services.answers.ask(LOCAL_OWNER, "Who reads the meters?", settings, conversation_id=summary.id)
    assert (stored.conversation_id, stored.turn.number) == (summary.id, 3)


def test_ratings_of_the_study(pdfqa, kept):
    assert has(lines(pdfqa("export", "ratings", "--format", "jsonl", "--output", "-")), kept.lines("ratings.jsonl"))
    assert has(rows(pdfqa("export", "ratings", "--output", "-")), rows((kept.expected / "ratings.csv").read_bytes()))


def test_every_rating_that_was_changed_since(services, kept):
    (study,) = services.studies.list(LOCAL_OWNER)
    with Store.open(services.workspace) as store:
        history = rating_history(store, study.id)
    assert has(lines(write_jsonl(history)), kept.lines("rating-history.jsonl"))


def test_agreement(pdfqa, kept, tmp_path):
    pdfqa("export", "ratings", "--output", str(tmp_path / "ratings.csv"))
    for file in (tmp_path / "ratings.csv", kept.expected / "ratings.csv"):  # of today, of version 0.1.0
        found = json.loads(pdfqa("agreement", str(file), "--json"))
        assert has(found["criteria"], kept.json("agreement.json"))


def test_evaluations(services, kept):
    then = kept.json("evaluation.json")
    (listed,) = services.evaluation.kept.list(LOCAL_OWNER)
    assert listed.made_at.isoformat() == then["made_at"]
    evaluation = services.evaluation.kept.get(LOCAL_OWNER, listed.id)
    assert listed.systems == tuple(system.name for system in evaluation.systems)
    assert has(results_object(evaluation, compare(evaluation))["systems"], then["systems"])
    found = services.evaluation.kept.rankings(LOCAL_OWNER, listed.id)
    assert {system for system, _ in found} == set(listed.systems)
    now, before = (
        rows(data) for data in (write_frame(items_frame(evaluation)), (kept.expected / "evaluation.csv").read_bytes())
    )
    for one in (*now, *before):
        one["seconds"] = float(one["seconds"])
    assert has(now, before)


def test_a_workspace_of_0_1_is_refused_with_what_to_do_and_left_alone(tmp_path, capsys):
    with zipfile.ZipFile(FOLDER / "workspace-0.1.zip") as archive:
        archive.extractall(tmp_path)
    workspace = tmp_path / "workspace"

    def content() -> list[str]:
        with closing(sqlite3.connect(workspace / "pdfqa.sqlite")) as connection:
            return list(connection.iterdump())

    before, files = content(), sorted(workspace.rglob("*"))
    assert main(["export", "conversations", "--output", "-", "--workspace", str(workspace)]) == 1
    said = capsys.readouterr().err
    assert f"{workspace / 'pdfqa.sqlite'} was written by an early version of this program (format 0004)" in said
    assert "docs/server.md, “From version 0.1”" in said
    assert "\n**From version 0.1**: " in (FOLDER.parents[1] / "docs" / "server.md").read_text("utf-8")
    assert (content(), sorted(workspace.rglob("*"))) == (before, files)
