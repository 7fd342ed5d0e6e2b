"""The engine on a server, against a server of the test's own that can be as bad as servers are."""

import json
import math
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.llm import OpenAICompatible, engines
from pdfqa_core.llm import server as server_module
from pdfqa_core.llm.openai import base_url
from pdfqa_core.types import Message, Progress, Sampling

ASK = [Message("user", "Hello?")]
KEY = "sk-very-secret"


class FakeServer(ThreadingHTTPServer):
    """Answers GET and POST with what stands in `pages`, chat completions with `lines`, after the `failures`."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = {"/v1/models": {"data": [{"id": "served-model"}]}}
        self.requests, self.failures, self.lines, self.silence, self.cut = [], [], [], 0.0, False
        self.reply = None
        self.gone = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def chats(self):
        return [body for path, _, body in self.requests if path == "/v1/chat/completions"]

    def say(self, *pieces):
        events = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
        self.lines = [f"data: {json.dumps(event)}" for event in events] + ["data: [DONE]"]

    def tell(self, probabilities):
        tokens = [{"token": token, "logprob": math.log(p)} for token, p in probabilities.items()]
        self.reply = {"choices": [{"logprobs": {"content": [{"top_logprobs": tokens}]}}]}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers), None))
        self._page()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.path != "/v1/chat/completions":
            self._page(body)
        elif self.server.failures:
            self._fail(*self.server.failures.pop(0))
        elif self.server.reply is not None:
            self._send(200, self.server.reply)
        else:
            self._stream()

    def _stream(self):
        self.send_response(200)
        self.end_headers()
        try:
            for line in self.server.lines:
                self.wfile.write(f"{line}\n\n".encode())
                self.wfile.flush()
                time.sleep(self.server.silence)
        except OSError:
            self.server.gone.set()
        if self.server.cut:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _fail(self, status, headers=()):
        if status == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        reason = f"the reason, for the key {self.headers.get('Authorization', '')}"
        self._send(status, {"error": {"message": reason}}, headers)

    def _page(self, body=None):
        page = self.server.pages.get(self.path)
        page = page(body) if callable(page) else page
        self._send(404 if page is None else 200, page or {"error": {"message": "no such page"}})

    def _send(self, status, data, headers=()):
        data = json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server():
    server = FakeServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def quick(monkeypatch):
    """Wait hundredths of a second where seconds are waited for."""
    monkeypatch.setattr(server_module, "FIRST_WAIT", 0.02)


def text_of(llm, **options):
    return "".join(llm.complete(ASK, max_tokens=9, **options))


# ------------------------------------------------------------------ replies


def test_it_is_registered():
    assert engines.get("openai") is OpenAICompatible


def test_a_reply_streams_and_the_request_says_what_is_wanted(server):
    server.say("Good ", "mor", "ning ☀")
    llm = OpenAICompatible(server.url, model="m", api_key=KEY)
    schema = {"type": "object"}
    assert list(llm.complete(ASK, max_tokens=7, schema=schema)) == ["Good ", "mor", "ning ☀"]
    (body,) = server.chats
    assert server.requests[-1][1]["Authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("m", 7, 0, 0)
    assert body["messages"] == [{"role": "user", "content": "Hello?"}]
    assert body["response_format"]["json_schema"]["schema"] == schema
    assert "top_p" not in body


def test_all_sampling_settings_are_sent_and_the_unusual_ones_left_out_where_they_are_refused(server):
    server.say("x")
    llm = OpenAICompatible(server.url, model="m")
    sampling = Sampling(0.5, seed=3, top_k=7, top_p=0.8, min_p=0.1, repeat_penalty=1.2)
    text_of(llm, sampling=sampling)
    usual = {"temperature": 0.5, "seed": 3, "top_p": 0.8}
    unusual = {"top_k": 7, "min_p": 0.1, "repeat_penalty": 1.2, "repetition_penalty": 1.2}
    assert (usual | unusual).items() <= server.chats[0].items()
    server.failures = [(400,)]
    assert text_of(llm, sampling=sampling) == "x"
    assert text_of(llm, sampling=sampling) == "x"
    assert len(server.chats) == 4
    for body in server.chats[2:]:
        assert usual.items() <= body.items()
        assert not unusual.keys() & body.keys()


def test_the_first_served_model_is_taken_where_none_is_named(server):
    server.say("x")
    llm = OpenAICompatible(server.url)
    assert llm.model_names() == ["served-model"]
    assert text_of(llm) == "x"
    assert server.chats[0]["model"] == llm.name == "served-model"
    assert "Authorization" not in server.requests[-1][1]


@pytest.mark.parametrize("pages", [{}, {"/v1/models": {"models": []}}])
def test_a_server_that_does_not_list_its_models_needs_a_name(server, pages):
    server.pages = pages
    server.say("x")
    with pytest.raises(ModelError, match="does not list its models"):
        text_of(OpenAICompatible(server.url))
    assert text_of(OpenAICompatible(server.url, model="m")) == "x"


def test_a_server_without_a_model_is_reported(server):
    server.pages["/v1/models"] = {"data": []}
    with pytest.raises(ModelError, match="offers no model"):
        text_of(OpenAICompatible(server.url))


def test_a_reply_may_end_with_a_reason_instead_of_the_last_line(server):
    server.lines = ['data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "length"}]}']
    assert text_of(OpenAICompatible(server.url, model="m")) == "x"


# ------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(("status", "hint"), [(400, "log"), (401, "PDFQA_LLM_API_KEY"), (404, "/v1")])
def test_a_refusal_is_not_tried_again_and_gives_status_reason_and_hint(server, status, hint):
    server.failures = [(status,), (status,)]
    with pytest.raises(ModelError, match=f"answered {status}: the reason") as caught:
        text_of(OpenAICompatible(server.url, model="m"))
    assert hint in caught.value.hint
    assert len(server.chats) == 1


def test_a_schema_is_told_the_old_way_where_the_new_one_is_refused(server):
    server.say("{}")
    llm = OpenAICompatible(server.url, model="m")
    server.failures = [(400,)]
    for _ in range(2):
        assert text_of(llm, schema={"type": "object"}) == "{}"
    formats = [body["response_format"] for body in server.chats]
    old = {"type": "json_object", "schema": {"type": "object"}}
    assert [form["type"] for form in formats] == ["json_schema", "json_object", "json_object"]
    assert formats[1:] == [old, old]


def test_a_refusal_of_everything_changes_nothing_for_the_next_question(server):
    server.say("{}")
    llm = OpenAICompatible(server.url, model="m")
    server.failures = [(400,)] * 4
    with pytest.raises(ModelError, match="answered 400"):
        text_of(llm, schema={"type": "object"}, sampling=Sampling(0.5))
    assert len(server.chats) == 4
    text_of(llm, schema={"type": "object"}, sampling=Sampling(0.5))
    assert server.chats[4] == server.chats[0]


def test_a_reply_without_a_word_is_told(server):
    server.lines = [""]
    with pytest.raises(ModelError, match="before the first word") as caught:
        text_of(OpenAICompatible(server.url, model="m"))
    assert "context" in caught.value.hint


@pytest.mark.parametrize("failure", [(429,), (500,), (503,), ("drop",)])
def test_a_busy_server_is_asked_again_before_the_first_token(server, quick, failure):
    server.say("x")
    server.failures = [failure, failure]
    events = list(OpenAICompatible(server.url, model="m").stream(ASK, max_tokens=9))
    assert events[-1] == "x"
    assert all(isinstance(event, Progress) and "trying again in 1 s" in event.phase for event in events[:-1])
    assert len(events) == len(server.chats) == 3


@pytest.mark.parametrize(("status", "hint"), [(429, "later"), (500, "log")])
def test_a_server_that_stays_busy_is_given_up(server, quick, status, hint):
    server.failures = [(status,)] * 9
    with pytest.raises(ModelError, match=f"answered {status}: the reason") as caught:
        text_of(OpenAICompatible(server.url, model="m", retries=2))
    assert hint in caught.value.hint
    assert len(server.chats) == 3


def test_the_time_that_the_server_asks_for_is_waited(server, quick):
    server.say("x")
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    for value, seconds in [("7", 7), (later, 30), ("99999", 30)]:
        server.failures = [(429, [("Retry-After", value)])]
        stream = OpenAICompatible(server.url, model="m").stream(ASK, max_tokens=9)
        assert next(stream) == Progress(f"the server is busy, trying again in {seconds} s")
        stream.close()
    server.failures = [(429, [("Retry-After", "0")]), (429, [("Retry-After", "soon")])]
    assert text_of(OpenAICompatible(server.url, model="m")) == "x"


def test_stop_ends_the_wait_for_a_busy_server(server):
    server.failures = [(429, [("Retry-After", "30")])]
    stop = threading.Event()
    events = []
    began = time.monotonic()
    for event in OpenAICompatible(server.url, model="m").stream(ASK, max_tokens=9, stop=stop):
        events.append(event)
        stop.set()
    assert len(events) == len(server.chats) == 1
    assert time.monotonic() - began < 10  # not 30


def test_a_server_that_is_not_there_is_tried_again_too(quick):
    llm = OpenAICompatible("http://127.0.0.1:9", model="m", retries=1)
    stream = llm.stream(ASK, max_tokens=1)
    assert next(stream) == Progress("the server cannot be reached, trying again in 1 s")
    with pytest.raises(ModelError, match="cannot be reached"):
        list(stream)


@pytest.mark.parametrize("cut", [True, False])
def test_a_reply_that_breaks_off_is_told_after_its_beginning_and_not_asked_for_again(server, quick, cut):
    server.say("one ", "two ")
    server.lines.pop()
    server.cut = cut
    stream = OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=9)
    assert [next(stream), next(stream)] == ["one ", "two "]
    with pytest.raises(ModelError, match="broke off in the middle"):
        next(stream)
    assert len(server.chats) == 1


def test_an_error_inside_the_stream_is_reported(server):
    server.lines = ['data: {"error": {"message": "out of memory"}}']
    with pytest.raises(ModelError, match="out of memory"):
        text_of(OpenAICompatible(server.url, model="m"))


@pytest.mark.parametrize(
    "line",
    ["data: <html>", "<html>", "data: []", "data: 7", 'data: {"choices": 7}', 'data: {"choices": [{}]}', "\x00ÿ"],
)
def test_something_else_than_a_completion_is_reported(server, line):
    server.lines = [line]
    with pytest.raises(ModelError, match="no chat completion"):
        text_of(OpenAICompatible(server.url, model="m"))


def test_a_silent_server_times_out_and_is_not_asked_again(server):
    server.say("one", "two")
    server.silence = 5
    with pytest.raises(ModelError, match="in time"):
        text_of(OpenAICompatible(server.url, model="m", timeout=0.2))
    assert len(server.chats) == 1


# ------------------------------------------------------------------ stopping


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


def test_a_stop_before_the_start_asks_nothing(server):
    stop = threading.Event()
    stop.set()
    llm = OpenAICompatible(server.url)
    assert list(llm.complete(ASK, max_tokens=9, stop=stop)) == []
    with pytest.raises(StoppedError):
        llm.choose(ASK, ["yes", "no"], stop=stop)
    assert server.chats == []


def test_a_generator_closed_early_ends_the_connection(server):
    server.say(*["word "] * 100)
    server.silence = 0.1
    stream = OpenAICompatible(server.url, model="m").complete(ASK, max_tokens=99)
    assert next(stream) == "word "
    stream.close()
    assert server.gone.wait(5)


def test_two_streams_at_once_do_not_mix(server):
    server.say("a", "b", "c")
    llm = OpenAICompatible(server.url, model="m")
    first, second = llm.complete(ASK, max_tokens=9), llm.complete(ASK, max_tokens=9)
    assert [next(first), next(second), *first, *second] == ["a", "a", "b", "c", "b", "c"]


# ------------------------------------------------------------------ the key


def test_the_key_appears_in_no_error(server, quick):
    llm = OpenAICompatible(server.url, model="m", api_key=KEY, retries=0)
    for status in (400, 401, 500):
        server.failures = [(status,)]
        with pytest.raises(ModelError, match="the reason, for the key Bearer •••") as caught:
            text_of(llm)
        assert KEY not in str(caught.value)
    server.lines = [f'data: {{"error": "not {KEY}"}}']
    with pytest.raises(ModelError, match="not •••"):
        text_of(llm)
    assert KEY not in repr(llm)


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key):
    with pytest.raises(UsageError, match="PDFQA_LLM_API_KEY") as caught:
        OpenAICompatible("http://x", api_key=key)
    assert key not in str(caught.value)
    assert OpenAICompatible("http://x", api_key="key\n")  # as a file ends


@pytest.mark.parametrize("url", ["http://me:hidden@host/v1", "https://host/v1?key=hidden", "http://host/#hidden"])
def test_an_address_with_a_password_is_refused_without_showing_it(url):
    with pytest.raises(UsageError, match="host") as caught:
        base_url(url)
    assert "hidden" not in str(caught.value)


def test_addresses():
    assert base_url("http://localhost:8080") == "http://localhost:8080/v1"
    assert base_url("https://example.org/api/v1/") == "https://example.org/api/v1"
    with pytest.raises(UsageError, match="not the address"):
        base_url("localhost:8080")


# ------------------------------------------------------------------ context and tokens


def prepared(server, **options):
    llm = OpenAICompatible(server.url, **options)
    assert list(llm.prepare()) == []
    return llm


def test_without_a_word_of_the_server_the_context_is_the_settings_and_tokens_are_estimated(server):
    llm = prepared(server, context_size=777)
    assert llm.context_size == 777
    asked = len(server.requests)
    assert llm.count_tokens([Message("user", "word " * 100)]) == 143 + 8
    assert len(server.requests) == asked  # not asked for again what it does not tell


def test_before_the_first_contact_tokens_are_estimated(server):
    assert OpenAICompatible("http://127.0.0.1:9").count_tokens([Message("user", "word " * 100)]) >= 100


def test_vllm_tells_its_context_and_counts(server):
    server.pages["/v1/models"] = {
        "data": [{"id": "other", "max_model_len": 5}, {"id": "m", "max_model_len": 8192}, {"id": "n"}]
    }
    server.pages["/tokenize"] = lambda body: {"count": len(body["messages"]) * 100, "tokens": []}
    llm = prepared(server, model="m")
    assert llm.context_size == 8192
    assert llm.count_tokens([*ASK, *ASK]) == 200
    assert server.requests[-1][2]["add_generation_prompt"] is True


def test_llama_server_tells_its_context_and_counts(server):
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 6000}, "total_slots": 1}
    server.pages["/apply-template"] = lambda body: {"prompt": f"<{body['messages'][0]['content']}>"}
    server.pages["/tokenize"] = lambda body: {"tokens": list(body.get("content", ""))}
    llm = prepared(server)
    assert llm.context_size == 6000
    assert llm.count_tokens(ASK) == len("<Hello?>")


def test_llama_cpp_python_counts_texts(server):
    server.pages["/extras/tokenize/count"] = lambda body: {"count": len(body["input"])}
    assert prepared(server).count_tokens(ASK) == len("Hello?") + 8


def test_a_server_that_is_silent_about_itself_still_answers(server, monkeypatch):
    monkeypatch.setattr(server_module, "QUICK", 0.1)
    server.pages["/props"] = lambda _: server.gone.wait(1) or {}
    server.say("x")
    llm = OpenAICompatible(server.url, context_size=777)
    assert (text_of(llm), llm.context_size, llm.count_tokens(ASK)) == ("x", 777, 10)


@pytest.mark.parametrize("told", [{"data": [{"id": "m", "max_model_len": "long"}]}, {"data": [{"id": "m"}]}])
def test_nonsense_about_the_context_is_left_alone(server, told):
    server.pages["/v1/models"] = told
    server.pages["/props"] = ["?"]
    assert prepared(server, context_size=777).context_size == 777


# ------------------------------------------------------------------ choices


def test_choices_get_the_probabilities_of_their_first_tokens(server):
    server.tell({"Yes": 0.5, " Yes": 0.1, "Y": 0.05, "No": 0.1, "Nope": 0.05, "The": 0.2})
    llm = OpenAICompatible(server.url, model="m")
    shares = llm.choose(ASK, ["Yes", "No", "Unknown"])
    assert shares == {"Yes": pytest.approx(0.65 / 0.8), "No": pytest.approx(0.15 / 0.8), "Unknown": 0}
    wanted = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0}
    assert wanted.items() <= server.chats[0].items()
    assert "stream" not in server.chats[0]


def test_a_busy_server_is_asked_again_for_choices(server, quick):
    server.tell({"Yes": 0.5, "No": 0.5})
    server.failures = [(429,), (500,)]
    assert OpenAICompatible(server.url, model="m").choose(ASK, ["Yes", "No"]) == {"Yes": 0.5, "No": 0.5}


def test_choices_that_begin_alike_are_refused(server):
    server.tell({"not": 0.7, "supported": 0.3})
    with pytest.raises(ModelError, match="does not tell"):
        OpenAICompatible(server.url, model="m").choose(ASK, ["not supported", "not mentioned", "supported"])


def test_choices_that_the_server_does_not_think_of_are_refused(server):
    server.tell({"Well": 0.7, "": 0.3})
    with pytest.raises(ModelError, match="most likely"):
        OpenAICompatible(server.url, model="m").choose(ASK, ["Yes", "No"])


@pytest.mark.parametrize("reply", [{"choices": [{"logprobs": None}]}, {"choices": []}, {}, [], "yes"])
def test_a_server_without_probabilities_is_reported(server, reply):
    server.reply = reply
    with pytest.raises(ModelError, match="does not tell the probabilities"):
        OpenAICompatible(server.url, model="m").choose(ASK, ["Yes", "No"])


@pytest.mark.parametrize("choices", [[], ["yes", ""], ["yes", "yes"], ["yes", " "]])
def test_what_is_no_choice_is_a_usage_error(server, choices):
    with pytest.raises(UsageError, match="not choices"):
        OpenAICompatible(server.url, model="m").choose(ASK, choices)
    assert server.requests == []
