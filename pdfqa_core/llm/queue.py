"""First come, first served: the line of those who wait for the one language model. Knows nothing about models."""

from __future__ import annotations

import threading
from collections import deque
from itertools import count


class Line:
    """A fair lock whose waiting places can be seen.

    Tickets are numbers. A ticket may be given back by any thread (a generator is sometimes closed by another one
    than the thread that started it), and giving it back twice does nothing.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickets: deque[int] = deque()
        self._numbers = count(1)

    def enter(self) -> int:
        """Return a new ticket at the end of the line."""
        with self._changed:
            ticket = next(self._numbers)
            self._tickets.append(ticket)
            return ticket

    def position(self, ticket: int) -> int:
        """Return how many are before `ticket` (0: it is served now). Raises ValueError if it is not in the line."""
        with self._changed:
            return self._tickets.index(ticket)

    def wait(self, ticket: int, seconds: float) -> int:
        """Wait at most `seconds` for the place of `ticket` to change, not at all if it is served; return its place."""
        with self._changed:
            before = self._tickets.index(ticket)
            if before:
                self._changed.wait_for(lambda: self._tickets.index(ticket) != before, timeout=seconds)
            return self._tickets.index(ticket)

    def leave(self, ticket: int) -> None:
        """Give the ticket back, whether it is served or still waits."""
        with self._changed:
            if ticket in self._tickets:
                self._tickets.remove(ticket)
                self._changed.notify_all()

    def __len__(self) -> int:
        """Return how many are served or wait."""
        with self._changed:
            return len(self._tickets)
