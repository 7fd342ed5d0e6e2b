"""Names of strategies. Every choice in the UI, the command line and error messages comes from here.

A part that offers strategies makes one `Registry`; each strategy's file registers its class under a name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pdfqa_core.errors import UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """The strategies of one kind ("chunker", "retriever", …) by name, in order of registration."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, tuple[T, str]] = {}

    def register(self, name: str, words: str = "") -> Callable[[T], T]:
        """Return a decorator that files a class or function under `name`; `words` explain it beside the choice.

        Raises UsageError if the name is taken.
        """

        def decorate(entry: T) -> T:
            if name in self._entries:
                raise UsageError(f"Two entries are called {name!r} among the {self.kind}s.")
            self._entries[name] = entry, words
            return entry

        return decorate

    def get(self, name: str) -> T:
        """Return the entry called `name`. Raises UsageError with the names that exist."""
        try:
            return self._entries[name][0]
        except KeyError:
            raise UsageError(
                f"There is no {self.kind} called {name!r}.", f"Choose one of: {', '.join(self._entries)}."
            ) from None

    def names(self) -> tuple[str, ...]:
        """Return all names in order of registration."""
        return tuple(self._entries)

    def words(self, name: str) -> str:
        """Return the line that explains the entry called `name`."""
        return self._entries[name][1]

    def parameters(self, name: str) -> frozenset[str]:
        """Return the parameters of the entry called `name`, a class; what it is given and asked follows from them.

        Raises UsageError for an unknown name.
        """
        return frozenset(inspect.signature(self.get(name)).parameters)  # type: ignore[arg-type]

    def accepted(self, name: str, offered: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the offered values that the entry called `name` has parameters for."""
        known = self.parameters(name)
        return {key: value for key, value in offered.items() if key in known}
