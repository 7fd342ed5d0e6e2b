"""The engine on a server, against the server of llama-cpp-python with the embedded model."""

import importlib.util
import json
import socket
import subprocess
import sys
import time

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message
from pdfqa_core.llm import OpenAICompatible
from pdfqa_core.llm.catalogue import entry, packaged_file
from pdfqa_core.streaming import complete
from pdfqa_core.types import Progress

pytestmark = pytest.mark.model

NEEDED = ("llama_cpp", "sse_starlette", "starlette_context", "pydantic_settings")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = packaged_file(entry("smollm2-135m"))
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if path is None or missing:
        pytest.skip(f"not installed: {', '.join(missing) or 'the embedded model'}")
    port, log = free_port(), tmp_path_factory.mktemp("server") / "log"
    options = {"model": path, "model_alias": "served", "port": port, "n_ctx": 1024, "n_threads": 2, "logits_all": True}
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *arguments], stdout=file, stderr=file)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, process, log)
        yield address
    finally:
        process.kill()
        process.wait()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(address, process, log):
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            OpenAICompatible(address, retries=0).model_names()
            return
        except ModelError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def llm(url):
    engine = OpenAICompatible(url)
    assert [step for step in engine.prepare() if not isinstance(step, Progress)] == []
    return engine


def ask(text):
    return [Message("user", text)]


def test_a_reply_streams_obeys_a_schema_and_choices_get_probabilities(llm):
    *pieces, _ = llm.stream(ask("What is the capital of France?"), max_tokens=16)
    assert llm.name == "served"
    assert len(pieces) > 3
    schema = {
        "type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["verdict"],
        "additionalProperties": False,
    }  # fmt: skip
    reply = "".join(complete(llm, ask("Is Paris in France?"), max_tokens=60, schema=schema))
    assert json.loads(reply)["verdict"] in ("yes", "no")
    shares = llm.choose(ask("What is the capital of France? Answer with one word."), ["The", "Paris", "France"])
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["Paris"] > 0
