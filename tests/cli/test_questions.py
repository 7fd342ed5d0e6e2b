"""ingest, search, ask and chat."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pdfqa_core.cli.ask import plain_turn
from pdfqa_core.cli.chat import OFFER
from pdfqa_core.exports.answer_rows import turn_row
from pdfqa_core.reading.declining import NOT_ANSWERED
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Store
from pdfqa_core.types import Answer, Citation, Hit, Passage, Span, Turn
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
        "extractor": "direct", "authors": "", "confidence": None, "newer_version_of": "",
    }  # fmt: skip
    assert (len(first["document_id"]), first["passages"] > 20, second["pages"], second["passages"]) == (64, True, 1, 1)
    assert list((empty / "indexes").glob("*/manifest.json"))
    other = run("ingest", letter, "--no-tables", *BM25, "--json")
    assert (other.status, other.data["documents"][0]["extractor"]) == (0, "direct, no tables")
    again = run("ingest", letter, *BM25)
    assert again.status == 0
    assert again.out == "letter.pdf: ready, 1 pages, 1 passages  letter.pdf is already there.\n"


def test_a_failed_file_makes_the_status_1_and_the_others_go_on(empty, run, make_pdf, tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"no PDF at all")
    done = run("ingest", broken, make_pdf(["Some text."], name="good.pdf"), *BM25, "--json")
    assert done.status == 1
    assert [(row["state"], row["passages"]) for row in done.data["documents"]] == [("broken", 0), ("ready", 1)]
    assert (
        done.data["documents"][0]["reason"] == "broken.pdf is not a PDF. Print or export it as a PDF and add that file."
    )


def test_a_password_comes_from_a_file(empty, run, tmp_path):
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "locked.pdf"), encrypt=StandardEncryption("secret", strength=128))
    canvas.drawString(70, 700, "Behind the lock.")
    canvas.save()
    (tmp_path / "password").write_text("secret\n")
    locked = run("ingest", tmp_path / "locked.pdf", *BM25, "--json")
    assert (locked.status, locked.data["documents"][0]["state"]) == (1, "encrypted")
    opened = run("ingest", tmp_path / "locked.pdf", "--password-file", tmp_path / "password", *BM25, "--json")
    assert (opened.status, opened.data["documents"][0]["state"]) == (0, "ready")
    missing = run("ingest", tmp_path / "locked.pdf", "--password-file", tmp_path / "none", "--json")
    assert missing.status == 2


# ------------------------------------------------------------------ search


@pytest.mark.parametrize("item", ANSWERABLE, ids=lambda item: item["id"])
def test_search_finds_a_gold_page_of_the_sample(workspace, run, item):
    found = run("search", item["question"], *BM25, "--json")
    assert found.status == 0
    assert set(found.data["hits"][0]) >= {"rank", "score", "filename", "document_id", "pages", "text", "parts"}
    assert set(item["pages"]) & {page for hit in found.data["hits"] for page in hit["pages"]}
    assert [hit["rank"] for hit in found.data["hits"]] == [1, 2, 3, 4, 5][: len(found.data["hits"])]
    assert {hit["filename"] for hit in found.data["hits"]} == {"harbour-heat.pdf"}


def test_search_for_people(workspace, run):
    found = run("search", METERS, *BM25, "-k", "2", "--document", "harbour-heat.pdf")
    assert found.out.startswith("1. harbour-heat.pdf, p. 3, 4  (score ")
    assert found.out.count("harbour-heat.pdf") == 2
    assert run("search", "???", *BM25).out == "Nothing was found.\n"


def test_search_on_some_pages(workspace, run):
    hits = run("search", METERS, *BM25, "--pages", "4-5", "--json").data["hits"]
    assert hits
    assert all(set(hit["pages"]) & {4, 5} for hit in hits)
    assert {page for hit in run("search", METERS, *BM25, "--json").data["hits"] for page in hit["pages"]} - {4, 5}


@pytest.mark.parametrize("pages", ["five", "9-3", "0-2"])
def test_pages_that_are_no_range(workspace, run, pages):
    found = run("search", METERS, *BM25, "--pages", pages)
    assert found.status == 2
    assert "no range of pages" in found.err


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


def test_ask_goes_on_in_a_conversation(workspace, run):
    first = run("ask", QUESTIONS["q05"]["question"], *LITERAL, "--json").data
    second = run("ask", "Who cleaned it before?", *LITERAL, "--conversation", first["conversation_id"], "--json").data
    assert second["conversation_id"] == first["conversation_id"]
    assert second["standalone_question"] == "Who cleaned it before?"
    alone = run("ask", "Who cleaned it before?", *LITERAL, "--json").data
    assert second["hits"] != alone["hits"]


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


def test_an_answer_that_is_not_sure_stands_behind_its_lines():
    near = Citation(1, "p", Span("d", 3, 0, 9), "Because\nof it.", False)
    hits = (Hit(Passage("p", (Span("d", 3, 0, 9),), "Because\nof it."), 1.0, 1, "bm25"),)
    answer = Answer("It is so.", (replace(near, end=9),), hits, perhaps=True, nearest=near, notes=("A note.",))
    stands = "It may stand here: “Because of it.” (a document that was removed, p. 3)"
    caution = "Not sure that this answers the question: read the lines before you rely on it."
    assert plain_turn(Turn("t", 1, "Why?", "Why?", answer), {}).splitlines() == [
        stands, "In the model's words:", "It is so. [1]", caution, "[1] , p. 3", "A note.",
    ]  # fmt: skip
    alone = replace(answer, text="Because of it.")
    assert plain_turn(Turn("t", 1, "Why?", "Why?", alone), {}).splitlines() == [stands, caution, "A note."]
    row = turn_row(Turn("t", 1, "Why?", "Why?", answer), {})
    assert (row["outcome"], row["refused"]) == ("perhaps", False)
    assert row["quote"] == {"filename": "", "page": 3, "quote": "Because\nof it."}


def test_without_a_model_ask_answers_word_for_word_and_says_so(workspace, run, tmp_path):
    done = run("ask", METERS, *BM25, "--model", tmp_path / "none.gguf", "--json")
    assert (done.status, done.data["reader"]) == (0, "extractive")
    assert "none.gguf does not exist" in done.data["notes"][0]


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


def test_chat_goes_on_in_a_conversation_and_ends_at_an_empty_line(workspace, run, monkeypatch):
    first = run("ask", METERS, *LITERAL, "--json").data["conversation_id"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{METERS}\n\n{METERS}\n"))
    done = run("chat", *LITERAL, "--conversation", first)
    assert done.out.count("It may stand here: “All meters are read every 15 minutes.") == 1  # it was the answer before
    with Store.open(workspace) as store:
        assert len(store.conversations.get(LOCAL_OWNER, first).turns) == 2


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


class EndlessServer(ThreadingHTTPServer):
    """A language model server that writes two words and then waits until the reader goes away."""

    daemon_threads = True

    def __init__(self):
        self.over = threading.Event()
        super().__init__(("127.0.0.1", 0), EndlessHandler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class EndlessHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in ("Every", " 15"):
            piece = json.dumps({"choices": [{"delta": {"content": word}}]})
            self.wfile.write(f"data: {piece}\n\n".encode())
            self.wfile.flush()
        self.server.written.set()
        self.server.over.wait(60)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def endless():
    server = EndlessServer()
    server.written = threading.Event()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(
    ("command", "before"), [("chat", "SIG_DFL"), ("ask", "default_int_handler"), ("ask", "SIG_IGN")]
)
def test_ctrl_c_during_an_answer_keeps_what_was_written(workspace, endless, command, before):
    """Also where the signal was ignored before, as shells have it for what they start in the background."""
    options = [*BM25, "--confidence-threshold", "0", "--engine", "openai", "--url", endless.url, "--json"]
    question = [METERS] if command == "ask" else []
    started = (  # with a handler of the test's choice, not the one that its own process inherited
        "import signal, sys; from pdfqa_core.cli import main; "
        f"signal.signal(signal.SIGINT, signal.{before}); sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", started, command, *question, *options], cwd=ROOT, text=True, env=dict(os.environ),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        if command == "chat":
            process.stdin.write(f"{METERS}\n")
            process.stdin.flush()
        assert endless.written.wait(60)
        wait_for_words(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    with Store.open(workspace) as store:
        (summary,) = store.conversations.list(LOCAL_OWNER)
        (turn,) = store.conversations.get(LOCAL_OWNER, summary.id).turns
    assert (turn.answer.text, turn.answer.stopped) == ("Every 15", True)
    assert "Traceback" not in err
    if command == "chat":
        assert process.returncode == 0
        assert json.loads(out)["turns"][0]["answer"] == "Every 15"
    else:
        assert process.returncode == 1
        assert json.loads(out)["error"]["what"] == "Stopped."


def wait_for_words(process):
    """Give the words that the server has sent time to arrive."""
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)


# ------------------------------------------------------------------ real files


@pytest.fixture(scope="module")
def northwind(shared_data, tmp_path_factory):
    return shared_data / "northwind", tmp_path_factory.mktemp("northwind") / "workspace"


BILLING = "What protection does Contoso offer against balance billing?"


def check_billing(run, northwind, retriever):
    folder, place = northwind
    options = ("--retriever", retriever, "--workspace", place, "--json")
    assert run("ingest", *sorted(folder.glob("*.pdf")), *options).status == 0
    hits = run("search", BILLING, *options).data["hits"]
    assert len(hits) == 5
    assert [hit for hit in hits if hit["filename"] == "Northwind_Standard_Benefits_Details.pdf" and 7 in hit["pages"]]


def test_northwind_with_bm25(run, northwind):
    check_billing(run, northwind, "bm25")


@pytest.mark.slow
def test_northwind_with_the_default_retriever(run, northwind):
    check_billing(run, northwind, "hybrid")
