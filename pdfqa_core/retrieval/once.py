"""Derived data that several users of an index share, made once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """Keeps by key what was made for it."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.RLock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time for this key.

        Threads that ask for the same key wait for the first; nothing is kept where `make` raises.
        """
        with self._locks.setdefault(key, threading.RLock()):
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]  # type: ignore[no-any-return]

    def known(self, key: Hashable) -> Any:
        """Return what was made for a key; None: nothing yet."""
        return self._made.get(key)
