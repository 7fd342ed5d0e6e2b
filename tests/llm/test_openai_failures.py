"""The engine on a server: what goes wrong, stopping, and the key."""

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.interfaces import Usage
from pdfqa_core.llm import OpenAICompatible
from pdfqa_core.llm.openai import base_url
from pdfqa_core.streaming import complete
from pdfqa_core.types import Progress
from tests.llm.openai_server import ASK, KEY, text_of

# ------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(("status", "hint"), [(400, "log"), (401, "PDFQA_LLM_API_KEY"), (404, "/v1")])
def test_a_refusal_is_not_tried_again_and_gives_status_reason_and_hint(server, status, hint):
    server.failures = [(status,), (status,)]
    with pytest.raises(ModelError, match=f"answered {status}: the reason") as caught:
        text_of(OpenAICompatible(server.url, model="m"))
    assert hint in caught.value.hint
    assert len(server.chats) == (2 if status == 400 else 1)  # a bad request may be bad for asking for tokens


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


@pytest.mark.parametrize("failure", [(429,), (500,), (503,), ("drop",)])
def test_a_busy_server_is_asked_again_before_the_first_token(server, quick, failure):
    server.say("x")
    server.failures = [failure, failure]
    events = list(OpenAICompatible(server.url, model="m").stream(ASK, max_tokens=9))
    assert events[-2:] == ["x", Usage()]
    assert all(isinstance(event, Progress) and "trying again in 1 s" in event.phase for event in events[:-2])
    assert len(events) - 1 == len(server.chats) == 3


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
    for event in OpenAICompatible(server.url, model="m").stream(ASK, max_tokens=9, stop=stop):
        events.append(event)
        stop.set()
    assert events[1:] == [Usage(finish_reason="stopped")]
    assert len(server.chats) == 1


@pytest.mark.parametrize("cut", [True, False])
def test_a_reply_that_breaks_off_is_told_after_its_beginning_and_not_asked_for_again(server, quick, cut):
    server.say("one ", "two ")
    server.lines.pop()
    server.cut = cut
    stream = complete(OpenAICompatible(server.url, model="m"), ASK, max_tokens=9)
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
    for piece in complete(OpenAICompatible(server.url, model="m"), ASK, max_tokens=99, stop=stop):
        pieces.append(piece)
        stop.set()
    assert pieces == ["word "]
    assert server.gone.wait(5)


def test_a_stop_before_the_start_asks_nothing(server):
    stop = threading.Event()
    stop.set()
    llm = OpenAICompatible(server.url)
    assert list(complete(llm, ASK, max_tokens=9, stop=stop)) == []
    with pytest.raises(StoppedError):
        llm.choose(ASK, ["yes", "no"], stop=stop)
    assert server.chats == []


# ------------------------------------------------------------------ the key


def test_the_key_appears_in_no_error(server, quick):
    llm = OpenAICompatible(server.url, model="m", api_key=KEY, retries=0)
    for status in (400, 401, 500):
        server.failures = [(status,)] * (2 if status == 400 else 1)
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


@pytest.mark.parametrize("url", ["http://a/v1,http://b/v1", "http://a/v1 http://b/v1"])
def test_several_addresses_are_refused(url):
    with pytest.raises(UsageError, match="more than one address") as caught:
        OpenAICompatible(url)
    assert caught.value.hint == "Give one address; a proxy can spread requests over several."
