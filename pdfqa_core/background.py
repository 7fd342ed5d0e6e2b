"""Work in a thread whose progress comes out as a generator."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from typing import TypeVar

from pdfqa_core.types import Progress

T = TypeVar("T")


def in_background(work: Callable[[Callable[[Progress], None]], T]) -> Generator[Progress, None, T]:
    """Run `work(report)` in a thread, yield what it reports and return its result; its error is raised here."""
    steps: queue.SimpleQueue[Progress | None] = queue.SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(steps.put))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)
        finally:
            steps.put(None)

    thread = threading.Thread(target=run, name="background", daemon=True)
    thread.start()
    while (step := steps.get()) is not None:
        yield step
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
