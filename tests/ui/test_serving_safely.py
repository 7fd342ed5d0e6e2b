"""A server that others can reach, and the end of one: what is refused, what is said, what is kept."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, expect
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.evaluation_types import RunState
from pdfqa_core.services import LOCAL_OWNER, RunRequest, Services
from pdfqa_core.storage import Store
from tests.llm.openai_server import FakeServer
from tests.services.helpers import BM25, LITERAL, METERS
from tests.serving_fakes import PDF, FakeModels
from tests.ui.calling import Call, Caller, Handler, handlers
from tests.ui.papers import long_text
from tests.ui.serving import ROOT, App, clean_environment, open_page, open_tab, running, serve_command, until

TIMEOUT = 60  # seconds
RECIPE = "[reading]\nreader = 'generative'\nrefusal = 'none'\ncheck_meaning = false\n"  # asks the model once only
PASSWORD = "correct horse battery"
NO_BERTSCORE = {"bertscore": "no"}
PAGE_DONE = re.compile(r"[1-9][0-9]* of 40")  # of the pages of a scan


def refused(workspace: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a server that ends by itself, and return how."""
    return subprocess.run(
        serve_command(workspace, *options), cwd=ROOT, env=clean_environment(**environment), capture_output=True,
        text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip


def test_without_a_password_it_opens_to_this_computer_only(tmp_path: Path):
    done = refused(tmp_path / "workspace", "--host", "0.0.0.0")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "Without a password the app is open to this computer only" in done.stderr
    assert "Set PDFQA_PASSWORD to a password, make accounts" in done.stderr
    assert not (tmp_path / "workspace").exists()
    short = refused(tmp_path / "workspace", "--host", "0.0.0.0", PDFQA_PASSWORD="short")
    assert (short.returncode, "Take 8 characters or more" in short.stderr) == (2, True)


def test_the_page_travels_small_to_other_computers_only(demo: App, app: App):
    far, here = (httpx.get(one.url, timeout=TIMEOUT) for one in (demo, app))
    assert (far.headers.get("content-encoding"), here.headers.get("content-encoding")) == ("gzip", None)
    assert "window.gradio_config" in far.text
    assert "window.gradio_config" in here.text
    for page in (far, here):  # of its 300 handlers only what other programs may call is described
        assert '"/ask"' in page.text
        assert "/page_" not in page.text.partition("window.gradio_api_info")[2]


def test_a_damaged_database_is_said_in_a_sentence(tmp_path: Path):
    (tmp_path / "pdfqa.sqlite").write_bytes(b"not a database at all" * 500)
    done = refused(tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "is damaged or is not a database of this program" in done.stderr


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running(tmp_path_factory.mktemp("guarded"), environment={"PDFQA_PASSWORD": PASSWORD}) as app:
        yield app


def test_with_a_password_nothing_is_read_and_nothing_taken_before_it(guarded: App):
    with httpx.Client(base_url=guarded.url, timeout=TIMEOUT) as visitor:
        assert "--pq-strong-line:" in visitor.get("/").text.partition("</head>")[0]  # the fields can be seen
        for path in ("/config", "/gradio_api/info", "/gradio_api/queue/data?session_hash=x"):
            assert visitor.get(path).status_code == 401, path
        assert visitor.post("/gradio_api/upload", files={"files": b"%PDF"}).status_code == 401
        assert visitor.post("/gradio_api/queue/join", json={"data": [], "fn_index": 0}).status_code == 401
        assert visitor.post("/login", data={"username": "me", "password": "guess"}).status_code == 400
        assert visitor.get("/config").status_code == 401
        assert visitor.get("/healthz").json() == {"status": "ok"}
        assert visitor.post("/login", data={"username": "me", "password": PASSWORD}).json() == {"success": True}
        assert visitor.get("/config").json()["title"] == "PDFQA"
        refused_sign_ins = [
            visitor.post("/login", data={"username": "me", "password": "guess"}).status_code for _ in range(12)
        ]
    assert refused_sign_ins[-1] == 429
    assert PASSWORD not in guarded.log_tail()


def test_a_foreign_name_and_a_foreign_page_get_a_sentence(guarded: App):
    answer = httpx.get(guarded.url, headers={"Host": "rebound.example"}, timeout=TIMEOUT)
    assert (answer.status_code, "does not answer to the name 'rebound.example'" in answer.text) == (403, True)
    headers = {"Origin": "http://evil.example"}
    answer = httpx.post(f"{guarded.url}/gradio_api/upload", files={"files": b"%PDF"}, headers=headers, timeout=TIMEOUT)
    assert (answer.status_code, "may not use this server" in answer.text) == (403, True)


def test_values_that_no_page_sends_are_one_line_in_the_log(app: App):
    config = httpx.get(f"{app.url}/config", timeout=TIMEOUT).json()
    before = len(app.log)
    for number, handler in enumerate(config["dependencies"]):
        if not handler["inputs"] or not handler["backend_fn"]:
            continue
        body = {"data": [{"path": 5}] * len(handler["inputs"]), "fn_index": handler["id"], "session_hash": f"m{number}"}
        httpx.post(f"{app.url}/gradio_api/run/predict", json=body, timeout=TIMEOUT)
    logged = "".join(app.log[before:])
    assert "a request was not understood" in logged
    assert "Traceback" not in logged, logged[-3000:]


def test_an_endpoint_that_there_is_not_is_a_sentence_and_one_line_in_the_log(app: App):
    before = len(app.log)
    answer = httpx.post(f"{app.url}/gradio_api/call/v2/nothing", json={}, timeout=TIMEOUT)
    assert (answer.status_code, answer.text) == (400, "This request was not understood.\n")
    for path in ("queue/data?session_hash=nobody", "call/ask/nothing"):  # streams that nobody has begun
        assert httpx.get(f"{app.url}/gradio_api/{path}", timeout=TIMEOUT).status_code == 200
    until(lambda: len(app.log) == before + 3)
    assert all("a request was not understood" in line for line in app.log[before:])


# ------------------------------------------------------------ the end


TOLD_WHILE_STARTING = """
import os, signal, sys
from pdfqa_core import ui
from pdfqa_core.cli import main

build = ui.build_page
def told(services):
    os.kill(os.getpid(), signal.SIGTERM)
    return build(services)
ui.build_page = told
sys.exit(main())
"""


@pytest.mark.linux
def test_one_told_to_end_while_it_starts_ends_in_order(tmp_path: Path):
    _, _, _, *options = serve_command(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", TOLD_WHILE_STARTING, *options], cwd=ROOT, env=clean_environment(),
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "PDFQA is open at" in done.stdout


ENDED_BY = pytest.mark.parametrize(  # both are handled by one function, see also cli/test_serve_signals.py
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)


def end(app: App, number: int) -> None:
    """Tell an app to end; it does so in order and in time, with its processes, and leaves no temporary file."""
    children = psutil.Process(app.process.pid).children(recursive=True)
    app.process.send_signal(number)
    assert app.process.wait(timeout=TIMEOUT) == 0
    assert "Traceback" not in app.log_tail()
    assert "did not stop within" not in app.log_tail()
    assert not list(app.temporary.glob("pdfqa-*"))
    assert psutil.wait_procs(children, timeout=TIMEOUT)[1] == []


def arrived(app: App) -> tuple[Caller, Callable[..., Handler]]:
    """Return a page of the app, and what finds a handler by the event that sets it off, and what it fills."""
    page = Caller(app.url, "page")
    known = handlers(page.http.get("/config").json())
    assert page.arrive(known).status == 200

    def handler(element: str, event: str, fills: str = "") -> Handler:
        found = [one for one in known if (element, event) in one.causes and (not fills or fills in one.fills)]
        return found[0]

    return page, handler


def answer(page: Caller, call: Call) -> str:
    """Return what comes back of one call, of a stream what comes in its first seconds."""
    page.left = 3.0
    ((_, found),) = page.answers([call])
    assert found.status == 200
    return found.text


@pytest.mark.browser
@pytest.mark.linux
@ENDED_BY
def test_an_answer_under_way_is_kept_when_the_program_is_ended(
    browser: Browser, tmp_path: Path, slow_model: FakeServer, number: Any
):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "pdfqa.toml").write_text(RECIPE)
    choices = {"PDFQA_LLM_URL": f"{slow_model.url}/v1", "PDFQA_MODEL": "slow"}
    with running(tmp_path, environment=choices) as app, open_page(browser, app.url, left=True) as page:
        page.get_by_role("button", name="Try the sample").click()
        expect(page.locator("#documents-table tr[data-document] .state")).to_have_text("ready")
        open_tab(page, "Chat")
        page.locator("#chat-question textarea").fill("How often are the meters read?")
        page.keyboard.press("Enter")
        expect(page.locator("#chat-live")).to_contain_text("every 5 minutes")
        end(app, number)
        with Store.open(app.workspace) as store:
            (kept,) = store.conversations.list(LOCAL_OWNER)
            (turn,) = store.conversations.get(LOCAL_OWNER, kept.id).turns
    assert turn.answer.stopped
    assert turn.answer.text.startswith("All meters are read every 0 minutes")


@pytest.mark.linux
@ENDED_BY
def test_a_run_under_way_keeps_its_answers_when_the_program_is_ended(
    tmp_path: Path, slow_model: FakeServer, number: Any
):
    lines = [{"id": f"q{n}", "question": METERS, "answer": "Every 15 minutes.", "document": PDF.name} for n in range(3)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    slow = BM25.changed("llm", engine="openai", url=f"{slow_model.url}/v1", model="slow")
    asked = RunRequest("answers", tmp_path / "questions.jsonl", {"quoted": LITERAL, "slow": slow}, options=NO_BERTSCORE)
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        run = services.runs.begin(LOCAL_OWNER, asked)
    choices = {"PDFQA_LLM_URL": f"{slow_model.url}/v1", "PDFQA_MODEL": "slow"}
    with running(tmp_path, environment=choices) as app:
        page, handler = arrived(app)
        answer(page, Call(handler("runs-list", "click"), click={"action": "resume", "run": run.id}))
        until(lambda: slow_model.chats)  # the other system is done
        end(app, number)
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        assert services.runs.get(LOCAL_OWNER, run.id).state is RunState.STOPPED
        kept = services.runs.predictions(LOCAL_OWNER, run.id)
    assert set(kept) == {("quoted", one["id"]) for one in lines}


@pytest.mark.linux
@ENDED_BY
def test_encoding_under_way_keeps_what_is_done_when_the_program_is_ended(tmp_path: Path, number: Any):
    long = tmp_path / "long.pdf"
    long.write_bytes(long_text())
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [long]))
    (tmp_path / "workspace" / "pdfqa.toml").write_text("[retrieval]\nretriever = 'dense'\n")
    vectors = tmp_path / "workspace" / "indexes"
    with running(tmp_path) as app:
        page, handler = arrived(app)
        until(lambda: list(vectors.glob("embeddings-*/*.npz")))
        assert "muted preparing" in answer(page, Call(handler("pq-documents-fill", "click")))
        end(app, number)
    assert list(vectors.glob("embeddings-*/*.npz"))


@pytest.mark.linux
@ENDED_BY
def test_ocr_under_way_goes_on_at_the_next_start(tmp_path: Path, number: Any):
    picture = Image.new("L", (1240, 1754), 255)
    font = ImageFont.load_default(40)
    for line in range(30):
        ImageDraw.Draw(picture).text((80, 80 + 50 * line), "The meters are read every fifteen minutes.", 0, font)
    picture.save(tmp_path / "page.png")
    scan = tmp_path / "scan.pdf"
    canvas = Canvas(str(scan))
    for _ in range(40):
        canvas.drawImage(str(tmp_path / "page.png"), 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    with running(tmp_path) as app:
        page, handler = arrived(app)
        (path,) = page.http.post("/gradio_api/upload", files={"files": scan.open("rb")}).json()
        file = {"path": path, "orig_name": scan.name, "meta": {"_type": "gradio.FileData"}}
        answer(page, Call(handler("documents-upload", "upload"), ([file], "", None, "visual", True, "auto", None)))
        until(lambda: PAGE_DONE.search(answer(page, Call(handler("", "tick", "documents-work")))))
        end(app, number)
    (kept,) = (tmp_path / "workspace" / "incoming").iterdir()
    assert kept.read_bytes() == scan.read_bytes()
    with running(tmp_path) as app:
        page, handler = arrived(app)
        until(lambda: PAGE_DONE.search(answer(page, Call(handler("", "tick", "documents-work")))))
        end(app, number)
