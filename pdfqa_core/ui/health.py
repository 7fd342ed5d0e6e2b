"""`/healthz`: whether the server answers and its database can be read, for containers and balancers."""

from __future__ import annotations

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError

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
