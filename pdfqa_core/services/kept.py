"""What is kept in memory of each owner's documents until it is needed again, the last of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The last `most` values, by keys that begin with the owner; for any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[tuple[str, ...], Value] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: tuple[str, ...]) -> Value | None:
        """Return what is kept under this key, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: tuple[str, ...], value: Value) -> None:
        """Keep a value, which may push out the one that was not asked for the longest."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget_owners(self, owners: Collection[str]) -> None:
        """Forget what is kept of these owners."""
        with self._lock:
            for key in [key for key in self._values if key[0] in owners]:
                del self._values[key]
