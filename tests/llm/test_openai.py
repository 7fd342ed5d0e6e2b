import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.llm import OpenAICompatible, engines
from pdfqa_core.llm.openai import base_url
from pdfqa_core.types import Message, Sampling

ASK = [Message("user", "Hello?")]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.status, self.lines, self.silence = [], 200, [], 0.0
        self.gone = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(self, *pieces):
        events = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
        self.lines = [f"data: {json.dumps(event)}" for event in events] + ["data: [DONE]"]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self._reply(json.dumps({"data": [{"id": "served-model"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.status != 200:
            self._reply(json.dumps({"error": {"message": "the reason"}}).encode())
            return
        self.send_response(200)
        self.end_headers()
        try:
            for line in self.server.lines:
                self.wfile.write(f"{line}\n\n".encode())
                self.wfile.flush()
                time.sleep(self.server.silence)
        except OSError:
            self.server.gone.set()

    def _reply(self, data):
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_is_registered():
    assert engines.get("openai") is OpenAICompatible


def test_a_reply_streams_and_the_request_says_what_is_wanted(server):
    server.say("Good ", "mor", "ning ☀")
    llm = OpenAICompatible(server.url, model="m", api_key="secret")
    schema = {"type": "object"}
    pieces = list(llm.complete(ASK, max_tokens=7, schema=schema, sampling=Sampling(0.5, seed=3)))
    assert pieces == ["Good ", "mor", "ning ☀"]
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("m", 7, 0.5, 3)
    assert body["messages"] == [{"role": "user", "content": "Hello?"}]
    assert body["response_format"]["json_schema"]["schema"] == schema


def test_the_first_served_model_is_taken_where_none_is_named(server):
    server.say("x")
    llm = OpenAICompatible(server.url)
    assert "".join(llm.complete(ASK, max_tokens=1)) == "x"
    assert server.requests[0][2]["model"] == llm.name == "served-model"
    assert "Authorization" not in server.requests[0][1]


@pytest.mark.parametrize(("status", "hint"), [(401, "PDFQA_LLM_API_KEY"), (404, "/v1"), (429, "later"), (500, "log")])
def test_a_refusal_gives_the_status_the_reason_and_a_hint(server, status, hint):
    server.status = status
    with pytest.raises(ModelError, match=f"answered {status}: the reason") as caught:
        list(OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=1))
    assert hint in caught.value.hint


def test_an_error_inside_the_stream_is_reported(server):
    server.lines = ['data: {"error": {"message": "out of memory"}}']
    with pytest.raises(ModelError, match="out of memory"):
        list(OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=1))


def test_something_else_than_a_completion_is_reported(server):
    server.lines = ["data: <html>"]
    with pytest.raises(ModelError, match="no chat completion"):
        list(OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=1))


def test_a_server_that_is_not_there():
    with pytest.raises(ModelError, match="cannot be reached"):
        list(OpenAICompatible("http://127.0.0.1:9", model="m").complete(ASK, max_tokens=1))


def test_a_silent_server_times_out(server):
    server.say("one", "two")
    server.silence = 5
    with pytest.raises(ModelError, match="in time"):
        list(OpenAICompatible(server.url, model="m", timeout=0.2).complete(ASK, max_tokens=9))


def test_stop_is_noticed_while_the_server_is_silent_and_ends_the_connection(server):
    server.say(*["word "] * 100)
    server.silence = 0.2
    stop = threading.Event()
    pieces = []
    for piece in OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=99, stop=stop):
        pieces.append(piece)
        stop.set()
    assert pieces == ["word "]
    assert server.gone.wait(5)


def test_a_generator_closed_early_ends_the_connection(server):
    server.say(*["word "] * 100)
    server.silence = 0.1
    stream = OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=99)
    assert next(stream) == "word "
    stream.close()
    assert server.gone.wait(5)


def test_addresses():
    assert base_url("http://localhost:8080") == "http://localhost:8080/v1"
    assert base_url("https://example.org/api/v1/") == "https://example.org/api/v1"
    with pytest.raises(UsageError, match="not the address"):
        base_url("localhost:8080")


def test_token_estimate_is_not_too_small():
    assert OpenAICompatible("http://x").count_tokens([Message("user", "word " * 100)]) >= 100
