"""The pages of one document, read by several processes side by side.

This runs in the child process that the document has anyway: all of it is equally untrusted, so that results may be
pickled. A pool of its own, since each of its processes has the limits of the child and may die of the document: the
exit status must tell why, and nothing (semaphores, temporary folders) may stay behind when all of them are killed.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, cast

from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.base import ExtractionOptions, PageReader
from pdfqa_core.extraction.process.limits import (
    EXIT_MEMORY,
    LINUX,
    more_cpu,
    near_limit,
    peak_memory_of_ended,
    watch,
)
from pdfqa_core.extraction.raw_page import RawPage

MIN_PAGES = 64
"""Pages of a light strategy from which two processes are faster than one (benchmarks/extraction_parallel.py).

Starting them costs 0.06 s of CPU time, which 64 pages of text win back where a core is free.
"""

_CHUNK = 24  # pages of a light strategy that a process is given at a time; opening the file again costs
_AHEAD = 3  # chunks per process that may wait for an earlier page
_GRACE = 2.0  # seconds that a process may take to end by itself

_sharing = 1


def sharing() -> int:
    """Return how many processes share the pages of the document that this process reads."""
    return _sharing


@dataclass(frozen=True, slots=True)
class _Job:
    """What every process of a pool works on."""

    read_pages: Callable[[Sequence[int]], Iterator[RawPage]]
    processes: int
    memory_mb: int
    page_seconds: float

    def read(self, numbers: Sequence[int]) -> Iterator[RawPage]:
        """Yield pages; the CPU limit grows with each one that is read by OCR."""
        for page in self.read_pages(numbers):
            if page.facts.source == "ocr":
                more_cpu(self.page_seconds * (os.cpu_count() or 1))
            yield page


def read_pages(
    reader: PageReader,
    path: Path,
    document_id: str,
    numbers: Sequence[int],
    password: str | None,
    options: ExtractionOptions,
) -> Iterator[RawPage]:
    """Yield the pages with these 1-based numbers in their order, read by up to `options.workers` processes.

    Raises a DocumentError if the file is bad, PdfQAError if the strategy cannot work here, MemoryError if a process
    needs too much, RuntimeError if one crashes.
    """
    least = 2 if reader.heavy else MIN_PAGES
    processes = max(1, min(options.workers, len(numbers))) if len(numbers) >= least else 1
    read = partial(reader.read, path, document_id, password=password, name=options.filename or path.name)
    job = _Job(read, processes, options.memory_mb, options.page_seconds)
    if processes == 1:
        yield from job.read(numbers)
        return
    size = 1 if reader.heavy else max(1, min(_CHUNK, math.ceil(len(numbers) / (2 * processes))))
    chunks = [numbers[i : i + size] for i in range(0, len(numbers), size)]
    with _Pool(job) as pool:
        for pages in pool.read(chunks):
            yield from pages


class _Pool:
    """Processes that read chunks of pages; use it as a context."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self._processes: dict[Connection, multiprocessing.process.BaseProcess] = {}

    def __enter__(self) -> _Pool:
        # A fork shares what is loaded already and is there in a few milliseconds; PDFium is opened after it.
        context: Any = multiprocessing.get_context("fork" if LINUX else "spawn")
        for _ in range(self._job.processes):
            mine, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, self._job), daemon=True)
            process.start()
            theirs.close()
            self._processes[mine] = process
        return self

    def __exit__(self, *_: object) -> None:
        for connection, process in self._processes.items():
            if process.is_alive():
                process.kill()
            process.join()
            connection.close()

    def read(self, chunks: Sequence[Sequence[int]]) -> Iterator[list[RawPage]]:
        """Yield the pages of each chunk, in the order of the chunks."""
        waiting = deque(enumerate(chunks))
        idle = list(self._processes)
        busy: dict[Connection, int] = {}
        finished: dict[int, list[RawPage]] = {}
        for position in range(len(chunks)):
            while position not in finished:
                while idle and waiting and waiting[0][0] < position + _AHEAD * len(self._processes):
                    connection, (index, numbers) = idle.pop(), waiting.popleft()
                    self._send(connection, numbers)
                    busy[connection] = index
                for connection in cast(list[Connection], wait_for(list(busy))):
                    finished[busy.pop(connection)] = self._receive(connection)
                    idle.append(connection)
            yield finished.pop(position)

    def _send(self, connection: Connection, numbers: Sequence[int]) -> None:
        try:
            connection.send(numbers)
        except OSError as error:
            raise self._end_of(self._processes[connection]) from error

    def _receive(self, connection: Connection) -> list[RawPage]:
        try:
            answer = connection.recv()
        except (EOFError, OSError) as error:
            raise self._end_of(self._processes[connection]) from error
        if isinstance(answer, Exception):
            raise answer
        pages: list[RawPage] = answer
        return pages

    def _end_of(self, process: multiprocessing.process.BaseProcess) -> Exception:
        """Return what the end of a process means."""
        process.join(_GRACE)
        status = process.exitcode
        crowded = near_limit(peak_memory_of_ended(), self._job.memory_mb, status)
        if status == EXIT_MEMORY or (status is not None and status < 0 and crowded):
            return MemoryError()
        return CrashedError(status)


class CrashedError(RuntimeError):
    """A process that read pages ended by itself; `status` is its exit status, negative for a signal."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"a process that read pages ended with status {status}")
        self.status = status


def _work(connection: Connection, job: _Job) -> None:
    """Read the chunks that come until none comes any more."""
    global _sharing  # noqa: PLW0603 - one job in the life of this process
    _sharing = job.processes
    watch(job.memory_mb)
    while True:
        try:
            numbers = connection.recv()
        except EOFError:
            return
        connection.send(_answer(job, numbers))


def _answer(job: _Job, numbers: Sequence[int]) -> list[RawPage] | Exception:
    try:
        return list(job.read(numbers))
    except PdfQAError as error:
        return error
    except MemoryError:
        os._exit(EXIT_MEMORY)
    except (RecursionError, ArithmeticError, LookupError, ValueError, TypeError, RuntimeError, OSError) as error:
        return RuntimeError(type(error).__name__)  # which surely can be pickled
