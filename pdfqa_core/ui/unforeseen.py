"""Requests that Gradio does not foresee: answered with a sentence, and one line in the log instead of a traceback."""

from __future__ import annotations

import logging

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.characters import clean
from pdfqa_core.errors import PdfQAError
from pdfqa_core.full_disk import in_words

SAID = "This request was not understood."
LONGEST = 300  # characters of a line in the log
_log = logging.getLogger(__name__)


class Unforeseen:
    """Middleware that answers a request which breaks what answers it: with 400, or the end of what was begun.

    Such are the name of an endpoint that there is not, and a stream that nobody has begun.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # whatever was sent, it is answered
            if scope["type"] != "http":
                raise
            told = in_words(error)
            if isinstance(told, PdfQAError) and not begun:
                _log.warning("%s", told)
                await PlainTextResponse(f"{told}\n", 507)(scope, receive, send)
                return
            words = " ".join(f"{scope['method']} {scope['path']}: {type(error).__name__}: {error}".split())
            _log.warning("a request was not understood: %s", clean(words)[:LONGEST])
            if begun:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await PlainTextResponse(f"{SAID}\n", 400)(scope, receive, send)
