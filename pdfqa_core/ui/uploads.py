"""Whose an upload to a demo is: a visitor's, who has a ticket from their page, and only so many bytes in an hour."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable

HEADER = "x-pdfqa-ticket"
MOST = 20_000  # tickets, and keys of the budget, that are remembered at once
HOUR = 3600.0  # seconds
VISITORS_SHARE, ADDRESS_SHARE = 4, 20  # times what a visitor may keep, in an hour


class Tickets:
    """A random word for each visitor, which their page sends with every upload. Safe to use from several threads."""

    def __init__(self) -> None:
        self._owners: OrderedDict[str, str] = OrderedDict()
        self._tickets: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, owner: str) -> str:
        """Return the ticket of a visitor; empty where nobody is named."""
        if not owner:
            return ""
        with self._lock:
            ticket = self._tickets.setdefault(owner, secrets.token_urlsafe(32))
            self._owners[ticket] = owner
            self._owners.move_to_end(ticket)
            while len(self._owners) > MOST:
                _, gone = self._owners.popitem(last=False)
                self._tickets.pop(gone, None)
            return ticket

    def owner(self, ticket: str) -> str:
        """Return whose ticket this is; empty for one that was not given out."""
        with self._lock:
            return self._owners.get(ticket, "")


class Budget:
    """At most so many bytes in an hour for each visitor, and for each address. Safe to use from several threads."""

    def __init__(self, visitor_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = (VISITORS_SHARE * visitor_bytes, ADDRESS_SHARE * visitor_bytes)
        self._clock = clock
        self._taken: dict[str, deque[tuple[float, int]]] = defaultdict(deque)
        self._lock = threading.Lock()

    def take(self, owner: str, address: str, size: int) -> bool:
        """Count an upload of so many bytes; False, and nothing is counted, if it is too much for either."""
        now = self._clock()
        with self._lock:
            if len(self._taken) > MOST:
                self._taken = defaultdict(deque, {k: v for k, v in self._taken.items() if v and v[-1][0] > now - HOUR})
            keys = (f"visitor {owner}", f"address {address}")
            for key, most in zip(keys, self._most, strict=True):
                taken = self._taken[key]
                while taken and taken[0][0] <= now - HOUR:
                    taken.popleft()
                if sum(bytes_ for _, bytes_ in taken) + size > most:
                    return False
            for key in keys:
                self._taken[key].append((now, size))
            return True
