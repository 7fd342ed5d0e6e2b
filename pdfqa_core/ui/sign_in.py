"""The one password of a server that other computers can reach, and that nobody passes without it.

Gradio asks for it on its own page, and leaves some of its routes open meanwhile; so what is open is said here.
"""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import secret_words
from pdfqa_core.services.tries import Tries
from pdfqa_core.ui.accounts import A_YEAR, KNOWN, STARTED, current_cookies, current_place, note, status_of
from pdfqa_core.ui.proxies import is_encrypted

SHORTEST = 8  # characters
LOGIN = "/login"
OPEN = ("/", STARTED, "/favicon.ico", "/theme.css", "/manifest.json")  # what Gradio's page to sign in is made of
ASKS = "Any user name, and the password that this server was started with."
NOT_YET = {"error": "Not authenticated", "auth_message": ASKS}  # as Gradio says it, which its clients know
RIGHT, WRONG = 200, 400  # what Gradio answers to a password
ASSETS = ("/assets/", "/static/")


class SignIn:
    """What Gradio asks whether somebody may in: any user name with the one password."""

    def __init__(self, password: str, tries: Tries) -> None:
        self.kept = secret_words.hashed(password)
        self._tries = tries

    async def check(self, _name: str, password: str) -> bool:
        """Whether the password is right. Raises HTTPException where there were too many tries, or too many ask."""
        try:
            await run_in_threadpool(self._check, password)
        except PdfQAError as error:
            if (status := status_of(error, WRONG)) != WRONG:
                raise HTTPException(status, str(error)) from None
            return False
        return True

    def _check(self, password: str) -> None:
        known = secret_words.known(current_cookies().get(KNOWN, ""), self.kept)
        with self._tries.one(current_place(), "server", "the password", known=known):
            if not secret_words.belongs(password, self.kept):
                raise UsageError("The password is wrong.")

    def __repr__(self) -> str:
        return "<a password>"


class Closed:
    """Middleware that answers 401 to who has not typed the password, on all routes but those that are named in `OPEN`.

    `page` is where Gradio keeps who is signed in.
    """

    def __init__(self, app: ASGIApp, *, sign_in: SignIn, page: Any) -> None:
        self._app = app
        self._sign_in = sign_in
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        request = Request({**scope, "type": "http"})
        path = str(scope["path"])
        if path.rstrip("/") == LOGIN:
            note(scope)
            await self._app(scope, receive, self._remembering(request, send))
        elif self._signed_in(request) or path in OPEN or path.startswith(ASSETS):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "not signed in"})
        else:
            await JSONResponse({"detail": NOT_YET}, 401)(scope, receive, send)

    def _signed_in(self, request: Request) -> bool:
        app = self._page.app
        names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
        return any(request.cookies.get(name, "") in app.tokens for name in names)

    def _remembering(self, request: Request, send: Send) -> Send:
        """Return a `send` that has a browser which is let in keep that it is known.

        Of an encrypted page, all of its cookies travel encrypted only.
        """

        async def remember(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == RIGHT:
                marks = secret_words.marked(request.cookies.get(KNOWN, ""), self._sign_in.kept)
                own = f"{KNOWN}={marks}; HttpOnly; Path=/; SameSite=lax; Max-Age={A_YEAR}"
                headers = MutableHeaders(scope=message)
                cookies = [*headers.getlist("set-cookie"), own]
                del headers["set-cookie"]
                for cookie in cookies:
                    open_to_all = is_encrypted(request.scope) and "; secure" not in cookie.lower()
                    headers.append("set-cookie", f"{cookie}; Secure" if open_to_all else cookie)
            await send(message)

        return remember
