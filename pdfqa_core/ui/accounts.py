"""Signing in to a server with accounts: the page for it, and that nobody passes without.

A browser that is signed in has a random token in a cookie; who it is, is looked up in the database for each request, so
that every program on it knows. A reverse proxy that knows who is asking may say so in a header instead. Another cookie
says as whom the browser has signed in before: it opens nothing, but has tries of its own.
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
from pdfqa_core.services.secret_words import TooOftenError, Tries
from pdfqa_core.ui.components import render
from pdfqa_core.ui.proxies import is_encrypted, place_of
from pdfqa_core.ui.theme import ASSETS

STARTED = "/gradio_api/startup-events"  # what Gradio asks itself for when it starts; it tells nothing
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
COOKIE, KNOWN = "pdfqa-signed-in", "pdfqa-known"
A_YEAR = 365 * 24 * 3600  # seconds
KEY = "pdfqa.account"  # under which a request carries its account
LARGEST_FORM = 5_000  # bytes
MAY_UPLOAD = (AccountRole.OWNER, AccountRole.MEMBER)
NO_ACCOUNT = "You have no account on this server. Ask whoever runs it."
TOO_LONG = "Name or password are too long."
NO_UPLOAD = "Your account may not add files."
_asked: ContextVar[Scope | None] = ContextVar("asked", default=None)


def current() -> Account | None:
    """Return who called the handler that is running; None where there are no accounts, and in the background."""
    return (_asked.get() or {}).get(KEY)


def current_place() -> str:
    """Return where the handler that is running was called from, as `place_of`; empty in the background."""
    return place_of(_asked.get() or {})


def current_cookies() -> dict[str, str]:
    """Return the cookies of the request that is being answered."""
    return Request({"headers": [], **(_asked.get() or {}), "type": "http"}).cookies


def note(scope: Scope | None) -> None:
    """Note which request is being answered, for `current`, `current_place` and `current_cookies`."""
    _asked.set(scope)


class SignedIn:
    """Middleware that lets requests of those pass who are signed in, and shows all others the page for it.

    `header` is what a proxy names the user in (empty: none does); `Believed` has taken it out where anybody else did.
    """

    def __init__(self, app: ASGIApp, *, people: AccountService, tries: Tries, header: str = "") -> None:
        self._app = app
        self._people = people
        self._tries = tries
        self._header = header

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
        name = request.headers.get(self._header, "") if self._header else ""
        return self._people.named(name) if name else self._people.signed_in(request.cookies.get(COOKIE, ""))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "not signed in"})
            return
        request = Request(scope)
        answer: Response = JSONResponse({"error": "Sign in first."}, 401)
        if self._header and request.headers.get(self._header):
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
            invited = await run_in_threadpool(self._invited, place_of(request.scope), token)
            if request.method != "POST":
                return HTMLResponse(_joining(invited, token))
            if password != form.get("again", ""):
                return HTMLResponse(_joining(invited, token, "These are two different passwords."), 400)
            try:
                signed_in = await run_in_threadpool(self._people.join, token, password)
            except UsageError as error:
                return HTMLResponse(_joining(invited, token, str(error)), 400)
        except PdfQAError as error:
            return HTMLResponse(_page(str(error)), status_of(error, 403))
        return await self._let_in(request, signed_in)

    def _invited(self, place: str, token: str) -> AccountInvitation:
        with self._tries.one(place, "link"):
            if (invited := self._people.invited(token)) is None:
                raise UsageError(*NO_LONGER_GOOD)
            return invited

    async def _sign_in(self, request: Request) -> Response:
        form = await _form(request)
        if form is None:
            return HTMLResponse(_page(TOO_LONG), 413)
        name, target = form.get("name", ""), form.get("next", "")
        try:
            token = await run_in_threadpool(self._try, request, name, form.get("password", ""))
        except PdfQAError as error:
            return HTMLResponse(_page(str(error), name, target), status_of(error, 401))
        return await self._let_in(request, token, target)

    def _try(self, request: Request, name: str, password: str) -> str:
        known = self._people.known(name, request.cookies.get(KNOWN, ""))
        with self._tries.one(place_of(request.scope), "account", name, known=known):
            return self._people.sign_in(name, password)

    async def _let_in(self, request: Request, token: str, target: str = "") -> Response:
        answer = RedirectResponse(f"/{target}" if target.startswith("?") else "/", 303)
        marks = await run_in_threadpool(self._people.marked, token, request.cookies.get(KNOWN, ""))
        for name, value, seconds in ((COOKIE, token, int(LONGEST.total_seconds())), (KNOWN, marks, A_YEAR)):
            answer.set_cookie(
                name,
                value,
                max_age=seconds,
                path="/",
                httponly=True,
                samesite="lax",
                secure=is_encrypted(request.scope),
            )
        return answer


def status_of(error: PdfQAError, wrong: int) -> int:
    """Return the HTTP status of what kept somebody out; `wrong` for what was not right."""
    if isinstance(error, TooOftenError):
        return 429
    return wrong if isinstance(error, UsageError) else 503


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
