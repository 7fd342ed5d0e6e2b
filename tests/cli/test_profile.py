"""`--profile seed` and the page's "As in the sources": what they find and count, hit by hit, and what reports say."""

from __future__ import annotations

import json
import zipfile
from types import SimpleNamespace

import pytest

from pdfqa_core.cli import parser
from pdfqa_core.cli.options import settings_of
from pdfqa_core.protocols.base import STOP_WORDS
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.ui.evaluate import Tab, download
from pdfqa_core.ui.evaluate_setup import SAMPLE_QUESTIONS, passages_by
from pdfqa_core.ui.session import EvaluateState, Session
from tests.serving_fakes import FakeModels
from tests.ui.test_evaluate_form import form

GOLD = SAMPLE / "questions.jsonl"
SEED = ("--profile", "seed")
WRITTEN = (
    "--chunker", "paragraphs", "--unmodified", "--no-headings", "--tables", "in-text", "--no-clamp", "--idf", "okapi",
    "--no-spelling", "--no-merge-overlaps", "--depth", "0", "--gold-match", "exact",
)  # fmt: skip
RETRIEVERS = ["bm25", "hybrid"]


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    """Have commands and page use the encoder of the tests."""
    opened = Services.open
    monkeypatch.setattr(Services, "open", lambda folder, settings: opened(folder, settings, FakeModels()))


@pytest.fixture
def found(run, workspace, tmp_path):
    """Run `evaluate retrieval`; return its JSON object and every rank of every question, by file."""

    def go(*options):
        folder = tmp_path / "-".join(("trec", *options))
        retrievers = ("--retrievers", ",".join(RETRIEVERS))
        done = run("evaluate", "retrieval", "--data", GOLD, *retrievers, "--trec", folder, *options, "--json")
        assert done.status == 0, done.err
        return done.data, {path.name: path.read_text() for path in folder.iterdir()}

    return go


@pytest.fixture
def found_on_page(workspace):
    """Press Evaluate on a page of `pdfqa serve`; return the table and every rank of every question, by file."""

    def go(*, as_in_sources, **chosen):
        settings = settings_of(parser().parse_args(["serve"]))
        with Services.open(workspace, settings) as services:
            tab, session = Tab(services), Session(LOCAL_OWNER, services.settings)
            chunkers, match = tab.setup.of_profile(as_in_sources)  # what the tick sets
            systems = (chosen.get("chunkers", chunkers), RETRIEVERS, chosen.get("match", match), as_in_sources)
            request = SimpleNamespace(session_hash="page")
            *_, last = tab.evaluate(SAMPLE_QUESTIONS, None, [], *systems, "", session, EvaluateState(), False, request)
            message, _, _, _, table, *_ = last
            assert not message
            (state,) = (one for one in last if isinstance(one, EvaluateState))
            with zipfile.ZipFile(download(services, "trec", state, session)) as packed:
                return table, {name: packed.read(name).decode() for name in packed.namelist()}

    return go


def test_the_profile_finds_what_its_options_find_on_command_line_and_page(found, found_on_page):
    (seed, ranks), (written, same), (usual, others) = found(*SEED), found(*WRITTEN), found()
    assert ranks == same
    assert len(ranks) == 3
    assert [one["metrics"] for one in seed["systems"]] == [one["metrics"] for one in written["systems"]]
    assert seed["notes"] == written["notes"] == [f"{STOP_WORDS} (always)"]
    assert len(usual["notes"]) == 9
    assert all(note.endswith(("(--profile seed)", "(always)")) for note in usual["notes"])
    assert found_on_page(as_in_sources=True)[1] == ranks
    assert found_on_page(as_in_sources=False)[1] == others


@pytest.mark.parametrize(
    ("options", "page", "named", "differs"),
    [
        (("--chunker", "windows"), {"chunkers": ["windows"]}, "chunker = windows", "windows: n words make"),
        (("--chunker", "snippets"), {"chunkers": ["snippets"]}, "chunker = snippets", "snippets: n words make"),
        (("--clamp",), {}, "clamp = yes", "hybrid: a similarity of meaning below 0 counts as 0"),
        (("--idf", "lucene"), {}, "idf = lucene", "BM25: words weigh by Lucene’s idf"),
        (("--tables", "apart"), {}, "tables = apart", "Tables are passages of their own"),
        (("--gold-match", "page"), {"match": "page"}, "", "HR@k and MRR: a passage counts if it lies on the gold page"),
        (("--depth", "5"), {}, "", "MRR: a question whose answer is not among the passages"),
    ],
)
def test_what_is_set_by_hand_wins_and_reports_say_so(found, found_on_page, options, page, named, differs):
    seed, ranks = found(*SEED, *options)
    assert ranks == found(*WRITTEN, *options)[1]
    assert ranks != found(*SEED)[1]
    said = [note for note in seed["notes"] if note.startswith("Set by hand")]
    assert said == ([f"Set by hand, other than in the sources' profile: {named}."] if named else [])
    assert seed["settings"]["profile"] == (f"as in the sources, but {named}" if named else "as in the sources")
    assert any(note.replace("'", "’").startswith(differs) for note in seed["notes"])
    if page:
        table, of_page = found_on_page(as_in_sources=True, **page)
        assert of_page == ranks
        assert named in table
        assert differs in table


def test_answers_of_a_run_read_the_same_by_the_profile_its_options_and_the_page(run, workspace, tmp_path):
    call = ("evaluate", "run", "answers", "--data", GOLD, "--retriever", "bm25", "--reader", "extractive", "--json")

    def answers(*options):
        done = run(*call, *options, "--new", "--out", tmp_path / "out")
        assert done.status == 0, done.err
        rows = json.loads((tmp_path / "out" / "bm25_paragraphs.json").read_text())
        return done.data, [(row["found"], row["context"]) for row in rows]

    (seed, read), (written, same) = answers(*SEED), answers(*WRITTEN[:-4])
    assert read == same
    assert all(context for _, context in read)
    assert [one["name"] for one in seed["systems"]] == ["bm25 · paragraphs"]
    by_profile = {note for note in written["notes"] if note.startswith(("Citations", "Insufficient"))}
    assert set(seed["notes"]) == set(written["notes"]) - by_profile
    assert seed["settings"]["gold match"].startswith("page: ")
    said = "All choices follow the sources (profile “seed”), but for what the notes name."  # HR@k counts pages
    assert said in run("evaluate", "runs", "methods", seed["run"]).out
    settings = settings_of(parser().parse_args(["serve"]))
    with Services.open(workspace, settings) as services:
        request = form(
            as_in_sources=True, chunkers=passages_by(services, as_in_sources=True), rewriters=["concatenation"]
        ).request(Session(LOCAL_OWNER, services.settings))
        begun = services.evaluation.begin(LOCAL_OWNER, request)
        list(services.evaluation.go(LOCAL_OWNER, begun.id))
        made = services.evaluation.runs.predictions(LOCAL_OWNER, begun.id).values()
        assert [[list(places) for places in one.found] for one in made] == [found for found, _ in read]
        for one, (_, context) in zip(made, read, strict=True):  # how many are read depends on the model
            assert [text.text for text in one.evidence][: len(context)] == context
