"""How many processes may read PDFs at the same time, whoever asks: first come, first served."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from pdfqa_core.errors import StoppedError
from pdfqa_core.types import StopSignal

_POLL = 0.1  # seconds between looks at the stop signal


class Slots:
    """`count` places for reading processes, shared by all threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = count
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def free(self) -> bool:
        """Whether nobody has to wait now."""
        return self._free > 0 and not self._queue

    @contextmanager
    def take(self, at_most: int = 1, stop: StopSignal | None = None) -> Iterator[int]:
        """Wait for a place and give how many were taken: up to `at_most`, but those who wait behind get one each.

        Raises StoppedError when `stop` is set meanwhile.
        """
        taken = self._wait(max(1, at_most), stop)
        try:
            yield taken
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()

    def _wait(self, at_most: int, stop: StopSignal | None) -> int:
        me = object()
        with self._changed:
            self._queue.append(me)
            try:
                while self._queue[0] is not me or not self._free:
                    if stop is not None and stop.is_set():
                        raise StoppedError("Reading was stopped.")
                    self._changed.wait(_POLL)
                taken = max(1, min(at_most, self._free - (len(self._queue) - 1)))
                self._free -= taken
                return taken
            finally:
                self._queue.remove(me)
                self._changed.notify_all()
