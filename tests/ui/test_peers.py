"""Requests that are passed on to the process whose they are: with what was said, but for what only a proxy may say."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from starlette.responses import PlainTextResponse

from pdfqa_core.ui.peers import COOKIE, GONE, PASSED_ON, Peers, home_of
from pdfqa_core.ui.proxies import Believed, Proxies
from tests.ui.serving import run_apart

TOKEN = {"Authorization": "Bearer pdfqa_abc"}


class Known:
    """What a process knows of the others."""

    def __init__(self, name: str, **others: str) -> None:
        self.name, self.others = name, others

    def addresses(self, _wanted: str = "") -> dict[str, str]:
        return {self.name: "", **self.others}

    def forget(self, name: str) -> None:
        del self.others[name]


async def here(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse("answered here")(scope, receive, send)


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


def asked(
    heard: Any, headers: dict[str, str], *, believed: bool = False, known: Known | None = None, method: str = "GET",
    **more: Any,
) -> httpx.Response:  # fmt: skip
    """Ask a process whose other one answers what `heard` says."""
    peers = Peers(here, processes=known or Known("me", other="http://other"))
    proxies = Proxies(["10.0.0.1"] if believed else [])

    async def ask() -> httpx.Response:
        peers._client = httpx.AsyncClient(transport=httpx.MockTransport(heard))
        transport = httpx.ASGITransport(Believed(peers, proxies=proxies, header="X-User"), client=("10.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://docs.example") as client:
            return await client.request(method, "/a%2Fb?x=1", headers=headers, **more)

    return run_apart(ask())


@pytest.mark.parametrize("believed", [True, False])
def test_the_other_process_hears_what_was_said_but_of_proxies_only_what_is_believed(believed: bool):
    heard: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        heard.append(request)
        return httpx.Response(207, headers={"x-said": "yes"}, content=pieces(request.content, b" and more"))

    said = {"Cookie": f"{COOKIE}=other; a=b", "X-User": "Ada", "X-Forwarded-For": "203.0.113.9",
            "X-Forwarded-Proto": "https", "Accept": "text/plain"}  # fmt: skip
    found = asked(answer, said, believed=believed, method="POST", content=b"body")
    assert (found.status_code, found.text, found.headers["x-said"]) == (207, "body and more", "yes")
    (request,) = heard
    assert str(request.url) == "http://other/a%2Fb?x=1"
    assert (request.headers["host"], request.headers["accept"]) == ("docs.example", "text/plain")
    assert request.headers["cookie"] == said["Cookie"]
    assert request.headers[PASSED_ON] == "1"
    assert request.headers["x-forwarded-for"] == ("203.0.113.9, 10.0.0.1" if believed else "10.0.0.1")
    assert request.headers.get("x-user") == ("Ada" if believed else None)
    assert request.headers.get("x-forwarded-proto") == ("https" if believed else None)


def refused(_request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nobody listens")


def broken(_request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("it ended")


def unheard(_request: httpx.Request) -> httpx.Response:
    raise AssertionError("was passed on")


@pytest.mark.parametrize(
    "headers",
    [{}, {"Cookie": f"{COOKIE}=me"}, {"Cookie": f"{COOKIE}=nobody"}, {"Cookie": f"{COOKIE}=other", PASSED_ON: "1"},
     {**TOKEN, PASSED_ON: "1"}, {"Authorization": "Bearer other"}],
)  # fmt: skip
def test_what_is_nobody_elses_is_answered_here(headers: dict[str, str]):
    assert asked(unheard, headers).text == "answered here"


def test_who_does_not_answer_is_taken_for_gone_and_who_ends_in_the_middle_is_said():
    known = Known("me", other="http://other")
    assert asked(refused, {"Cookie": f"{COOKIE}=other"}, known=known).text == "answered here"
    assert known.others == {}
    found = asked(broken, {"Cookie": f"{COOKIE}=other"})
    assert (found.status_code, found.text) == (502, GONE)


def test_who_leaves_ends_the_answer_of_the_other_process_too():
    ended = []

    async def without_end() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"word "
                await anyio.sleep(0.01)
        finally:
            ended.append(True)

    peers = Peers(here, processes=Known("me", other="http://other"))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"cookie", f"{COOKIE}=other".encode())]}
    sent: list[Any] = []

    async def receive() -> dict[str, str]:
        while len(sent) < 5:
            await anyio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        answering = httpx.MockTransport(lambda _request: httpx.Response(200, content=without_end()))
        peers._client = httpx.AsyncClient(transport=answering)
        with anyio.fail_after(20):
            await Believed(peers, proxies=Proxies())(scope, receive, send)

    run_apart(ask())
    assert ended == [True]


def test_all_calls_with_a_token_go_to_one_process_and_tokens_are_spread():
    names = ["a", "b", "c"]
    homes = {str(number): home_of(str(number), names) for number in range(300)}
    assert min(Counter(homes.values()).values()) > 60
    assert all(home_of(key, reversed(names)) == home for key, home in homes.items())
    left = {key: home_of(key, ["a", "b"]) for key in homes}
    assert all(left[key] == home for key, home in homes.items() if home != "c")

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=pieces(b"answered there"))

    there = {asked(answer, {"Authorization": f"Bearer pdfqa_{number}"}).text for number in range(20)}
    assert there == {"answered here", "answered there"}
