"""How much may come in: requests a minute from one address, and bytes that wait to be read."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.secret_words import Rate
from pdfqa_core.ui.downloads import HEADER, Budget, Tickets
from pdfqa_core.ui.proxies import place_of

# ----------------------------------------------------------------------------------------------------
# Addresses that answer before the page does: `/healthz` (whether the server answers and its database can be read, for
# containers and balancers) and `/metrics` (numbers for Prometheus; `TokenGate` stands before it).

HEALTH, METRICS = "/healthz", "/metrics"


class Answering:
    """Middleware that answers GET of one path with what `answer` returns, or 503 where that raises PdfQAError."""

    def __init__(self, app: ASGIApp, *, path: str, answer: Callable[[], Response]) -> None:
        self._app, self._path, self._answer = app, path, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != self._path or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            answer = await run_in_threadpool(self._answer)
        except PdfQAError as error:  # its kind alone: whoever asks for the health has no password
            answer = JSONResponse({"status": "failing", "what": type(error).__name__}, 503)
        await answer(scope, receive, send)


# ----------------------------------------------------------------------------------------------------
# How much may come in: requests a minute from one address, and bytes that wait to be read.

UPLOADS = 60  # a minute from one address, each of up to 1,000 files
LARGEST_OTHER = 20_000_000  # bytes of a request that is no upload
FREE = 500_000_000  # bytes that uploads leave free on the disk


class Waiting:
    """The bytes of uploads that have arrived or are arriving, and nobody has taken yet.

    At most `most` of them (0: any number), and never so many that less than `FREE` would be left on the disk.
    """

    def __init__(self, folder: Path, most: int = 0) -> None:
        self._folder = folder
        self._most = most
        self._arriving = 0
        self._lock = threading.Lock()

    def reserve(self, size: int) -> bool:
        """Set so many bytes aside for what arrives; False if there is no room for them."""
        with self._lock:
            arriving = self._arriving + size
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._most and arriving + _bytes_in(self._folder) > self._most:
                return False
            if shutil.disk_usage(self._folder).free - arriving < FREE:
                return False
            self._arriving = arriving
            return True

    def release(self, size: int) -> None:
        """Give back what was set aside."""
        with self._lock:
            self._arriving -= size


class Traffic:
    """Middleware that refuses what is too much, with a sentence and 429 (later) or 413 (smaller).

    `per_minute` requests with an effect from one address; 0: any number. `waiting` counts the uploads. With `tickets`
    only those who have one may upload, within their `budget`, and programs, for whom `program` tells by the headers
    whose documents theirs are (empty: nobody's).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        waiting: Waiting,
        per_minute: int = 0,
        tickets: Tickets | None = None,
        budget: Budget | None = None,
        program: Callable[[Headers], str] | None = None,
    ) -> None:
        self._app = app
        self._waiting = waiting
        self._requests = Rate(per_minute) if per_minute else None
        self._uploads = Rate(UPLOADS)
        self._tickets, self._budget, self._program = tickets, budget, program

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        refusal = self._too_often(str(scope["path"]).rstrip("/"), place_of(scope))
        if refusal:
            await _refuse(refusal, 429)(scope, receive, send)
        elif str(scope["path"]).rstrip("/").endswith("/upload"):
            await self._upload(scope, receive, send)
        else:
            await self._limited(scope, receive, send, LARGEST_OTHER)

    def _too_often(self, path: str, address: str) -> str:
        """Return the refusal of an address that asks too often; empty where it does not."""
        if self._requests is not None and not self._requests.take(address):
            return "Too many requests from your address. Wait a minute."
        if self._requests is not None and path.endswith("/upload") and not self._uploads.take(address):
            return "Too many uploads from your address. Wait a minute."
        return ""

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        if not length.isdecimal():
            await _refuse("An upload must say how large it is (Content-Length).", 411)(scope, receive, send)
            return
        size = int(length)
        if self._tickets is not None:
            owner = self._tickets.owner(headers.get(HEADER, ""))
            if not owner and self._program is not None:
                owner = await run_in_threadpool(self._program, headers)
            if not owner:
                await _refuse("This upload does not say whose it is. Load the page again.", 403)(scope, receive, send)
                return
            if self._budget is not None and not self._budget.take(owner, place_of(scope), size):
                words = "You have sent as much as a visitor may send in an hour. Go on later."
                await _refuse(words, 429)(scope, receive, send)
                return
        if not await run_in_threadpool(self._waiting.reserve, size):
            words = "There is no room for this upload now. Try again in a few minutes, or with smaller files."
            await _refuse(words, 413)(scope, receive, send)
            return
        try:
            await self._limited(scope, receive, send, size)
        finally:
            self._waiting.release(size)

    async def _limited(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        """Pass on a request whose body has at most so many bytes."""
        left, answered = most, False

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise _TooLargeError
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, counted, noted)
        except _TooLargeError:
            if not answered:
                await _refuse(f"This request is too large; {most:,} bytes are allowed.", 413)(scope, receive, send)


class _TooLargeError(Exception):
    """A body is longer than is allowed."""


def _refuse(words: str, status: int) -> PlainTextResponse:
    return PlainTextResponse(f"{words}\n", status)


def _bytes_in(folder: Path) -> int:
    """Return the size of all files below a folder; those that go meanwhile count as nothing."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total
