"""Background work: the one queue of this program, those of others on one database, and what a clock does."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from pdfqa_core.errors import PdfQAError
from pdfqa_core.programs import is_gone, this_program
from pdfqa_core.storage import Store
from pdfqa_core.storage.work import LEASE, MOST_TRIES, Piece, Work
from pdfqa_core.types import Answer, Outcome
from pdfqa_core.whole_files import in_words

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


_log = logging.getLogger(__name__)

# ----------------------------------------------------------------------------------------------------
# Memory that was freed goes back to the system: glibc keeps it otherwise, some for every thread that ever worked.

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
ARROW = "ARROW_DEFAULT_MEMORY_POOL"
ARENAS = 2  # pools that all threads share; without a limit there are up to eight for each core


@cache
def _c_library() -> Any:
    """Return the C library; None on another system than Linux. musl has neither of the functions below."""
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def share_pools() -> bool:
    """Have all threads from now on take memory from ARENAS pools, and return whether that can be asked for.

    Each pool keeps what lies between pieces that are still in use. To be called before pandas is imported: Arrow, which
    keeps its strings, would have another pool for each thread beside.
    """
    os.environ.setdefault(ARROW, "system")
    limit = getattr(_c_library(), "mallopt", None)
    return bool(limit(_ARENA_MAX, ARENAS)) if limit is not None else False


def give_back() -> bool:
    """Give freed memory back, and return whether there was any to give; False too where that cannot be asked for."""
    trim = getattr(_c_library(), "malloc_trim", None)
    return bool(trim(0)) if trim is not None else False


# ----------------------------------------------------------------------------------------------------
# What the server does, in numbers: for Prometheus, in its text format. No text of anybody is in them.

# Seconds of an answer as they are shown, by the names that they have in `Answer.seconds`.
PHASES: Mapping[str, str] = {
    "rewrite": "rewrite", "retrieve": "search", "judge": "judge", "first_token": "first word", "write": "write",
    "read": "read", "check": "check", "total": "total",
}  # fmt: skip
OUTCOMES = {Outcome.ANSWER: "answered", Outcome.PERHAPS: "perhaps", Outcome.NOTHING: "refused"}
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
Numbers = Callable[[], Mapping[str, float]]


class Meters:
    """Counts answers, and asks for numbers of the moment when they are wanted. Begins with `start`, ends with `close`.

    `work` are what count what is under way and what waits, by its name; `documents` says how many there are by state.
    """

    def __init__(self, documents: Numbers) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector

        self.work: dict[str, Callable[[], float]] = {}
        self._registry = CollectorRegistry()
        self._answers = Counter("pdfqa_answers", "Answered questions.", ["outcome"], registry=self._registry)
        self._failed = Counter("pdfqa_questions_failed", "Questions without an answer.", registry=self._registry)
        self._seconds = Histogram(
            "pdfqa_answer_seconds",
            "Seconds of an answer by phase.",
            ["phase"],
            registry=self._registry,
            buckets=_SECONDS,
        )
        self._tokens = Counter(
            "pdfqa_tokens", "Tokens of prompts, and written ones.", ["kind"], registry=self._registry
        )
        self._rate = Gauge("pdfqa_tokens_per_second", "Pace of writing of the last answer.", registry=self._registry)
        self._logged = Counter(
            "pdfqa_log_records", "Warnings and errors in the log.", ["level"], registry=self._registry
        )
        for level in ("warning", "error"):
            self._logged.labels(level)
        for outcome in (*OUTCOMES.values(), "stopped"):
            self._answers.labels(outcome)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._registry.register(_OnDemand(self.work, documents))
        self._handler = _Counting(self._logged)
        self._lock = threading.Lock()
        self._begun = False

    def start(self) -> None:
        """Begin to count what is logged."""
        with self._lock:
            if not self._begun:
                logging.getLogger().addHandler(self._handler)
                self._begun = True

    def close(self) -> None:
        """End counting what is logged."""
        logging.getLogger().removeHandler(self._handler)

    def answered(self, answer: Answer) -> None:
        """Count an answer."""
        outcome = "stopped" if answer.stopped else OUTCOMES[answer.outcome]
        self._answers.labels(outcome).inc()
        for name, phase in PHASES.items():
            if name in answer.seconds:
                self._seconds.labels(phase).observe(answer.seconds[name])
        self._tokens.labels("prompt").inc(answer.prompt_tokens)
        self._tokens.labels("written").inc(answer.completion_tokens)
        writing = answer.seconds.get("write", 0.0)
        if answer.completion_tokens > 1 and writing > 0:
            self._rate.set((answer.completion_tokens - 1) / writing)

    def failed(self) -> None:
        """Count a question that could not be answered."""
        self._failed.inc()

    def text(self) -> tuple[bytes, str]:
        """Return all numbers in Prometheus's text format, and its content type. Raises StorageError."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class _OnDemand:
    """Numbers of the moment in which they are asked for."""

    def __init__(self, work: Mapping[str, Callable[[], float]], documents: Numbers) -> None:
        self._work = work
        self._documents = documents

    def describe(self) -> Iterator[Metric]:
        """Return nothing: what there is is not asked for when it is registered."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        from prometheus_client.metrics_core import GaugeMetricFamily

        work = GaugeMetricFamily("pdfqa_work", "Work under way and waiting.", labels=["kind"])
        for kind, count in self._work.items():
            work.add_metric([kind], count())
        yield work
        documents = GaugeMetricFamily("pdfqa_documents", "Documents of everybody by state.", labels=["state"])
        for state, number in self._documents().items():
            documents.add_metric([state], number)
        yield documents
        memory = GaugeMetricFamily("pdfqa_memory_bytes", "Memory of the server and its children.", labels=["process"])
        for process, number in _memory().items():
            memory.add_metric([process], number)
        yield memory


def _memory() -> dict[str, float]:
    """Return the resident memory in bytes of this process, and of those that it started."""
    own, children = psutil.Process(), 0
    for child in own.children(recursive=True):
        try:
            children += child.memory_info().rss
        except psutil.Error:  # ended meanwhile
            continue
    return {"server": own.memory_info().rss, "children": children}


class _Counting(logging.Handler):
    """Counts warnings and errors."""

    def __init__(self, counter: Any) -> None:
        super().__init__(logging.WARNING)
        self._counter = counter

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self._counter.labels("error" if record.levelno >= logging.ERROR else "warning").inc()


# ----------------------------------------------------------------------------------------------------
# What is done by a clock while the program serves: visitors who left, temporary files.

EVERY = 300.0  # seconds between two rounds


class Housekeeping:
    """Calls its `chores` every few minutes in a thread of its own, from `start` to `close`; one that fails is logged.

    `last` comes after all others.
    """

    def __init__(
        self, *chores: Callable[[], object], last: Callable[[], object] = give_back, every: float = EVERY
    ) -> None:
        self.chores, self._last = list(chores), last
        self._every = every
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self, *more: Callable[[], object]) -> None:
        """Begin, at once with the first round."""
        self.chores += more
        self._thread.start()

    def close(self) -> None:
        """End it; a chore under way ends by itself."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            for chore in (*self.chores, self._last):
                try:
                    chore()
                except Exception as error:  # noqa: BLE001 - the next round tries again
                    _log.warning("what is done by the clock failed: %s", error)
            self._closing.wait(self._every)


# ----------------------------------------------------------------------------------------------------
# One of several programs on one database: it holds its pieces of work, and takes up what others left.
#
# A program that ends lets its pieces go. Of one that was killed the others know at once on the same computer, and on
# another one when its claims run out.

RENEWED = LEASE / 6  # seconds between two renewals


class Workers:
    """Renews the claims of this program and claims what is free, in a thread of its own.

    For each kind of work somebody registers how it is taken up, how it is stopped when another program has it, and
    whether there is room for more at this moment.
    """

    def __init__(self, work: Work, name: str = "", every: float = RENEWED) -> None:
        self.name = name or this_program()
        self._work = work
        self.every = every
        self._kinds: dict[str, tuple[Callable[[Piece], None], Callable[[str], None], Callable[[], bool]]] = {}
        self._mine: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._takes = False

    def register(
        self, kind: str, take: Callable[[Piece], None], lost: Callable[[str], None], room: Callable[[], bool]
    ) -> None:
        """Say who does work of a kind. `lost` is told the id of a piece that is not this program's any more."""
        self._kinds[kind] = (take, lost, room)

    # ------------------------------------------------------------ pieces of this program

    def begin(self, piece: Piece) -> None:
        """Note that this program begins with a piece. Raises ConflictError if it is under way, and StorageError."""
        self._work.add(piece, self.name)
        self._hold(piece.id)

    def change(self, piece_id: str, content: str) -> bool:
        """Note what is left of a piece; False if another program has it."""
        return self._work.change(piece_id, self.name, content)

    def finish(self, piece_id: str) -> None:
        """Note that a piece is done."""
        self._let_go(piece_id)
        self._work.finish(piece_id, self.name)

    def release(self, piece_id: str) -> None:
        """Leave a piece to another program."""
        self._let_go(piece_id)
        self._work.release(piece_id, self.name)

    def drop(self, piece_id: str) -> None:
        """End a piece whichever program works on it."""
        self._let_go(piece_id)
        self._work.drop(piece_id)

    def elsewhere(self, kind: str) -> frozenset[str]:
        """Return the ids of the pieces of a kind that other programs work on."""
        with self._lock:
            return self._work.claimed(kind) - self._mine

    # ------------------------------------------------------------ the clock

    def take_up(self) -> None:
        """Take up what is free now, and from now on whatever becomes free."""
        self._takes = True
        self._claim_free()
        self._start()

    def close(self) -> None:
        """End the clock; the pieces of this program are not renewed any more."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(self.every + 1)

    def _hold(self, piece_id: str) -> None:
        with self._lock:
            self._mine.add(piece_id)
        self._start()

    def _let_go(self, piece_id: str) -> None:
        with self._lock:
            self._mine.discard(piece_id)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="workers", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self.every):
            try:
                self._renew()
                if self._takes:
                    self._claim_free()
            except PdfQAError as error:
                _log.warning("claims on work were not renewed: %s", error)

    def _renew(self) -> None:
        with self._lock:
            before = set(self._mine)
        if not before:
            return
        held = self._work.renew(self.name)
        for piece_id in before - held:
            with self._lock:
                if piece_id not in self._mine:  # finished meanwhile
                    continue
                self._mine.discard(piece_id)
            for _, lost, _ in self._kinds.values():
                lost(piece_id)

    def _claim_free(self) -> None:
        while not self._closing.is_set():
            kinds = [kind for kind, (_, _, room) in self._kinds.items() if room()]
            piece = self._work.claim(kinds, self.name) if kinds else None
            if piece is None:
                return
            if piece.tries > MOST_TRIES:
                _log.warning("work of the kind %s ended %d programs and is given up", piece.kind, MOST_TRIES)
                self._work.finish(piece.id, self.name)
                continue
            self._hold(piece.id)
            self._kinds[piece.kind][0](piece)


# ----------------------------------------------------------------------------------------------------
# Work of this program: what is stopped from elsewhere by its name, and what goes on whether or not a page looks on.

PATIENCE = 10.0  # seconds that the end of the program waits until what is done is stored


class Job:
    """Background work about a subject (a conversation, a document), with all that has happened so far.

    `title` is how the subject is called, such as the question of an answer. Several pages may look on at once: one that
    is loaded again finds it going on.
    """

    def __init__(self, kind: str, owner: str, subject: str = "", title: str = "", *, name: str = "") -> None:
        self.kind, self.owner, self.subject, self.title = kind, owner, subject, title
        self.name = name or job_name(kind, owner, subject)
        self.stop = threading.Event()
        self.error: Exception | None = None
        self._so_far: list[Any] = []
        self._ended = False
        self._watching: set[str] = set()
        self._changed = threading.Condition()

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        with self._changed:
            return self._ended

    @property
    def so_far(self) -> tuple[Any, ...]:
        """What has happened until now."""
        with self._changed:
            return tuple(self._so_far)

    def events(self) -> Iterator[Any]:
        """Yield what has happened, then what happens. Raises what ended it."""
        seen = 0
        while new := self._after(seen):
            yield from new
            seen += len(new)

    def _after(self, seen: int) -> list[Any]:
        """Wait for what comes after so many events and return it, nothing at the end. Raises what ended it."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._so_far) > seen or self._ended)
            new = self._so_far[seen:]
            if not new and self.error is not None:
                raise self.error
            return new

    def watch(self, page: str) -> bool:
        """Note that a page looks on; False if it does already."""
        with self._changed:
            known = page in self._watching
            self._watching.add(page)
            return not known

    def leave(self, page: str) -> None:
        """Note that a page no longer looks on."""
        with self._changed:
            self._watching.discard(page)

    def take(self, event: Any, *, last: bool = False) -> None:
        """Note what has happened; after the last event nothing more will."""
        with self._changed:
            self._so_far.append(event)
            self._ended = self._ended or last
            self._changed.notify_all()

    def end(self, error: Exception | None = None) -> None:
        """Note that nothing more will happen."""
        with self._changed:
            self._ended, self.error = True, error
            self._changed.notify_all()


AnyJob = TypeVar("AnyJob", bound=Job)


def foreseen(error: Exception, what: str) -> PdfQAError:
    """Return the error to show for one that ended work in the background; one that nobody foresaw is logged."""
    told = in_words(error)
    if isinstance(told, PdfQAError):
        return told
    _log.error("%s ended unexpectedly", what, exc_info=error)
    return PdfQAError(f"Something unexpected happened ({type(error).__name__}).", "The program's log says more.")


def job_name(kind: str, owner: str, subject: str = "") -> str:
    """Return the name by which a job is found and stopped."""
    return f"{kind} {owner} {subject}"


class Tasks:
    """The tasks under way, in the thread of whoever asked (`start`) or in the background (`begin`), by their names.

    Safe to use from several threads and from a signal handler.
    """

    def __init__(self, store: Store) -> None:
        self.workers = Workers(Work(store.database, is_gone))
        self.housekeeping = Housekeeping()
        self.meters = Meters(store.documents.counts)
        self.closing = threading.Event()
        self._stops: dict[str, threading.Event] = {}
        self._jobs: dict[str, tuple[Job, threading.Thread]] = {}
        self._lines: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.RLock()  # a signal handler may interrupt its own thread inside it

    @contextmanager
    def start(self, name: str = "") -> Iterator[threading.Event]:
        """Give the stop signal of a task; it is set at the end too, so that nothing goes on which the task left behind.

        A job in the background that starts the task of its own name is stopped by the same signal, also before. Raises
        PdfQAError if a task of this name is under way; tasks without a name never meet.
        """
        key = name or uuid.uuid4().hex
        with self._lock:
            if key in self._stops:
                raise PdfQAError("This page is still busy with the last request.", "Wait for it, or press Stop.")
            self._stops[key] = stop = self._jobs[key][0].stop if key in self._jobs else threading.Event()
        try:
            yield stop
        finally:
            stop.set()
            with self._lock:
                self._stops.pop(key, None)

    def stop(self, name: str) -> None:
        """Stop the task with this name, none where there is no such task."""
        with self._lock:
            if stop := self._stops.get(name):
                stop.set()
            if name in self._jobs:
                self._jobs[name][0].stop.set()

    def running(self, name: str) -> bool:
        """Whether a task with this name is under way."""
        with self._lock:
            return name in self._stops

    def stop_all(self) -> None:
        """Stop every task."""
        with self._lock:
            for stop in (*self._stops.values(), *(job.stop for job, _ in self._jobs.values())):
                stop.set()

    # ------------------------------------------------------------ in the background

    def begin(
        self, job: AnyJob, work: Callable[[], None], busy: tuple[str, str] = ("", ""), *, line: str = ""
    ) -> AnyJob:
        """Do `work` in a thread of its own, after what was begun on the same line; what it raises ends the job.

        Raises PdfQAError of `busy`, what happened and what to do, if a job of this name is under way.
        """

        def run() -> None:
            error: Exception | None = None
            try:
                with turn:
                    work()
            except Exception as raised:  # noqa: BLE001 - raised again in the threads that look on
                error = raised
            finally:
                with self._lock:
                    if self._jobs.get(job.name, (None, None))[0] is job:  # no other one has begun since
                        self._jobs.pop(job.name)
                job.end(error)

        thread = threading.Thread(target=run, name=job.kind, daemon=True)
        with self._lock:
            turn: AbstractContextManager[Any] = self._lines[line] if line else nullcontext()
            if any(busy) and job.name in self._jobs:
                raise PdfQAError(*busy)
            self._jobs[job.name] = (job, thread)
        thread.start()
        return job

    def job(self, name: str) -> Job | None:
        """Return the job of this name that is under way, None where there is none."""
        with self._lock:
            job = self._jobs[name][0] if name in self._jobs else None
        return job if job is not None and not job.ended else None

    def count(self, kind: str) -> int:
        """Return how many jobs of a kind are under way."""
        with self._lock:
            return sum(job.kind == kind for job, _ in self._jobs.values())

    def end_jobs(self) -> None:
        """Stop the jobs, and wait until what they have done is stored."""
        with self._lock:
            ending = list(self._jobs.values())
        for job, _ in ending:
            self.stop(job.name)
        for _, thread in ending:
            thread.join(PATIENCE)

    def close(self) -> None:
        """Stop what runs, and wait until what is done is stored."""
        self.housekeeping.close()
        self.meters.close()
        self.closing.set()
        self.stop_all()
        self.end_jobs()
        self.workers.close()
