"""What the program needs of a cluster, and what can go wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

from pdfqa_core.errors import PdfQAError
from pdfqa_core.interfaces import StopSignal

Item = TypeVar("Item")
Result = TypeVar("Result")


class ClusterError(PdfQAError):
    """The cluster cannot be reached, or its workers cannot do the work."""


class LostError(ClusterError):
    """The worker of one task died, and so did those that tried it again."""


class Cluster(Protocol):
    """Computers that do tasks."""

    def map(
        self, function: Callable[..., Result], items: Sequence[Item], stop: StopSignal | None = None, shared: Any = None
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield (index of the item, result) as tasks are done, each index once.

        `function` is a module's own and has no effects: it is called again where a worker died. It gets the item, or
        `shared` and the item: what all tasks need goes to each worker once, and is the same object in all its tasks.
        Raises what it raised where that is a PdfQAError, LostError, ClusterError, and StoppedError soon after `stop` is
        set.
        """
        ...

    @property
    def workers(self) -> int:
        """How many tasks can be under way at the same time. Raises ClusterError."""
        ...

    def describe(self) -> str:
        """Say where it is and how large. Raises ClusterError."""
        ...

    def close(self) -> None:
        """Leave the cluster; end it where it is one of this computer alone."""
        ...
