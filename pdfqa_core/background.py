"""Work in a thread whose progress comes out as a generator."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from pdfqa_core.types import Progress

T = TypeVar("T")


def in_background(work: Callable[[Callable[[Progress], None]], T]) -> Generator[Progress, None, T]:
    """Run `work(report)` in a thread, yield what it reports and return its result; its error is raised here."""
    steps: queue.SimpleQueue[Progress | None] = queue.SimpleQueue()
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work(steps.put))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            result.set_exception(error)
        finally:
            steps.put(None)

    threading.Thread(target=copy_context().run, args=(run,), name="background", daemon=True).start()
    while (step := steps.get()) is not None:
        yield step
    return result.result()
