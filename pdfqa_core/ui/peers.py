"""Several processes behind a balancer that sends each request to any of them: each passes on what is another's.

Gradio keeps the state of an open page, its queue and what was uploaded a moment ago in the process that the page was
opened on. A browser has the name of that process in a cookie. A program has none: all calls with one token go to one
process, whichever that is (rendezvous hashing: Thaler & Ravishankar 1998, "Using name-based mappings to increase hit
rates").
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Collection
from http.cookies import SimpleCookie

import anyio
import httpx
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.tasks import Processes
from pdfqa_core.ui.api_access import token_in
from pdfqa_core.ui.proxies import PEER, is_encrypted

# ----------------------------------------------------------------------------------------------------
# `/healthz`: whether the server answers and its database can be read, for containers and balancers.

PATH = "/healthz"


class Health:
    """Middleware that answers GET /healthz: 200 and "ok", or 503 and what is wrong. It tells nothing else.

    `check` raises PdfQAError where the program cannot work.
    """

    def __init__(self, app: ASGIApp, *, check: Callable[[], object]) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            await run_in_threadpool(self._check)
        except PdfQAError as error:
            await JSONResponse({"status": "failing", "what": type(error).__name__}, 503)(scope, receive, send)
        else:
            await JSONResponse({"status": "ok"})(scope, receive, send)


# ----------------------------------------------------------------------------------------------------
# Several processes behind a balancer that sends each request to any of them: each passes on what is another's.

COOKIE = "pdfqa-process"
PASSED_ON = "x-pdfqa-passed-on"  # such a request is not passed on again
CONNECT = 3.0  # seconds in which another process has to accept a connection
GONE = "The process that this page was opened on has ended. Load the page again.\n"
_OF_A_CONNECTION = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
_log = logging.getLogger(__name__)


class Peers:
    """Middleware that passes a request on to the process whose it is; who does not answer is taken for gone.

    It stands behind `Believed`: of what only a proxy may say, what came from one is passed on.
    """

    def __init__(self, app: ASGIApp, *, processes: Processes) -> None:
        self._app = app
        self._processes = processes
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request here, or have another process answer it."""
        if scope["type"] != "http" or not self._processes.name:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        named = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        home, url = await run_in_threadpool(self._home, headers, named)
        if url and await self._passed_on(url, scope, receive, send):
            return
        if url:
            self._processes.forget(home)
        opened = scope["path"] == "/" and named != self._processes.name and PASSED_ON not in headers
        await self._app(scope, receive, self._naming(scope, send) if opened else send)

    def _home(self, headers: Headers, named: str) -> tuple[str, str]:
        """Return the name and the URL of the process that a request belongs to; without a URL it is this one."""
        token = token_in(headers)
        if PASSED_ON in headers or named == self._processes.name or not (named or token):
            return "", ""
        try:
            known = self._processes.addresses(named)
        except PdfQAError:
            return "", ""
        home = named if named in known or not token else home_of(token, known)
        return home, known.get(home, "")

    def _naming(self, scope: Scope, send: Send) -> Send:
        """Return a `send` that gives the browser the name of this process."""
        cookie: SimpleCookie = SimpleCookie({COOKIE: self._processes.name})
        for attribute in ("httponly", *(["secure"] if is_encrypted(scope) else [])):
            cookie[COOKIE][attribute] = True
        cookie[COOKIE].update({"path": "/", "samesite": "lax"})

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", cookie[COOKIE].OutputString())
            await send(message)

        return named

    async def _passed_on(self, url: str, scope: Scope, receive: Receive, send: Send) -> bool:
        """Have another process answer; False, and nothing is read or sent, where it does not accept a connection."""
        self._client = self._client or httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT), limits=httpx.Limits(), trust_env=False
        )
        query = scope.get("query_string", b"").decode("latin-1")
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        headers = self._told(scope)
        with_body = "content-length" in headers or "transfer-encoding" in Headers(scope=scope)
        request = httpx.Request(
            scope["method"],
            f"{url}{path}{'?' * bool(query)}{query}",
            headers=headers.raw,
            content=_body(receive) if with_body else None,
        )
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return False
        except httpx.HTTPError as error:
            _log.warning("a process that a request was passed on to did not answer: %s", type(error).__name__)
            await PlainTextResponse(GONE, 502)(scope, receive, send)
            return True
        try:
            async with anyio.create_task_group() as both:
                both.start_soon(_until_left, receive, both.cancel_scope)
                await _answered(answer, send)
                both.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()
        return True

    def _told(self, scope: Scope) -> Headers:
        """Return what the other process is told: what the request says, and whom this process was asked by."""
        given = Headers(scope=scope)
        kept = [
            (name, value)
            for name, value in given.raw
            if (key := name.decode("latin-1").lower()) not in _OF_A_CONNECTION and key != "x-forwarded-for"
        ]
        asked_by = ", ".join([*given.getlist("x-forwarded-for"), scope[PEER]])
        return Headers(raw=[*kept, (b"x-forwarded-for", asked_by.encode("latin-1")), (PASSED_ON.encode(), b"1")])


def home_of(key: str, names: Collection[str]) -> str:
    """Return which of the names a key belongs to: the same everywhere, and another one only for keys of who leaves."""
    return max(names, key=lambda name: hashlib.sha256(f"{name} {key}".encode()).digest())


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise httpx.ReadError("the browser left")
        yield message.get("body", b"")
        if not message.get("more_body"):
            return


async def _until_left(receive: Receive, waiting: anyio.CancelScope) -> None:
    """End what is waited for when the browser leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    waiting.cancel()


async def _answered(answer: httpx.Response, send: Send) -> None:
    """Send an answer as it comes. One that breaks off has no end here either, so that its connection is closed."""
    headers = [one for one in answer.headers.raw if one[0].decode("latin-1").lower() not in _OF_A_CONNECTION]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    try:
        async for piece in answer.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except httpx.HTTPError as error:
        _log.warning("an answer of another process broke off: %s", type(error).__name__)
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})
