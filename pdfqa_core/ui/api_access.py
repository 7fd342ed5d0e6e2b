"""Who uses the server as a program: with a token, or without one from this computer as the page's own user."""

from __future__ import annotations

import hashlib
import inspect
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, Literal, get_type_hints

import gradio as gr
from gradio.events import api
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.accounts import PREFIX, Account, AccountRole
from pdfqa_core.services.secret_words import Tries
from pdfqa_core.text import clean_all
from pdfqa_core.ui.accounts import KEY, status_of
from pdfqa_core.ui.gate import is_this_computer
from pdfqa_core.ui.proxies import FORWARDED, place_of

BEARER = "bearer "
MOST_GOOD = 1_000  # tokens that are remembered at once
CLOSED = ("/gradio_api/mcp", "/metrics")  # what Gradio itself asks no password for
NEEDED = UsageError(
    "This needs a token.",
    "Make one with `pdfqa tokens add NAME` where the server runs, and send the header Authorization: Bearer TOKEN.",
)


class Access:
    """Whom a request acts for. `asks`: the page asks for a password, so that programs need a token everywhere.

    `accounts`: it asks for an account; a token then has the rights of a member.
    """

    def __init__(self, services: Services) -> None:
        self._tokens = services.people.tokens
        self._server = services.settings.server
        self.asks = False
        self.accounts = False

    def owner(self, request: Any) -> str:
        """Return whose documents a request (Gradio's or Starlette's) is about.

        Raises UsageError: the token is not valid, or there is none and the request is not from this computer's user.
        A demo has no such user. A request that was passed on by a proxy does not count as from this computer.
        """
        if token := token_in(request.headers):
            return self._tokens.owner(self._tokens.of(token))
        passed_on = self._server.proxied or any(name in request.headers for name in FORWARDED)
        here = is_this_computer(getattr(request.client, "host", "") or "")
        if self.asks or self.accounts or self._server.demo or passed_on or not here:
            raise NEEDED
        return LOCAL_OWNER

    def program(self, headers: Any) -> str:
        """Return whose documents those of a program are that sent these headers; empty without a valid token."""
        try:
            return self._tokens.owner(self._tokens.of(token)) if (token := token_in(headers)) else ""
        except PdfQAError:
            return ""


def token_in(headers: Any) -> str:
    """Return our token in the header Authorization, empty where there is none (others' tokens are not ours to read)."""
    given = str(headers.get("authorization", ""))
    token = given[len(BEARER) :].strip() if given.lower().startswith(BEARER) else ""
    return token if token.startswith(PREFIX) else ""


class TokenGate:
    """Middleware that lets valid tokens past the page's password, and nobody else to MCP and metrics.

    A token that is not valid gets 401 and a sentence wherever it is sent, 429 after too many. `page` is where Gradio
    keeps who is signed in.
    """

    def __init__(self, app: ASGIApp, *, access: Access, page: Any, tries: Tries) -> None:
        self._app = app
        self._access = access
        self._page = page
        self._tries = tries
        self._good = OrderedDict[str, bool]()  # hashes of tokens that were valid: others' tries do not shut them out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        closed = scope["type"] == "http" and str(scope["path"]).startswith(CLOSED)
        token = token_in(headers)
        if closed or token:
            try:
                await run_in_threadpool(self._check, scope, token)
            except PdfQAError as error:
                words, said = {"error": {"what": error.what, "hint": error.hint}}, {"WWW-Authenticate": "Bearer"}
                await JSONResponse(words, status_of(error, 401), said)(scope, receive, send)
                return
        if token and self._access.accounts:
            await self._app({**scope, KEY: Account("token", AccountRole.MEMBER)}, receive, send)
        elif token and self._access.asks:
            await self._signed_in(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, scope: Scope, token: str) -> None:
        """Raise UsageError where neither a token nor the place that asks lets it in."""
        if not token:
            self._access.owner(_Asked(scope))
            return
        name = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
        known = self._good.pop(name, False)
        with nullcontext() if known else self._tries.one(place_of(scope), "token"):
            self._access.owner(_Asked(scope))
        self._good[name] = True
        while len(self._good) > MOST_GOOD:
            self._good.popitem(last=False)

    async def _signed_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on as one of a browser that has typed the password, which is true for this request only."""
        app, once = self._page.app, secrets.token_urlsafe(32)
        cookie = f"access-token-unsecure-{app.cookie_id}={once}".encode()
        headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
        app.tokens[once] = "token"
        try:
            await self._app({**scope, "headers": [*headers, (b"cookie", cookie)]}, receive, send)
        finally:
            app.tokens.pop(once, None)


class _Asked:
    """What `Access` looks at in a request."""

    def __init__(self, scope: Scope) -> None:
        self.headers = Headers(scope=scope)
        self.client = _Client((scope["client"] or ("",))[0])


class _Client:
    def __init__(self, host: str) -> None:
        self.host = host


# ----------------------------------------------------------------------------------------------------
# Functions as named endpoints of Gradio: typed, checked, for the owner of the request, errors as our sentences.

_AT_ONCE = 8  # calls that are answered at the same time; others wait in the queue
_UNEXPECTED = "Something unexpected happened ({}). It is in the program's log."
_log = logging.getLogger(__name__)


class Told(gr.Error):
    """An error that reaches the caller as the sentence that it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message, print_exception=False)

    def __str__(self) -> str:
        return str(self.message)


def endpoint(
    function: Callable[..., Any],
    access: Access,
    *,
    name: str = "",
    queue: bool = True,
    visibility: Literal["public", "undocumented"] = "public",
) -> None:
    """Offer a function `(owner, …)` or a generator under its name: without `owner`, which is who asks.

    Its docstring describes it, "Args:" its parameters. Called inside the `with` of the page.
    """
    handler = _handler(function, access)
    api(
        handler,
        api_name=name or function.__name__,
        queue=queue,
        api_visibility=visibility,
        concurrency_limit=_AT_ONCE,
        concurrency_id="api",
    )


def _handler(function: Callable[..., Any], access: Access) -> Callable[..., Any]:
    hints = get_type_hints(function)
    signature = inspect.signature(function)
    given = [one for one in signature.parameters.values() if one.name not in ("self", "owner")]
    checks = {one.name: TypeAdapter(hints[one.name]) for one in given}

    def prepared(arguments: tuple[Any, ...]) -> tuple[str, Mapping[str, Any]]:
        *values, request = arguments
        owner = access.owner(request)
        return owner, {name: _checked(name, checks[name], value) for name, value in zip(checks, values, strict=True)}

    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def stream(*arguments: Any) -> Iterator[Any]:
            try:
                owner, values = prepared(arguments)
                yield from function(owner, **values)
            except Exception as error:  # noqa: BLE001 - whatever happens, the caller is told
                raise _told(error, function.__name__) from None

        return _typed(stream, given, hints)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            owner, values = prepared(arguments)
            return function(owner, **values)
        except Exception as error:  # noqa: BLE001 - whatever happens, the caller is told
            raise _told(error, function.__name__) from None

    return _typed(call, given, hints)


def _typed(handler: Callable[..., Any], given: list[inspect.Parameter], hints: Mapping[str, Any]) -> Callable[..., Any]:
    """Give a handler the signature that Gradio reads types from: what is given, and the request at the end."""
    made: Any = handler
    result = hints["return"]
    if inspect.isgeneratorfunction(handler):
        (result,) = result.__args__  # of Iterator[…]: what each step of the stream is
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    # all are positional; a default before the request, which has none, would not be allowed
    request = request.replace(default=None) if any(one.default is not one.empty for one in given) else request
    typed = [one.replace(annotation=hints[one.name]) for one in given]
    made.__signature__ = inspect.Signature([*typed, request], return_annotation=result)
    made.__annotations__ = {**{one.name: hints[one.name] for one in given}, "request": gr.Request, "return": result}
    del made.__wrapped__
    return handler


def _checked(name: str, check: TypeAdapter[Any], value: Any) -> Any:
    try:
        return clean_all(check.validate_python(value, strict=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f", {part}" for part in first["loc"])
        raise UsageError(f"“{name}”{where} is not what is expected: {first['msg']}.", "See the API's types.") from None


def _told(error: Exception, name: str) -> Told:
    if isinstance(error, PdfQAError):
        return Told(str(error))
    _log.error("the endpoint %s failed", name, exc_info=error)
    return Told(_UNEXPECTED.format(type(error).__name__))
