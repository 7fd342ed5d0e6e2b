"""The program on a computer without a network, and on one without llama.cpp."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pdfqa_core.models import LanguageModel, ModelFiles, State
from pdfqa_core.settings import LLMSettings
from tests.services.helpers import until
from tests.ui.serving import ROOT, SAMPLE, clean_environment

# Python runs a module of this name at its start, also in the child processes that read PDFs.
HOOK = "sitecustomize.py"
LLAMA = "llama_cpp"

NO_NETWORK = """
import socket

LOCAL = (None, "", b"", "127.0.0.1", "::1", "localhost", "0.0.0.0", "::")

def check(host):
    if host not in LOCAL:
        with open({log!r}, "a") as log:
            log.write(f"{{host}}\\n")
        raise OSError(f"no network: {{host}}")

def guarded(call):
    def connect(self, address, *rest):
        if isinstance(address, tuple):
            check(address[0])
        return call(self, address, *rest)
    return connect

def looked_up(call):
    def look_up(host, *rest, **more):
        check(host)
        return call(host, *rest, **more)
    return look_up

socket.socket.connect = guarded(socket.socket.connect)
socket.socket.connect_ex = guarded(socket.socket.connect_ex)
socket.getaddrinfo = looked_up(socket.getaddrinfo)
"""

JOB = """
import json
import sys
import time
import urllib.request
from pathlib import Path

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import read_settings
from pdfqa_core.types import Document
from pdfqa_core.ui import build_page, launch

with Services.open(Path(sys.argv[1]), read_settings(Path(sys.argv[1]))) as services:
    address = launch(build_page(services), services, port=0)
    page = urllib.request.urlopen(address, timeout=60).status
    events = services.documents.ingest(LOCAL_OWNER, [Path(sys.argv[2])])
    read = [event for event in events if isinstance(event, Document)]
    while services.models.language.status.state.loading:
        time.sleep(0.1)
    question = "Which refrigerant does the heat pump use, and how much of it?"
    *_, stored = services.answers.ask(
        LOCAL_OWNER, question, services.settings.changed("reading", reader="generative")
    )
    status, answer = services.models.language.status, stored.turn.answer
print(json.dumps({
    "page": page, "state": read[0].state, "model": status.state, "text": answer.text, "reader": answer.reader,
    "passages": [hit.passage.text for hit in answer.hits],
}))
"""

CALLS = """
import contextlib
import socket

with contextlib.suppress(OSError):
    socket.create_connection(("192.0.2.1", 80), 1)
with contextlib.suppress(OSError):
    socket.socket().connect_ex(("192.0.2.2", 80))
with contextlib.suppress(OSError):
    socket.getaddrinfo("huggingface.co", 443)
"""


def run(program: str, folder: Path, *arguments: str) -> tuple[str, str]:
    """Run a Python program without a network; return what it printed, and which hosts it called."""
    log, hooks = folder / "refused.txt", folder / "hooks"
    log.touch()
    hooks.mkdir()
    (hooks / HOOK).write_text(NO_NETWORK.format(log=str(log)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, env=clean_environment(PYTHONPATH=str(hooks)),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, log.read_text()


@pytest.mark.model
def test_the_whole_program_works_without_a_network(tmp_path: Path):
    printed, called = run(JOB, tmp_path, str(tmp_path / "workspace"), str(SAMPLE))
    result = json.loads(printed.splitlines()[-1])
    assert (result["page"], result["state"], result["model"]) == (200, "ready", "ready")
    assert result["reader"] == "generative"
    assert result["text"]
    assert any("ammonia" in passage for passage in result["passages"])
    assert called == ""


def test_the_check_itself_notices_a_call_to_another_host(tmp_path: Path):
    assert run(CALLS, tmp_path)[1].split() == ["192.0.2.1", "192.0.2.2", "huggingface.co"]


def test_without_llama_cpp_the_program_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: find(name, *rest) if name != LLAMA else None)
    language = LanguageModel(LLMSettings(model="smollm2-135m"), ModelFiles(tmp_path))
    language.warm_up(lambda _stop: None)
    until(lambda: not language.status.state.loading)
    assert language.status.state is State.MISSING
    assert "llama-cpp-python is not installed" in language.status.detail
    assert "pip install -r requirements.txt" in language.status.detail
    language.close()
