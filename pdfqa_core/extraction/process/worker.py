"""Reads a PDF in a child process, so that a hostile file can neither crash, hang nor fill the program.

Whatever happens in the child, the file ends in exactly one `DocumentState` with a reason in plain words.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, cast

from pdfqa_core.errors import DocumentError, PdfQAError, StoppedError, StorageError
from pdfqa_core.extraction.base import ExtractionOptions, PageReader, extractors
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process.children import PAGE, Child, Frame
from pdfqa_core.extraction.process.limits import (
    EXIT_MEMORY,
    EXIT_SLOW,
    LINUX,
    SIGXCPU,
    more_cpu,
    near_limit,
    peak_memory,
    peak_memory_of_ended,
    watch,
)
from pdfqa_core.extraction.raw_page import IS_EMPTY, OCR_FOUND_NOTHING, RawPage
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.json_codec import decode_page
from pdfqa_core.types import READABLE, BlockKind, DocumentState, Page, Progress

# ----------------------------------------------------------------------------------------------------
# The pages of one document, read by several processes side by side.
#
# This runs in the child process that the document has anyway: all of it is equally untrusted, so that results may be
# pickled. A pool of its own, since each of its processes has the limits of the child and may die of the document:
# the exit status must tell why, and nothing (semaphores, temporary folders) may stay behind when all of them are
# killed.

MIN_PAGES = 64
"""Pages of a light strategy from which two processes are faster than one (docs/experiments.md).

Starting them costs 0.06 s of CPU time, which 64 pages of text win back where a core is free.
"""

_CHUNK = 24  # pages of a light strategy that a process is given at a time; opening the file again costs
_AHEAD = 3  # chunks per process that may wait for an earlier page
_POOL_GRACE = 2.0  # seconds that a process may take to end by itself

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
        process.join(_POOL_GRACE)
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


# ----------------------------------------------------------------------------------------------------
# How many processes may read PDFs at the same time: first come, first served, and none may hold up the others.
#
# Of those who wait, the one whose owner has the fewest places is next.

_POLL = 0.1  # seconds between looks at the stop signal


class Slots:
    """`count` places for reading processes, shared by all threads; one owner has at most `each` of them at a time."""

    def __init__(self, count: int, each: int = 0) -> None:
        self.count = count
        self.each = each or count
        self._free = count
        self._used: Counter[str] = Counter()  # by owner
        self._queue: list[tuple[str, object]] = []
        self._changed = threading.Condition()

    @property
    def free(self) -> bool:
        """Whether nobody has to wait now."""
        return self._free > 0 and not self._queue

    @contextmanager
    def take(self, at_most: int = 1, stop: StopSignal | None = None, owner: str = "") -> Iterator[int]:
        """Wait for a place and give how many were taken: up to `at_most`, but those who wait behind get one each.

        Raises StoppedError when `stop` is set meanwhile.
        """
        taken = self._wait(max(1, at_most), stop, owner)
        try:
            yield taken
        finally:
            with self._changed:
                self._free += taken
                self._used[owner] -= taken
                if not self._used[owner]:
                    del self._used[owner]
                self._changed.notify_all()

    def _wait(self, at_most: int, stop: StopSignal | None, owner: str) -> int:
        me = (owner, object())
        with self._changed:
            self._queue.append(me)
            try:
                while not self._free or self._next() is not me:
                    if stop is not None and stop.is_set():
                        raise StoppedError("Reading was stopped.")
                    self._changed.wait(_POLL)
                behind = len(self._may_go()) - 1
                taken = max(1, min(at_most, self._free - behind, self.each - self._used[owner]))
                self._free -= taken
                self._used[owner] += taken
                return taken
            finally:
                self._queue.remove(me)
                self._changed.notify_all()

    def _may_go(self) -> list[tuple[str, object]]:
        """Return those who wait and whose owner has not all the places that one may have."""
        return [one for one in self._queue if self._used[one[0]] < self.each]

    def _next(self) -> tuple[str, object] | None:
        return min(self._may_go(), key=lambda one: self._used[one[0]], default=None)


# ----------------------------------------------------------------------------------------------------
# Reads a PDF in a child process, so that a hostile file can neither crash, hang nor fill the program.

_log = logging.getLogger(__name__)

_GRACE = 2.0  # seconds that a child may take to end by itself after its last frame
_SLACK = 4  # times the character limit: tables as Markdown have more characters than were read
_LONGEST = 1000  # characters of a title or a reason
_LISTED = 12  # page numbers named in a reason


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take."""

    max_file_mb: int = 100
    max_pages: int = 2000
    max_characters: int = 20_000_000
    memory_mb: int = 1500  # of each process
    seconds: float = 300
    page_seconds: float = 60  # more for each page that is read by OCR
    most_seconds: float = math.inf  # in all, whatever is read by OCR


@dataclass(frozen=True, slots=True)
class ReadResult:
    """How reading ended. `pages` is empty unless the state is usable; `pages_without_text` are 1-based numbers."""

    state: DocumentState
    reason: str
    title: str
    page_count: int = 0
    pages: tuple[Page, ...] = ()
    pages_without_text: tuple[int, ...] = ()
    authors: str = ""


@dataclass(slots=True)
class _Received:
    """What has come from the child so far."""

    pages: list[Page] = field(default_factory=list)
    characters: int = 0
    by_ocr: int = 0  # pages
    title: str | None = None
    authors: str = ""
    failure: PdfQAError | None = None
    peak: int = 0  # memory of the child in bytes


def read_document(
    path: Path,
    document_id: str,
    *,
    filename: str = "",
    extractor: str = "direct",
    tables: bool = True,
    visual_pages: str = "auto",
    numbers: Sequence[int] = (),
    workers: int = 1,
    password: str | None = None,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: StopSignal | None = None,
) -> ReadResult:
    """Return the pages of a PDF, or why there are none; `filename` is what reasons call the file.

    Up to `workers` processes share its pages; `tables` is as in `ExtractionOptions`, `visual_pages` is for extractors
    that have this parameter. With 1-based `numbers` only these pages are read. The password goes to the child through a
    pipe and is kept nowhere.

    Raises StoppedError within 2 s after `stop` is set, UsageError for an unknown extractor, PdfQAError where the
    extractor cannot work on this machine; never for a bad PDF.
    """
    module = extractors.get(extractor).__module__  # where the child finds it, whoever wrote it
    limits = limits or Limits()
    name = filename or path.name
    title = Path(name).stem
    try:
        check_file(path, name, limits.max_file_mb * 1_000_000)
        options = ExtractionOptions(
            limits.max_pages,
            limits.max_characters,
            name,
            None,
            tables,
            workers,
            limits.memory_mb,
            limits.page_seconds,
            tuple(sorted(set(numbers))),
        )
        job = {
            "path": str(path.resolve()),
            "document_id": document_id,
            "extractor": extractor,
            "module": module,
            "password": password,
            "seconds": int(limits.seconds) + 1,
            "options": asdict(options),
            "parameters": extractors.accepted(extractor, {"visual_pages": visual_pages}),
        }
        received = _run_child(job, name, limits, on_progress, stop)
    except DocumentError as error:
        return ReadResult(error.state, str(error), title)
    return replace(outcome(received.pages, name, received.title or title), authors=received.authors)


def _run_child(
    job: dict[str, Any],
    name: str,
    limits: Limits,
    on_progress: Callable[[Progress], None] | None,
    stop: StopSignal | None,
) -> _Received:
    """Return what the child sent. Raises a DocumentError with the state that its end means."""
    began = time.monotonic()
    child = Child("pdfqa_core.extraction.process.worker_child", limits.memory_mb)
    received = _Received()
    try:
        try:
            child.send(**job)
        except OSError as error:
            raise crashed(name) from error
        while True:
            if stop is not None and stop.is_set():
                raise StoppedError(f"Reading {name} was stopped.")
            allowed = min(limits.seconds + limits.page_seconds * received.by_ocr, limits.most_seconds)
            left = began + allowed - time.monotonic()
            if left < 0:
                raise _too_slow(name, limits)
            received.peak = max(received.peak, peak_memory(child.process_id))
            try:
                frame = child.receive(min(_POLL, max(0.01, left)))
            except queue.Empty:
                continue
            if frame is None:
                break
            _take(frame, received, name, limits, on_progress)
        _check_end(child, received, name, limits)
    finally:
        child.end()
    return received


def _take(
    frame: Frame, received: _Received, name: str, limits: Limits, on_progress: Callable[[Progress], None] | None
) -> None:
    """Keep what a frame says. A child that a file has taken over may send anything: what is kept stays small."""
    try:
        if frame.kind == PAGE:
            page = decode_page(frame.body)
            received.characters += len(page.text)
            if len(received.pages) >= limits.max_pages or received.characters > _SLACK * limits.max_characters:
                raise crashed(name)
            received.pages.append(page)
            return
        message = frame.json()
        if "total" in message:
            done, total = int(message["done"]), int(message["total"])
            received.by_ocr = min(int(message["ocr"]), limits.max_pages)
            if on_progress is not None:
                on_progress(Progress(f"Reading {name}", done, total))
        elif "title" in message:
            received.title = str(message["title"])[:_LONGEST]
            received.authors = str(message["authors"])[:_LONGEST]
        else:
            error = frame.error()
            if not error.what:
                _log.info("the process that read %s failed: %s", name, error.hint)
            received.failure = error if error.what else crashed(name)
    except (ValueError, KeyError, TypeError, StorageError) as error:
        raise crashed(name) from error


def _check_end(child: Child, received: _Received, name: str, limits: Limits) -> None:
    """Raise what the end of the child means, unless it finished its work."""
    if received.failure is not None and not child.exceeded:
        raise received.failure
    if received.title is not None:
        return
    status, peak = child.wait(_GRACE)
    peak = max(peak, received.peak)
    slow = status in (EXIT_SLOW, -SIGXCPU)
    crowded = bool(status) and not slow and near_limit(peak, limits.memory_mb, status)
    if child.exceeded or status == EXIT_MEMORY or crowded:
        raise DocumentError(
            DocumentState.TOO_LARGE,
            f"{name} needs more than {limits.memory_mb:,} MB of memory to read.",
            "Split it, or raise memory_mb in the settings.",
        )
    raise _too_slow(name, limits) if slow else crashed(name)


def _too_slow(name: str, limits: Limits) -> DocumentError:
    return DocumentError(
        DocumentState.TOO_SLOW,
        f"{name} could not be read within {min(limits.seconds, limits.most_seconds):.3g} seconds.",
        "Split it, or raise seconds in the settings.",
    )


def crashed(name: str) -> DocumentError:
    """Return the error that says that a PDF ended the process which read it."""
    return DocumentError(
        DocumentState.BROKEN,
        f"{name} is damaged: reading it failed.",
        "Open it in a PDF viewer and print it to a new PDF, then add that.",
    )


def _has_text(page: Page) -> bool:
    return any(b.kind in READABLE and any(c.isalnum() for c in page.text[b.start : b.end]) for b in page.blocks)


def _is_blank(page: Page) -> bool:
    """Whether nothing is drawn on a page: there is nothing that could be found."""
    return not page.text and any(warning.endswith(IS_EMPTY) for warning in page.warnings)


def _is_picture(page: Page) -> bool:
    """Whether OCR found that a page holds no text: nothing of it is missing."""
    return page.source == "ocr" and any(warning.endswith(OCR_FOUND_NOTHING) for warning in page.warnings)


def outcome(pages: Sequence[Page], name: str, title: str) -> ReadResult:
    """Return how reading these pages of a file ended; `name` is what the reason calls the file."""
    pages = tuple(pages)
    if not pages:
        return ReadResult(
            DocumentState.BROKEN, f"{name} has no pages. Download it again, or print it to a new PDF.", Path(name).stem
        )
    stem = Path(name).stem
    with_text = {page.number for page in pages if _has_text(page)}
    without = tuple(page.number for page in pages if page.number not in with_text and not _is_blank(page))
    if with_text:
        without = tuple(page.number for page in pages if page.number in without and not _is_picture(page))
        if not without:
            return ReadResult(DocumentState.READY, "", title, len(pages), pages)
        count = "1 page" if len(without) == 1 else f"{len(without)} pages"
        listed = ", ".join(map(str, without[:_LISTED])) + (", …" if len(without) > _LISTED else "")
        reason = (
            f"{count} without text: {listed}. What {'it shows' if len(without) == 1 else 'they show'} is not found."
        )
        return ReadResult(DocumentState.PARTIAL, reason, title, len(pages), pages, without)
    if all(any("damaged" in w or "could not be read" in w for w in page.warnings) for page in pages):
        reason = f"{name} is damaged: none of its {len(pages)} pages can be read. Download it again."
        return ReadResult(DocumentState.BROKEN, reason, stem, len(pages), (), without)
    if not without:
        reason = f"{name} has no text: its pages are empty. Check that it is the right file."
    elif any(block.kind is BlockKind.HIDDEN for page in pages for block in page.blocks):
        reason = (
            f"{name} has no text that can be seen: what it holds is white, invisible, covered or off the page. "
            "Read its pictures with OCR (extractor “visual”)."
        )
    elif any(page.source == "ocr" for page in pages):
        reason = f"{name} has no text, and OCR found none in its pictures. Scan it again, upright and at 300 dpi."
    else:
        reason = (
            f"{name} has no text: its pages are pictures (a scan?) or empty. "
            "Read it again with OCR (extractor “visual”)."
        )
    return ReadResult(DocumentState.NO_TEXT, reason, title, len(pages), (), without)
