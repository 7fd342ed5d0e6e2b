"""A cluster in this process, whose tasks end in another order than they began."""

from collections.abc import Callable, Iterator, Sequence

from pdfqa_core.errors import StoppedError


class FakeCluster:
    """Does tasks from the last to the first; `sizes` are the numbers of items of its calls."""

    def __init__(self, workers: int = 2, error: Exception | None = None) -> None:
        self.workers = workers
        self.sizes: list[int] = []
        self._error = error

    def map(self, function: Callable, items: Sequence, stop=None) -> Iterator[tuple[int, object]]:
        self.sizes.append(len(items))
        for index in reversed(range(len(items))):
            if stop is not None and stop.is_set():
                raise StoppedError
            if self._error is not None:
                raise self._error
            yield index, function(items[index])

    def describe(self) -> str:
        return f"a fake of {self.workers}"

    def close(self) -> None:
        pass
