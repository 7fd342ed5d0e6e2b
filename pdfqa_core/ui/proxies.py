"""Which proxies are believed when they say who is asking, and what they say: asked once, before anything else looks."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pdfqa_core.errors import UsageError

LOCAL = (
    "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7",
)  # fmt: skip
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
SAID = (*FORWARDED, "x-gradio-server")  # what only proxies may say, with all that begins with x-forwarded-
SOMEBODY = (b"forwarded", b"for=unknown")  # (RFC 7239) in place of what somebody said who is not believed
NETWORK = 64  # bits of an IPv6 address that one customer of a provider has for themself
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The addresses of the proxies before this server; without any (`named` empty and not `proxied`) none is believed.

    Where none is named, those of this computer and of private networks count. Raises UsageError for what is no address.
    """

    def __init__(self, named: Iterable[str] = (), *, proxied: bool = False) -> None:
        chosen = [one.strip() for one in named if one.strip()] or (list(LOCAL) if proxied else [])
        try:
            self._networks: list[Network] = [ipaddress.ip_network(one, strict=False) for one in chosen]
        except ValueError as error:
            raise UsageError(
                f"A proxy is named wrongly: {error}.", "Write addresses or networks, as 10.0.0.7 or 10.0.0.0/24."
            ) from error

    def client(self, scope: Scope) -> str:
        """Return the address that is asking.

        Each proxy appends the address that it was asked from; the last one that is no proxy's is believed, since
        everything before it may have been sent by the browser.
        """
        address = address_of(scope)
        said = [one.strip() for value in Headers(scope=scope).getlist("x-forwarded-for") for one in value.split(",")]
        while said and self.named(address):
            address = said.pop()
        return address[:100]

    def named(self, address: str) -> bool:
        """Whether an address is that of one of the proxies."""
        try:
            found = ipaddress.ip_address(address.strip("[]"))
        except ValueError:
            return False
        return any(found in network for network in self._networks)


class Believed:
    """Middleware, the first of all: whoever looks at a request after it sees what is true of it.

    Of one that a proxy passed on, `client` is who asks and `scheme` whether that connection is encrypted. Of any other,
    what only proxies may say is taken out, also `header`, in which they name the user.
    """

    def __init__(self, app: ASGIApp, *, proxies: Proxies, header: str = "") -> None:
        self._app = app
        self._proxies = proxies
        self._said = {*SAID, header.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with what is true of it."""
        if scope["type"] in ("http", "websocket"):
            scope = self._seen(scope)
        await self._app(scope, receive, send)

    def _seen(self, scope: Scope) -> Scope:
        if self._proxies.named(address_of(scope)):
            seen = {**scope, "client": (self._proxies.client(scope), 0)}
            if Headers(scope=scope).get("x-forwarded-proto", "") == "https":
                seen["scheme"] = "wss" if scope["type"] == "websocket" else "https"
            return seen
        kept = [(name, value) for name, value in scope["headers"] if not self._is_said(name.decode("latin-1").lower())]
        passed_on = any(name in Headers(scope=scope) for name in FORWARDED)
        return {**scope, "headers": [*kept, *([SOMEBODY] if passed_on else [])]}

    def _is_said(self, name: str) -> bool:
        return name in self._said or name.startswith("x-forwarded-")


def address_of(scope: Scope) -> str:
    """Return the address that a request comes from; behind `Believed` that of whoever asks."""
    return str((scope.get("client") or ("",))[0])


def is_encrypted(scope: Scope) -> bool:
    """Whether the browser's connection is encrypted."""
    return scope.get("scheme") in ("https", "wss")


def place_of(scope: Scope) -> str:
    """Return what limits count by: the address that is asking, of IPv6 the network, in which anybody has many."""
    address = address_of(scope)
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((found, NETWORK), strict=False))
