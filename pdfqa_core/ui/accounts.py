"""Signing in to a server with accounts: the page for it, and that nobody passes without.

A browser that is signed in has a random token in a cookie; who it is, is looked up in the database for each request, so
that every program on it knows. A reverse proxy that knows who is asking may say so in a header instead.
"""

from __future__ import annotations

from contextvars import ContextVar
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services.accounts import (
    JOIN,
    LONGEST,
    NO_LONGER_GOOD,
    SHORTEST,
    Account,
    AccountInvitation,
    AccountRole,
    AccountService,
)
from pdfqa_core.ui.components import render
from pdfqa_core.ui.proxies import Proxies
from pdfqa_core.ui.theme import ASSETS
from pdfqa_core.ui.traffic import SIGN_INS, Rate

STARTED = "/gradio_api/startup-events"  # what Gradio asks itself for when it starts; it tells nothing
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
COOKIE = "pdfqa-signed-in"
KEY = "pdfqa.account"  # under which a request carries its account
LARGEST_FORM = 5_000  # bytes
MAY_UPLOAD = (AccountRole.OWNER, AccountRole.MEMBER)
NO_ACCOUNT = "You have no account on this server. Ask whoever runs it."
OFTEN = "There were too many tries for this name. Wait a minute."
TOO_LONG = "Name or password are too long."
NO_UPLOAD = "Your account may not add files."
_current: ContextVar[Account | None] = ContextVar("account", default=None)


def current() -> Account | None:
    """Return who called the handler that is running; None where there are no accounts, and in the background."""
    return _current.get()


def note(request: object) -> None:
    """Note whose request is being answered, for `current`."""
    scope = getattr(getattr(request, "request", None), "scope", None)
    _current.set(scope.get(KEY) if isinstance(scope, dict) else None)


class SignedIn:
    """Middleware that lets requests of those pass who are signed in, and shows all others the page for it.

    `header` is what a proxy names the user in (empty: none does); only `proxies` that were named are believed.
    """

    def __init__(self, app: ASGIApp, *, people: AccountService, proxies: Proxies, header: str = "") -> None:
        self._app = app
        self._people = people
        self._proxies = proxies
        self._header = header
        self._tries = Rate(SIGN_INS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its account, or answer it."""
        if scope["type"] not in ("http", "websocket") or scope["path"] == STARTED:
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"] in (SIGN_IN, SIGN_OUT, JOIN):
            await (await self._door(Request(scope, receive)))(scope, receive, send)
            return
        try:
            account = scope.get(KEY) or await run_in_threadpool(self._who, scope)  # a token was checked before
        except PdfQAError as error:
            await HTMLResponse(_page(str(error)), 503)(scope, receive, send)
            return
        if account is None:
            await self._refuse(scope, receive, send)
        elif str(scope["path"]).rstrip("/").endswith("/upload") and account.role not in MAY_UPLOAD:
            await JSONResponse({"error": NO_UPLOAD}, 403)(scope, receive, send)
        else:
            await self._app({**scope, KEY: account}, receive, send)

    def _who(self, scope: Scope) -> Account | None:
        request = Request({**scope, "type": "http"})
        name = request.headers.get(self._header, "") if self._header and self._proxies.trusts(scope) else ""
        return self._people.named(name) if name else self._people.signed_in(request.cookies.get(COOKIE, ""))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "not signed in"})
            return
        request = Request(scope)
        answer: Response = JSONResponse({"error": "Sign in first."}, 401)
        if self._header and self._proxies.trusts(scope) and request.headers.get(self._header):
            answer = HTMLResponse(_page(NO_ACCOUNT), 403)
        elif scope["method"] == "GET" and scope["path"] == "/":
            query = f"?next={quote('?' + request.url.query)}" if request.url.query else ""
            answer = RedirectResponse(f"{SIGN_IN}{query}", 303)
        await answer(scope, receive, send)

    async def _door(self, request: Request) -> Response:
        """Answer what concerns signing in and out."""
        if request.url.path == SIGN_OUT:
            return await self._sign_out(request)
        if request.url.path == JOIN:
            return await self._join(request)
        if request.method == "POST":
            return await self._sign_in(request)
        return HTMLResponse(_page("", target=request.query_params.get("next", "")))

    async def _sign_out(self, request: Request) -> Response:
        if request.method != "POST":
            return RedirectResponse("/", 303)
        await run_in_threadpool(self._people.sign_out, request.cookies.get(COOKIE, ""))
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(COOKIE, path="/")
        return answer

    async def _join(self, request: Request) -> Response:
        """Let somebody who was invited choose a password. To look at the page does not use the link up."""
        form = await _form(request) if request.method == "POST" else dict(request.query_params)
        if form is None:
            return HTMLResponse(_page(TOO_LONG), 413)
        token, password = form.get("token", ""), form.get("password", "")
        try:
            invited = await run_in_threadpool(self._people.invited, token)
            if invited is None:
                raise UsageError(*NO_LONGER_GOOD)
            if request.method != "POST":
                return HTMLResponse(_joining(invited, token))
            if password != form.get("again", ""):
                return HTMLResponse(_joining(invited, token, "These are two different passwords."), 400)
            try:
                signed_in = await run_in_threadpool(self._people.join, token, password)
            except UsageError as error:
                return HTMLResponse(_joining(invited, token, str(error)), 400)
        except PdfQAError as error:
            return HTMLResponse(_page(str(error)), 403 if isinstance(error, UsageError) else 503)
        return self._let_in(request, signed_in)

    async def _sign_in(self, request: Request) -> Response:
        form = await _form(request)
        if form is None:
            return HTMLResponse(_page(TOO_LONG), 413)
        name, target = form.get("name", ""), form.get("next", "")
        if not self._tries.take(" ".join(name.split()).casefold()[:100]):
            return HTMLResponse(_page(OFTEN, name, target), 429)
        try:
            token = await run_in_threadpool(self._people.sign_in, name, form.get("password", ""))
        except PdfQAError as error:
            return HTMLResponse(_page(str(error), name, target), 401 if isinstance(error, UsageError) else 503)
        return self._let_in(request, token, target)

    def _let_in(self, request: Request, token: str, target: str = "") -> Response:
        answer = RedirectResponse(f"/{target}" if target.startswith("?") else "/", 303)
        answer.set_cookie(
            COOKIE, token, max_age=int(LONGEST.total_seconds()), path="/", httponly=True, samesite="lax",
            secure=self._proxies.says_https(request.scope),
        )  # fmt: skip
        return answer


async def _form(request: Request) -> dict[str, str] | None:
    """Return what a form sent; None where it is too large."""
    sent = b""
    async for part in request.stream():
        sent += part
        if len(sent) > LARGEST_FORM:
            return None
    return {key: values[0] for key, values in parse_qs(sent.decode("utf-8", "replace")).items()}


class OwnPages:
    """Which account opened which page of the browser, so that nobody acts on a page of somebody else."""

    MOST = 20_000

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}

    def check(self, session: str | None) -> None:
        """Raise UsageError if this page was opened by another account."""
        account = current()
        if account is None or not session:
            return
        if self._owners.setdefault(session, account.name) != account.name:
            raise UsageError("This page was opened by another account.", "Load the page again.")
        while len(self._owners) > self.MOST:
            self._owners.pop(next(iter(self._owners)))


def _page(said: str, name: str = "", target: str = "") -> str:
    """Return the page on which one signs in."""
    return _html(render("sign_in", said=said, name=name[:80], target=target[:2000]))


def _joining(invited: AccountInvitation, token: str, said: str = "") -> str:
    """Return the page on which somebody who was invited chooses a password."""
    return _html(render("join", said=said, name=invited.name, token=token, shortest=SHORTEST))


def _html(form: str) -> str:
    """Return a page of its own around a form."""
    colours = (ASSETS / "app.css").read_text(encoding="utf-8").partition("html, body")[0]
    scheme, sheet = ((ASSETS / file).read_text(encoding="utf-8") for file in ("scheme.js", "sign_in.css"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign in · PDFQA</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{colours}{sheet}</style><script>{scheme}</script></head><body>{form}</body></html>"
    )
