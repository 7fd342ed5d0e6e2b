"""One model behind several servers: who is asked, what happens when one fails, and fifty requests at once."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.interfaces import Usage
from pdfqa_core.llm import OpenAICompatible
from pdfqa_core.llm.server import StatusError
from pdfqa_core.llm.several import Several, addresses, servers_at
from pdfqa_core.types import Progress
from tests.llm.openai_server import ASK, FakeServer, text_of

SOON = 10  # seconds


@contextmanager
def serving(*said):
    """Start a server for each of these replies."""
    servers = [FakeServer() for _ in said]
    for server, words in zip(servers, said, strict=True):
        server.request_queue_size = 100
        server.socket.listen(100)
        server.say(*words)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield servers
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def behind(*servers, **options):
    made = [OpenAICompatible(one.url, model="m", retries=0, timeout=SOON) for one in servers]
    return Several(made, **{"rest": 0.01, **options})


def until(condition):
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_addresses_are_separated_by_commas_or_spaces_and_one_is_an_engine_of_its_own():
    assert addresses(" http://a/v1, http://b:8080  http://a/v1,") == ["http://a/v1", "http://b:8080"]
    assert addresses("") == addresses(" , ") == []
    one = servers_at("http://a", OpenAICompatible)
    assert (type(one), one.url) == (OpenAICompatible, "http://a/v1")
    two = servers_at("http://a,http://b", OpenAICompatible)
    assert (type(two), two.url, two.parallel) == (Several, "http://a/v1, http://b/v1", 8)
    assert addresses(two.url) == ["http://a/v1", "http://b/v1"]  # the setting is kept in this form
    with pytest.raises(UsageError, match="'b' is not the address of a server"):
        servers_at("http://a, b", OpenAICompatible)
    with pytest.raises(UsageError, match="is not the address"):
        servers_at("", OpenAICompatible)


def test_fifty_requests_at_once_are_shared_out_and_all_answered():
    with serving(["one ", "two"], ["one ", "two"]) as servers:
        llm = behind(*servers)
        gate = threading.Barrier(50)

        def ask(_):
            gate.wait(SOON)
            return text_of(llm)

        for server in servers:
            server.silence = 0.05
        with ThreadPoolExecutor(50) as pool:
            assert Counter(pool.map(ask, range(50))) == {"one two": 50}
        counts = [len(server.chats) for server in servers]
        assert sum(counts) == 50
        assert min(counts) >= 20


def test_the_least_busy_server_is_asked():
    with serving(["a"], ["b"]) as (first, second):
        llm = behind(first, second)
        first.silence = 0.2
        going = llm.stream(ASK, max_tokens=9)
        assert next(going) == "a"
        assert [text_of(llm) for _ in range(3)] == ["b", "b", "b"]
        going.close()
        assert text_of(llm) == "a"


@pytest.mark.parametrize("failure", [(500,), (503,), (429,), (401,), (404,), ("drop",)])
def test_where_one_fails_another_answers_and_it_is_asked_again_once_it_works(failure):
    with serving(["a"], ["b"]) as (first, second):
        llm = behind(first, second)
        first.failures = [failure]
        items = list(llm.stream(ASK, max_tokens=9))
        assert [item for item in items if isinstance(item, str)] == ["b"]
        assert Progress("asking another server") in items
        assert isinstance(items[-1], Usage)
        until(lambda: all(llm.working.values()))
        assert text_of(llm) == "a"


def test_a_server_that_is_gone_is_left_out_until_it_is_back():
    with serving(["a"], ["b"]) as (first, second):
        llm = behind(first, second)
        place = first.server_address
        first.shutdown()
        first.server_close()
        assert [text_of(llm) for _ in range(3)] == ["b", "b", "b"]
        assert list(llm.working.values()) == [False, True]
        assert llm.parallel == 4
        again = serve_at(place)
        try:
            until(lambda: all(llm.working.values()))
            assert text_of(llm) == "back"
        finally:
            again.shutdown()
            again.server_close()
            llm.unload()


def serve_at(place):
    from http.server import ThreadingHTTPServer

    from tests.llm.openai_server import Handler

    server = FakeServer.__new__(FakeServer)
    server.allow_reuse_address = True
    ThreadingHTTPServer.__init__(server, place, Handler)
    server.pages = {"/v1/models": {"data": [{"id": "m"}]}}
    server.requests, server.failures, server.silence, server.cut, server.reply = [], [], 0.0, False, None
    server.gone = threading.Event()
    server.say("back")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


def test_what_another_server_would_refuse_too_is_raised_at_once():
    with serving(["a"], ["b"]) as (first, second):
        llm = behind(first, second)
        first.failures = [(422,)] * 9
        with pytest.raises(StatusError, match="422"):
            text_of(llm)
        assert second.chats == []
        assert all(llm.working.values())


def test_a_reply_that_has_begun_is_not_taken_up_by_another_server():
    with serving(["half a"], ["b"]) as (first, second):
        llm = behind(first, second)
        first.lines, first.cut = first.lines[:1], True
        pieces = []
        with pytest.raises(ModelError, match="broke off"):
            pieces.extend(llm.stream(ASK, max_tokens=9))
        assert second.chats == []
        assert text_of(llm) == "b"


def test_where_none_answers_all_are_asked_again_after_a_while_and_then_the_reason_is_raised():
    with serving(["a"], ["b"]) as servers:
        llm = behind(*servers, rounds=1)
        for server in servers:
            server.failures = [(503,)]
        assert text_of(llm) in ("a", "b")
        for server in servers:
            server.failures = [(503,)] * 9
        with pytest.raises(ModelError, match="answered 503"):
            text_of(llm)
        llm.unload()


def test_a_stop_is_noticed_while_a_server_is_silent_and_while_all_are_waited_for():
    with serving(["a", "b"], ["c"]) as (first, second):
        first.silence = SOON
        llm, stop = behind(first, second), threading.Event()
        going = llm.stream(ASK, max_tokens=9, stop=stop)
        assert next(going) == "a"
        stop.set()
        assert list(going)[-1].finish_reason == "stopped"
        waiting, stop = behind(first, second, rest=SOON), threading.Event()
        for server in (first, second):
            server.failures = [(503,)] * 9
        going = waiting.stream(ASK, max_tokens=9, stop=stop)
        said = []
        for item in going:
            said.append(item)
            if isinstance(item, Progress) and "no server answers" in item.phase:
                stop.set()
        assert said[-1].finish_reason == "stopped"
        assert stop.is_set()
        llm.unload()
        waiting.unload()


def test_choices_counting_and_models_work_with_one_of_them():
    with serving(["a"], ["b"]) as (first, second):
        llm = behind(first, second)
        first.pages = {}
        first.failures, second.failures = [(503,)], []
        second.tell({"yes": 0.6, "no": 0.2})
        assert llm.choose(ASK, ["yes", "no"])["yes"] == pytest.approx(0.75)
        assert llm.count_tokens(ASK) > 0
        assert llm.name == "m"
        second.pages = {"/v1/models": {"data": [{"id": "m"}, {"id": "n"}]}}
        first.pages = {"/v1/models": {"data": [{"id": "n"}]}}
        assert llm.model_names() == ["n"]
        llm.unload()
