"""Names of strategies. Every choice in the UI, the command line and error messages comes from here.

A part that offers strategies makes one `Registry`; each strategy's file registers its class under a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from pdfqa_core.errors import UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """The strategies of one kind ("chunker", "retriever", …) by name, in order of registration."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files a class or function under `name`. Raises UsageError if the name is taken."""

        def decorate(entry: T) -> T:
            if name in self._entries:
                raise UsageError(f"Two entries are called {name!r} among the {self.kind}s.")
            self._entries[name] = entry
            return entry

        return decorate

    def get(self, name: str) -> T:
        """Return the entry called `name`. Raises UsageError with the names that exist."""
        try:
            return self._entries[name]
        except KeyError:
            raise UsageError(
                f"There is no {self.kind} called {name!r}.", f"Choose one of: {', '.join(self._entries)}."
            ) from None

    def names(self) -> tuple[str, ...]:
        """Return all names in order of registration."""
        return tuple(self._entries)
