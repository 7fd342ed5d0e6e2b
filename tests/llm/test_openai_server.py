"""The engine on a server, against the server of llama-cpp-python with the embedded model."""

import importlib.util
import json
import socket
import subprocess
import sys
import threading
import time

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message, Sampling
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


def test_the_first_model_is_taken_and_a_reply_streams(llm):
    *pieces, _ = llm.stream(ask("What is the capital of France?"), max_tokens=16)
    assert llm.name == "served"
    assert len(pieces) > 3
    assert "".join(pieces).strip()


def test_the_same_question_is_answered_the_same_and_sampling_settings_are_taken(llm):
    prompt = ask("Name three colours.")
    list(complete(llm, prompt, max_tokens=8))  # what the server knows it reads in other steps, which rounds otherwise
    best = "".join(complete(llm, prompt, max_tokens=8))
    assert "".join(complete(llm, prompt, max_tokens=8)) == best
    one = Sampling(2.0, seed=7, top_k=1)
    assert "".join(complete(llm, prompt, max_tokens=8, sampling=one)) == best
    wild = Sampling(2.0, seed=7, top_k=0, top_p=1.0, min_p=0.0)
    assert "".join(complete(llm, prompt, max_tokens=8, sampling=wild)) != best


def test_the_server_counts_the_tokens(llm):
    text = "Unquestionably antidisestablishmentarianism. " * 20
    assert llm.count_tokens(ask(text)) != OpenAICompatible(llm.url).count_tokens(ask(text))  # the second one estimates
    assert 100 < llm.count_tokens(ask(text)) < 400


def test_a_json_schema_is_obeyed(llm):
    schema = {
        "type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["verdict"],
        "additionalProperties": False,
    }  # fmt: skip
    reply = "".join(complete(llm, ask("Is Paris in France?"), max_tokens=60, schema=schema))
    assert json.loads(reply)["verdict"] in ("yes", "no")


def test_choices_get_probabilities(llm):
    shares = llm.choose(ask("What is the capital of France? Answer with one word."), ["The", "Paris", "France"])
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["Paris"] > 0


def test_a_prompt_that_does_not_fit_is_refused_with_the_servers_reason(llm):
    with pytest.raises(ModelError, match=r"first word|context"):
        list(complete(llm, ask("word " * 3000), max_tokens=5))


def test_stop_ends_the_reply_and_frees_the_server(llm):
    stop, pieces = threading.Event(), []
    for piece in complete(llm, ask("Write a long story about a dog and a cat."), max_tokens=500, stop=stop):
        pieces.append(piece)
        if len(pieces) == 3:
            stop.set()
    assert len(pieces) == 3
    assert "".join(complete(llm, ask("Hello"), max_tokens=3))
