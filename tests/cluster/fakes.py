"""A cluster in this process, whose tasks end in another order than they began."""

import pickle
from collections.abc import Callable, Iterator, Sequence

from pdfqa_core.errors import StoppedError


class FakeCluster:
    """Does tasks from the last to the first, with copies of all, as elsewhere; `sizes` are the items of its calls."""

    def __init__(self, workers: int = 2, error: Exception | None = None) -> None:
        self.workers = workers
        self.sizes: list[int] = []
        self._error = error

    def map(self, function: Callable, items: Sequence, stop=None, shared=None) -> Iterator[tuple[int, object]]:
        self.sizes.append(len(items))
        function, given, items = pickle.loads(pickle.dumps((function, shared, list(items))))
        for index in reversed(range(len(items))):
            if stop is not None and stop.is_set():
                raise StoppedError
            if self._error is not None:
                raise self._error
            result = function(items[index]) if shared is None else function(given, items[index])
            yield index, pickle.loads(pickle.dumps(result))

    def describe(self) -> str:
        return f"a fake of {self.workers}"

    def close(self) -> None:
        pass
