"""Who may send requests: pages of this program only, asked for under a name that is its own.

A page elsewhere can have its own name point at this computer (DNS rebinding), and any page can send forms to any
address. Browsers say in `Host` which name was asked for and in `Origin` (or `Sec-Fetch-Site`) whose page is asking.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import secret_words
from pdfqa_core.services.secret_words import Tries
from pdfqa_core.ui.accounts import A_YEAR, KNOWN, STARTED, current_cookies, current_place, note, status_of
from pdfqa_core.ui.proxies import is_encrypted

# ----------------------------------------------------------------------------------------------------
# The one password of a server that other computers can reach, and that nobody passes without it.
#
# Gradio asks for it on its own page, and leaves some of its routes open meanwhile; so what is open is said here.

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


# ----------------------------------------------------------------------------------------------------
# What browsers are told of every answer: it loads nothing from elsewhere, nobody frames it, no address leaves it.

SPACE = ".hf.space"  # how the names of Hugging Face Spaces end, which are shown in a frame of huggingface.co
FRAMES_OF_SPACES = "https://huggingface.co https://*.hf.space"
POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",  # Gradio makes functions of the scripts of its events
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "media-src": "'self' data: blob:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}


class SafeHeaders:
    """Middleware that adds them. `names` are those of the server: a Space of Hugging Face may stand in its frame."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = ()) -> None:
        self._app = app
        space = any(name.strip().lower().endswith(SPACE) for name in names)
        policy = {**POLICY, "frame-ancestors": f"'self' {FRAMES_OF_SPACES}" if space else "'self'"}
        self._headers = {
            "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "referrer-policy": "same-origin",  # with no-referrer the forms of the page would have no origin
            "x-content-type-options": "nosniff",
            **({} if space else {"x-frame-options": "SAMEORIGIN"}),  # it can name no other page
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with these headers."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, told)


# ----------------------------------------------------------------------------------------------------
# Who may send requests: pages of this program only, asked for under a name that is its own.

HERE = "localhost"
WITHOUT_EFFECT = ("GET", "HEAD", "OPTIONS")
FOREIGN = ("cross-site", "same-site")  # of Sec-Fetch-Site; another port of this computer is of the same site


class Gate:
    """Middleware that refuses requests under a foreign name, and those of foreign pages, with a sentence and 403.

    `listening` is the address that the server is bound to. Names: localhost, an address that it is bound to (any, where
    it listens on all: an attacker's name is none), and `names`. A page is its own if its origin is the name and port
    asked for, or one of `names` (a proxy may ask under another name than the browser).
    """

    def __init__(self, app: ASGIApp, *, listening: str, names: Iterable[str] = ()) -> None:
        self._app = app
        self._listening = listening.strip("[]").lower()
        own = () if _address(self._listening) else (self._listening,)
        self._names = {HERE, *own, *(name.strip().lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else ""
        if not refusal:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "foreign page"})
        else:
            await PlainTextResponse(refusal, 403)(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(_hostname(host)):
            return (
                f"This server does not answer to the name {host[:100]!r}. "
                "Whoever runs it can add the name to PDFQA_HOSTS and start it again.\n"
            )
        origin = headers.get("origin")
        if origin is not None:
            foreign = not self._is_own_page(origin, host)
        else:  # old browsers and programs send neither
            effect = scope["type"] == "websocket" or scope["method"] not in WITHOUT_EFFECT
            foreign = effect and headers.get("sec-fetch-site", "") in FOREIGN
        if foreign:
            return (
                f"A page of {(origin or 'another address')[:100]!r} may not use this server. "
                "If that is the address of this program behind a proxy, add its name to PDFQA_HOSTS.\n"
            )
        return ""

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        address = _address(name)
        if address is None:
            return False
        bound = _address(self._listening)
        return address.is_loopback or (bound is not None and (bound.is_unspecified or bound == address))

    def _is_own_page(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin.lower())
        except ValueError:
            return False
        if parts.scheme not in ("http", "https"):  # "null" is the origin of files and sandboxed frames
            return False
        return parts.netloc == host.lower() or parts.hostname in self._names - {HERE}


def is_this_computer(host: str) -> bool:
    """Whether a server bound to this address can be reached from this computer only."""
    address = _address(host.strip("[]"))
    return host == HERE or (address is not None and address.is_loopback)


def _hostname(host: str) -> str:
    """Return the name of a Host header without its port, in small letters; empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        return "" if parts.username is not None or parts.path else (parts.hostname or "")
    except ValueError:
        return ""


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
