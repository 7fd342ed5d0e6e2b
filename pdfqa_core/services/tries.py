"""Tries at what can be guessed: one limiter for passwords (of the server, accounts and studies), links and tokens.

Wrong tries count where they come from, and at the name they are about. A browser that has signed in as that name before
has tries of its own, so that nobody shuts it out by using up those of others.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pdfqa_core.errors import UsageError
from pdfqa_core.services.secret_words import BusyError
from pdfqa_core.storage.names import name_key

MINUTE, HOUR = 60.0, 3600.0  # seconds
NEAR = 10  # wrong tries in a minute from one place, whatever the name, and of a browser that is known
FAR = 100  # wrong tries in an hour at one name, from wherever
KEYS = 10_000  # that are remembered at once
WAITING = 20  # tries that wait for how others end
LONGEST_NAME = 200  # characters that are looked at


class TooOftenError(UsageError):
    """There were too many wrong tries."""


class Rate:
    """At most so many things in a while (seconds) for each key. Safe to use from several threads."""

    def __init__(self, most: int, while_: float = MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._while = while_
        self._clock = clock
        self._seen: dict[str, deque[float]] = defaultdict(deque)
        self._lock = threading.Lock()

    def take(self, key: str) -> bool:
        """Count one; False if it is one too many."""
        with self._lock:
            seen = self._lately(key)
            if len(seen) >= self._most:
                return False
            seen.append(self._clock())
            return True

    def left(self, key: str) -> int:
        """Return how many more there may be now."""
        with self._lock:
            return self._most - len(self._lately(key))

    def _lately(self, key: str) -> deque[float]:
        start = self._clock() - self._while
        if len(self._seen) > KEYS:
            self._seen = defaultdict(deque, {k: v for k, v in self._seen.items() if v and v[-1] > start})
        seen = self._seen[key]
        while seen and seen[0] <= start:
            seen.popleft()
        return seen


class Tries:
    """The wrong tries of the last minute and hour. Safe to use from several threads.

    Never more are looked at at the same time than there are tries left; others wait for how those end.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._near, self._far = Rate(NEAR, MINUTE, clock), Rate(FAR, HOUR, clock)
        self._changed = threading.Condition()
        self._begun: Counter[str] = Counter()
        self._waiting = 0

    @contextmanager
    def one(self, place: str, kind: str, name: str = "", *, known: str = "") -> Iterator[None]:
        """Look at one try at the secret of this kind and name; it was wrong if the block raises UsageError.

        `place` is where it comes from, `known` what a browser is known by that has signed in as that name (empty: it
        has not). A secret without a name is limited by place only. Raises TooOftenError, and nothing is looked at,
        where there were too many wrong ones, and BusyError where too many wait.
        """
        keys = {f"known {known}" if known else f"place {place}": self._near}
        if name and not known:
            keys[f"{kind} {name_key(name[:LONGEST_NAME])}"] = self._far
        self._begin(keys)
        try:
            yield
        except UsageError:
            for key, rate in keys.items():
                rate.take(key)
            raise
        finally:
            with self._changed:
                self._begun -= Counter(keys.keys())  # forgets what is zero
                self._changed.notify_all()

    def _begin(self, keys: dict[str, Rate]) -> None:
        with self._changed:
            while True:
                left = {key: rate.left(key) for key, rate in keys.items()}
                if min(left.values()) <= 0:
                    raise TooOftenError("There were too many wrong tries.", "Wait a minute, or longer.")
                if all(self._begun[key] < most for key, most in left.items()):
                    break
                if self._waiting >= WAITING:
                    raise BusyError
                self._waiting += 1
                self._changed.wait()
                self._waiting -= 1
            self._begun.update(keys.keys())
