"""What is done by a clock while the program serves: visitors who left, temporary files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

EVERY = 300.0  # seconds
_log = logging.getLogger(__name__)


class Housekeeping:
    """Calls its chores every few minutes in a thread of its own, from `start` to `close`; one that fails is logged.

    `last` comes after all others.
    """

    def __init__(self, *chores: Callable[[], object], last: Callable[[], object], every: float = EVERY) -> None:
        self._chores, self._last = list(chores), last
        self._every = every
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self, *more: Callable[[], object]) -> None:
        """Begin, at once with the first round."""
        self._chores += more
        self._thread.start()

    def close(self) -> None:
        """End it; a chore under way ends by itself."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            for chore in (*self._chores, self._last):
                try:
                    chore()
                except Exception as error:  # noqa: BLE001 - the next round tries again
                    _log.warning("what is done by the clock failed: %s", error)
            self._closing.wait(self._every)
