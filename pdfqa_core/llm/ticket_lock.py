"""First come, first served: the queue for the one language model. Knows nothing about models."""

from __future__ import annotations

import threading
from collections import deque
from itertools import count


class TicketLock:
    """A fair lock that tells those who wait how many are before them. `tickets` are the one served and those waiting.

    A ticket may be given back by any thread (a generator is sometimes closed by another thread than the one that
    started it), and giving it back twice does nothing.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.tickets: deque[int] = deque()
        self._numbers = count(1)

    def enter(self) -> int:
        """Return a new ticket at the end of the queue."""
        with self._changed:
            ticket = next(self._numbers)
            self.tickets.append(ticket)
            return ticket

    def wait(self, ticket: int, seconds: float) -> int:
        """Return how many are before `ticket` (0: it is served now); if any, wait at most `seconds` for a change first.

        Raises ValueError if the ticket was given back.
        """
        with self._changed:
            before = self.tickets.index(ticket)
            if before:
                self._changed.wait_for(lambda: self.tickets.index(ticket) != before, timeout=seconds)
            return self.tickets.index(ticket)

    def leave(self, ticket: int) -> None:
        """Give the ticket back, whether it is served or still waits."""
        with self._changed:
            if ticket in self.tickets:
                self.tickets.remove(ticket)
                self._changed.notify_all()
