"""Who may send requests: pages of this program only, asked for under a name that is its own.

A page elsewhere can have its own name point at this computer (DNS rebinding), and any page can send forms to any
address. Browsers say in `Host` which name was asked for and in `Origin` (or `Sec-Fetch-Site`) whose page is asking.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

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
