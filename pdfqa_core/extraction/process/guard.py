"""Processes ended from outside, with all that they started, and their memory watched where the system sets no limit.

psutil tells a process from a later one that was given the same number, on every system.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from pdfqa_core.extraction.process.limits import MB

_POLL = 0.1  # seconds between two looks
_FAMILY_EVERY = 5  # looks after which processes that were started meanwhile are looked for


def family(process_id: int) -> list[Any]:
    """Return a process and all that it started (psutil.Process), itself first; none if it is gone."""
    import psutil

    try:
        first = psutil.Process(process_id)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def end_all(processes: list[Any]) -> None:
    """End processes, in this order; those that are gone already do no harm."""
    import psutil

    for process in processes:
        with suppress(psutil.Error):
            process.kill()


class Guard:
    """A thread that ends a process and all that it started as soon as one of them takes more than `megabytes`.

    It may be a little late: memory that is taken within a tenth of a second is had. `exceeded` says that it happened,
    `peak` is the largest size in bytes that it saw. Call `close` when the process has ended.
    """

    def __init__(self, process_id: int, megabytes: int) -> None:
        self.exceeded = False
        self.peak = 0
        self._process_id = process_id
        self._most = megabytes * MB
        self._family: list[Any] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory guard", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        looks = 0
        while not self._over.wait(_POLL if looks else 0):
            if looks % _FAMILY_EVERY == 0:
                self._family = list(dict.fromkeys([*family(self._process_id), *self._family]))
            looks += 1
            self.peak = max(self.peak, *map(_size, self._family), 0)
            if self.peak > self._most:
                self.exceeded = True
                end_all([*self._family, *family(self._process_id)])
                return

    def close(self) -> None:
        """End the thread, and what the process has left behind."""
        self._over.set()
        self._thread.join(timeout=2)
        end_all(self._family[1:])


def _size(process: Any) -> int:
    import psutil

    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
