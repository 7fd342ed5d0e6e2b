"""How many processes may read PDFs at the same time: first come, first served, and none may hold up the others.

Of those who wait, the one whose owner has the fewest places is next.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pdfqa_core.errors import StoppedError
from pdfqa_core.interfaces import StopSignal

_POLL = 0.1  # seconds between looks at the stop signal


class Slots:
    """`count` places for reading processes, shared by all threads; one owner has at most `each` of them at a time."""

    def __init__(self, count: int, each: int = 0) -> None:
        self.count = count
        self.each = each or count
        self._free = count
        self._used: Counter[str] = Counter()  # by owner
        self._queue: list[tuple[str, object]] = []
        self._changed = threading.Condition()

    @property
    def free(self) -> bool:
        """Whether nobody has to wait now."""
        return self._free > 0 and not self._queue

    @contextmanager
    def take(self, at_most: int = 1, stop: StopSignal | None = None, owner: str = "") -> Iterator[int]:
        """Wait for a place and give how many were taken: up to `at_most`, but those who wait behind get one each.

        Raises StoppedError when `stop` is set meanwhile.
        """
        taken = self._wait(max(1, at_most), stop, owner)
        try:
            yield taken
        finally:
            with self._changed:
                self._free += taken
                self._used[owner] -= taken
                if not self._used[owner]:
                    del self._used[owner]
                self._changed.notify_all()

    def _wait(self, at_most: int, stop: StopSignal | None, owner: str) -> int:
        me = (owner, object())
        with self._changed:
            self._queue.append(me)
            try:
                while not self._free or self._next() is not me:
                    if stop is not None and stop.is_set():
                        raise StoppedError("Reading was stopped.")
                    self._changed.wait(_POLL)
                behind = len(self._may_go()) - 1
                taken = max(1, min(at_most, self._free - behind, self.each - self._used[owner]))
                self._free -= taken
                self._used[owner] += taken
                return taken
            finally:
                self._queue.remove(me)
                self._changed.notify_all()

    def _may_go(self) -> list[tuple[str, object]]:
        """Return those who wait and whose owner has not all the places that one may have."""
        return [one for one in self._queue if self._used[one[0]] < self.each]

    def _next(self) -> tuple[str, object] | None:
        return min(self._may_go(), key=lambda one: self._used[one[0]], default=None)
