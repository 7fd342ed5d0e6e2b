"""The end of a server: what it was doing is kept. Only a process of its own can be told to end."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import httpx
import psutil
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.evaluation_types import RunState
from pdfqa_core.services import LOCAL_OWNER, RunRequest, Services
from tests.llm.openai_server import FakeServer
from tests.services.helpers import BM25, LITERAL, METERS, until
from tests.serving_fakes import PDF, FakeModels
from tests.ui.calling import Call, Caller, Handler, handlers
from tests.ui.papers import long_text
from tests.ui.serving import App, running

pytestmark = pytest.mark.linux

TIMEOUT = 180  # seconds
RECIPE = "[reading]\nreader = 'generative'\nrefusal = 'none'\ncheck_meaning = false\n"  # asks the model once only
NO_BERTSCORE = {"bertscore": "no"}
PAGE_DONE = re.compile(r"[1-9][0-9]* of 40")  # of the pages of a scan


def end(app: App, number: int) -> None:
    """Tell an app to end; it does so in order and in time, with its processes, and leaves no temporary file."""
    children = psutil.Process(app.process.pid).children(recursive=True)
    app.process.send_signal(number)
    assert app.process.wait(timeout=TIMEOUT) == 0
    assert "Traceback" not in app.log_tail()
    assert "did not stop within" not in app.log_tail()
    assert not list(app.temporary.glob("pdfqa-*"))
    assert psutil.wait_procs(children, timeout=TIMEOUT)[1] == []


class Page:
    """A page of the app that was opened."""

    def __init__(self, app: App) -> None:
        self.caller = Caller(app.url, "page")
        self.caller.left = 3.0
        self.known = handlers(self.caller.http.get("/config").json())
        assert self.caller.arrive(self.known).status == 200

    def does(self, element: str, event: str, fills: str = "", *values: object, **click: object) -> str:
        """Set off a handler, found by what sets it off and what it fills; return what comes in the first seconds."""

        def meant(one: Handler) -> bool:
            return (element, event) in one.causes and (not fills or fills in one.fills)

        handler = next(filter(meant, self.known))
        ((_, found),) = self.caller.answers([Call(handler, values or None, click or None)])
        assert found.status == 200
        return found.text


def test_an_answer_and_a_run_under_way_are_kept_when_the_program_is_ended(tmp_path: Path, slow_model: FakeServer):
    lines = [{"id": f"q{n}", "question": METERS, "answer": "Every 15 minutes.", "document": PDF.name} for n in range(3)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    slow = BM25.changed("llm", engine="openai", url=f"{slow_model.url}/v1", model="slow")
    asked = RunRequest("answers", tmp_path / "questions.jsonl", {"quoted": LITERAL, "slow": slow}, options=NO_BERTSCORE)
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        run = services.evaluation.begin(LOCAL_OWNER, asked)
    (tmp_path / "workspace" / "pdfqa.toml").write_text(RECIPE)
    with running(tmp_path, environment={"PDFQA_LLM_URL": f"{slow_model.url}/v1", "PDFQA_MODEL": "slow"}) as app:
        Page(app).does("runs-list", "click", action="resume", run=run.id)
        until(lambda: slow_model.chats)  # the other system is done
        ask = f"{app.url}/gradio_api/call/v2/ask"
        begun = httpx.post(ask, json={"question": METERS}, timeout=TIMEOUT).json()["event_id"]
        with httpx.stream("GET", f"{ask}/{begun}", timeout=TIMEOUT) as written:
            next(line for line in written.iter_lines() if "every 5 minutes" in line)
            end(app, signal.SIGTERM)
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        assert services.evaluation.runs.get(LOCAL_OWNER, run.id).state is RunState.STOPPED
        assert set(services.evaluation.runs.predictions(LOCAL_OWNER, run.id)) == {
            ("quoted", one["id"]) for one in lines
        }
        (talk,) = services.answers.conversations.list(LOCAL_OWNER)
        (turn,) = services.answers.conversations.get(LOCAL_OWNER, talk.id).turns
    assert turn.answer.stopped
    assert turn.answer.text.startswith("All meters are read every 0 minutes")


def scan(folder: Path) -> Path:
    """Write a scan of 40 pages."""
    picture = Image.new("L", (1240, 1754), 255)
    font = ImageFont.load_default(40)
    for line in range(30):
        ImageDraw.Draw(picture).text((80, 80 + 50 * line), "The meters are read every fifteen minutes.", 0, font)
    picture.save(folder / "page.png")
    canvas = Canvas(str(folder / "scan.pdf"))
    for _ in range(40):
        canvas.drawImage(str(folder / "page.png"), 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    return folder / "scan.pdf"


def test_encoding_and_ocr_under_way_go_on_at_the_next_start(tmp_path: Path):
    (tmp_path / "long.pdf").write_bytes(long_text())
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [tmp_path / "long.pdf"]))
    (tmp_path / "workspace" / "pdfqa.toml").write_text("[retrieval]\nretriever = 'dense'\n")
    vectors, sent = tmp_path / "workspace" / "indexes", scan(tmp_path)
    with running(tmp_path) as app:
        page = Page(app)
        until(lambda: list(vectors.glob("embeddings-*/*.npz")))
        assert "muted preparing" in page.does("pq-documents-fill", "click")
        (path,) = page.caller.http.post("/gradio_api/upload", files={"files": sent.open("rb")}).json()
        file = {"path": path, "orig_name": sent.name, "meta": {"_type": "gradio.FileData"}}
        page.does("documents-upload", "upload", "", [file], "", None, "visual", True, "auto", None)
        until(lambda: PAGE_DONE.search(page.does("", "tick", "documents-work")))
        end(app, signal.SIGINT)
    assert list(vectors.glob("embeddings-*/*.npz"))
    (kept,) = (tmp_path / "workspace" / "incoming").iterdir()
    assert kept.read_bytes() == sent.read_bytes()
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        services.documents.jobs.resume()
        until(lambda: services.documents.jobs.of(LOCAL_OWNER)[0].steps)
