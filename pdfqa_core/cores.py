"""Many calculations over the cores of this computer, where they take long enough to be worth other processes."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from typing import Any, TypeVar

from pdfqa_core.errors import StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.streaming import is_set

KNOWN_AFTER = 0.5  # seconds of work here, after which it is told how many are left
WORTH = 10.0  # seconds of work left from which on it is shared out: other processes take three or four to begin
PER_PART = 0.3  # seconds of work that a process is given at a time
IDLE = 60  # seconds after which a process that has nothing to do ends

Item = TypeVar("Item")
Result = TypeVar("Result")
_log = logging.getLogger(__name__)


def over_cores(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    stop: StopSignal | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Return `function(item)` of every item, in order.

    The first ones are computed here; where they show that the rest takes more than WORTH seconds, joblib's processes do
    the rest. `function` is a module's own, or a partial of one, and has no effects: what it returns is the same
    wherever it runs. Raises StoppedError soon after `stop` is set, and what `function` raises.
    """
    found: list[Result] = []
    began, alone = time.perf_counter(), _cores() < 2
    while len(found) < len(items):
        if is_set(stop):
            raise StoppedError
        found.append(function(items[len(found)]))
        _tell(on_done, len(found), len(items))
        spent = time.perf_counter() - began
        each = spent / len(found)
        if not alone and spent > KNOWN_AFTER and each * (len(items) - len(found)) > WORTH:
            alone = True  # whatever is missing afterwards is done here
            size = max(1, int(PER_PART / each))
            rest = items[len(found) :]
            parts = [rest[first : first + size] for first in range(0, len(rest), size)]
            with closing(_elsewhere(function, parts)) as results:
                for results_of_part in results:
                    found += results_of_part
                    _tell(on_done, len(found), len(items))
                    if is_set(stop):
                        raise StoppedError
    return found


def _elsewhere(
    function: Callable[[Item], Result], parts: Sequence[Sequence[Item]]
) -> Generator[list[Result], None, None]:
    """Yield the results of each part, in order; those of the first ones only where processes are killed meanwhile."""
    from joblib import Parallel, delayed

    # what joblib says of those who stop it
    warnings.filterwarnings("ignore", message=".*You could benefit from adjusting the input task", category=UserWarning)
    processes = Parallel(
        n_jobs=min(_cores(), len(parts)), backend="loky", batch_size=1, return_as="generator", idle_worker_timeout=IDLE
    )
    try:
        with closing(processes(delayed(_each)(function, part) for part in parts)) as results:
            yield from results
    except BrokenExecutor as error:
        _log.warning("what other processes computed is computed here, for one of them ended: %s", error)


def _each(function: Callable[[Any], Result], part: Sequence[Any]) -> list[Result]:
    return [function(item) for item in part]


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def _tell(on_done: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if on_done is not None:
        on_done(done, total)
