"""ingest, search, ask and chat."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pdfqa_core.cli.chat import OFFER
from pdfqa_core.llm import engines
from pdfqa_core.reading.outcomes import NOT_ANSWERED
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Store
from pdfqa_core.streaming import is_set
from tests.conftest import FakeLLM
from tests.extraction.hostile import one_page, with_attached
from tests.serving_fakes import PDF, QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
BM25 = ("--retriever", "bm25")
LITERAL = (*BM25, "--reader", "extractive", "--confidence-threshold", "0")
METERS = QUESTIONS["q03"]["question"]
ANSWERABLE = [item for item in QUESTIONS.values() if item["answerable"] and "follow_up_of" not in item]


# ------------------------------------------------------------------ ingest


def test_ingest(empty, run, make_pdf):
    letter = make_pdf(["The quarry sells granite."], name="letter.pdf")
    done = run("ingest", PDF, letter, *BM25, "--json")
    assert done.status == 0
    assert set(done.data) == {"documents", "left_out"}
    assert done.data["left_out"] == []
    first, second = done.data["documents"]
    assert {**first, "document_id": "", "passages": 0, "authors": ""} == {
        "filename": "harbour-heat.pdf", "document_id": "", "state": "ready", "reason": "", "pages": 8, "passages": 0,
        "extractor": "direct", "authors": "", "confidence": None,
    }  # fmt: skip
    assert (len(first["document_id"]), first["passages"] > 20, second["pages"], second["passages"]) == (64, True, 1, 1)
    assert list((empty / "indexes").glob("*/manifest.json"))
    other = run("ingest", letter, "--no-tables", *BM25, "--json")
    assert (other.status, other.data["documents"][0]["extractor"]) == (0, "direct, no tables")
    again = run("ingest", letter, *BM25)
    assert again.status == 0
    assert again.out == "letter.pdf: ready, 1 pages, 1 passages  letter.pdf is already there.\n"


def test_ingest_reads_attached_pdfs_where_that_is_asked_for(empty, run, tmp_path):
    inner = one_page("BT /F 12 Tf 72 700 Td (The quarry sells granite.) Tj ET")
    files = ("annex.pdf", inner), ("prices.csv", b"a,b")
    portfolio = tmp_path / "portfolio.pdf"
    portfolio.write_bytes(with_attached("BT /F 12 Tf 72 700 Td (See the annex.) Tj ET", *files))
    for more, names in ((), ["portfolio.pdf"]), (("--attached",), ["portfolio.pdf", "annex.pdf"]):
        done = run("ingest", portfolio, *more, *BM25, "--json")
        assert (done.status, [row["filename"] for row in done.data["documents"]]) == (0, names)
    assert run("search", "granite", *BM25, "--json").data["hits"][0]["filename"] == "annex.pdf"


# ------------------------------------------------------------------ search


def test_search_finds_a_gold_page_of_the_sample(workspace, run):
    for item in ANSWERABLE:
        found = run("search", item["question"], *BM25, "--json").data["hits"]
        assert set(found[0]) >= {"rank", "score", "filename", "document_id", "pages", "text", "parts"}
        assert set(item["pages"]) & {page for hit in found for page in hit["pages"]}, item["id"]
        assert [hit["rank"] for hit in found] == [1, 2, 3, 4, 5][: len(found)]
    assert run("search", "???", *BM25).out == "Nothing was found.\n"


def test_search_on_some_pages(workspace, run):
    hits = run("search", METERS, *BM25, "--pages", "4-5", "--json").data["hits"]
    assert hits
    assert all(set(hit["pages"]) & {4, 5} for hit in hits)
    assert {page for hit in run("search", METERS, *BM25, "--json").data["hits"] for page in hit["pages"]} - {4, 5}


# ------------------------------------------------------------------ ask


def test_ask_with_the_extractive_reader(workspace, run):
    done = run("ask", METERS, *LITERAL, "--json")
    assert done.status == 0
    assert set(done.data) >= {"answer", "refused", "standalone_question", "citations", "hits", "seconds", "model"}
    assert "All meters are read every 15 minutes." in done.data["answer"]
    assert (done.data["refused"], done.data["standalone_question"], done.data["reader"]) == (
        False,
        METERS,
        "extractive",
    )
    assert {(c["filename"], c["page"], c["verified"]) for c in done.data["citations"]} >= {
        ("harbour-heat.pdf", 4, True)
    }
    assert {"quote"} <= set(done.data["citations"][0])
    assert {(one["support"], *one["numbers_not_found"]) for one in done.data["sentences"]} == {("supported",)}
    assert "All meters are read every 15 minutes." in [one["text"] for one in done.data["sentences"]]
    assert done.data["signals"]["sure"] == done.data["signals"]["retrieval"]
    assert done.data["seconds"]["total"] > 0
    plain = run("ask", METERS, *LITERAL).out
    assert "All meters are read every 15 minutes. [1]" in plain
    assert "[1] harbour-heat.pdf, p. 3, 4" in plain


def test_a_refusal_shows_the_nearest_passages(workspace, run):
    options = (*BM25, "--reader", "extractive", "--confidence-threshold", "1")
    refused = run("ask", QUESTIONS["q14"]["question"], *options, "--json")
    assert (refused.status, refused.data["refused"]) == (0, True)
    plain = run("ask", QUESTIONS["q14"]["question"], *options).out
    assert f"{NOT_ANSWERED}\nClosest: “" in plain
    assert "The nearest passages:\n[1] harbour-heat.pdf, p." in plain
    assert refused.data["outcome"] == "nothing"
    assert set(refused.data["quote"]) == {"filename", "page", "quote"}
    assert refused.data["quote"]["filename"] == "harbour-heat.pdf"
    anyway = run("ask", QUESTIONS["q14"]["question"], *options, "--anyway", "--json")
    assert (anyway.data["refused"], anyway.data["outcome"]) == (False, "perhaps")
    assert anyway.data["quote"]["filename"] == "harbour-heat.pdf"


# ------------------------------------------------------------------ chat


def test_chat_reads_questions_from_standard_input(workspace, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTIONS['q05']['question']}\nWho cleaned it before?\n"))
    done = run("chat", *LITERAL, "--json")
    assert done.status == 0
    assert [turn["question"] for turn in done.data["turns"]] == [QUESTIONS["q05"]["question"], "Who cleaned it before?"]
    assert "August 2023" in done.data["turns"][0]["answer"]
    assert done.data["turns"][1]["standalone_question"] == "Who cleaned it before?"
    with Store.open(workspace) as store:
        assert len(store.conversations.get(LOCAL_OWNER, done.data["conversation_id"]).turns) == 2


def test_a_command_that_the_chat_does_not_know_is_no_question(workspace, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("/quit\n"))
    done = run("chat", "--workspace", workspace, "--json")
    assert (done.status, done.data["turns"]) == (0, [])
    assert done.err.startswith("/quit is no question. An empty line or Ctrl-D ends the conversation;")


def test_a_refused_question_is_answered_anyway_in_the_chat(workspace, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"/anyway\n{METERS}\n/anyway\n/anyway\n"))
    done = run("chat", *LITERAL, "--confidence-threshold", "1", "--json")
    assert done.err.count("There is no refused question to answer.") == 2
    (turn,) = done.data["turns"]
    assert not turn["refused"]
    with Store.open(workspace) as store:
        (kept,) = store.conversations.get(LOCAL_OWNER, done.data["conversation_id"]).turns
        assert kept.id == turn["turn_id"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{METERS}\n"))
    assert OFFER in run("chat", *LITERAL, "--confidence-threshold", "1").out


def test_a_question_that_fails_does_not_end_the_chat(workspace, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{'long ' * 2001}\n{METERS}\n"))
    done = run("chat", *LITERAL, "--json")
    assert done.status == 1
    assert "2,001 words" in done.data["turns"][0]["error"]["what"]
    assert "every 15 minutes" in done.data["turns"][1]["answer"]
    assert "2,001 words" in done.err


class Endless(FakeLLM):
    """A model on a server that writes two words, has Ctrl-C pressed and waits until it is stopped."""

    def __init__(self, url, *, model, api_key, context_size):
        super().__init__()

    def write(self, schema, stop):
        yield "Every"
        yield " 15"
        os.kill(os.getpid(), signal.SIGINT)
        while not is_set(stop):
            time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(("command", "before"), [("chat", signal.SIG_DFL), ("ask", signal.SIG_IGN)])
def test_ctrl_c_during_an_answer_keeps_what_was_written(workspace, run, monkeypatch, command, before):
    """Also where the signal was ignored before, as shells have it for what they start in the background."""
    monkeypatch.setitem(engines._entries, "openai", (Endless, ""))
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{METERS}\n"))
    question = [METERS] if command == "ask" else []
    usual = signal.signal(signal.SIGINT, before)
    try:
        done = run(command, *question, *BM25, "--confidence-threshold", "0", "--engine", "openai", "--url",
                   "http://127.0.0.1:9", "--json")  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, usual)
    with Store.open(workspace) as store:
        (summary,) = store.conversations.list(LOCAL_OWNER)
        (turn,) = store.conversations.get(LOCAL_OWNER, summary.id).turns
    assert (turn.answer.text, turn.answer.stopped) == ("Every 15", True)
    if command == "chat":
        assert (done.status, done.data["turns"][0]["answer"]) == (0, "Every 15")
    else:
        assert (done.status, done.data["error"]["what"]) == (1, "Stopped.")
