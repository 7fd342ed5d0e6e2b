"""`/metrics`: numbers for Prometheus. `TokenGate` stands before it."""

from __future__ import annotations

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError

PATH = "/metrics"


class Metrics:
    """Middleware that answers GET /metrics with what `text` returns (bytes and their type), or 503 and a sentence."""

    def __init__(self, app: ASGIApp, *, text: Callable[[], tuple[bytes, str]]) -> None:
        self._app = app
        self._text = text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            data, kind = await run_in_threadpool(self._text)
        except PdfQAError as error:
            await PlainTextResponse(f"{error}\n", 503)(scope, receive, send)
        else:
            await Response(data, media_type=kind)(scope, receive, send)
