"""Which proxies are believed when they say who is asking, and what they say."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import Scope

from pdfqa_core.errors import UsageError

LOCAL = (
    "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7",
)  # fmt: skip
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

    def trusts(self, scope: Scope) -> bool:
        """Whether a request comes from one of the proxies."""
        return self._is_proxy(_peer(scope))

    def client(self, scope: Scope) -> str:
        """Return the address that is asking.

        Each proxy appends the address that it was asked from; the last one that is no proxy's is believed, since
        everything before it may have been sent by the browser.
        """
        address = _peer(scope)
        said = [one.strip() for value in Headers(scope=scope).getlist("x-forwarded-for") for one in value.split(",")]
        while said and self._is_proxy(address):
            address = said.pop()
        return address[:100]

    def says_https(self, scope: Scope) -> bool:
        """Whether the browser's connection is encrypted."""
        told = Headers(scope=scope).get("x-forwarded-proto", "") if self.trusts(scope) else ""
        return "https" in (scope.get("scheme"), told)

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address.strip("[]"))
        except ValueError:
            return False
        return any(found in network for network in self._networks)


def _peer(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])
