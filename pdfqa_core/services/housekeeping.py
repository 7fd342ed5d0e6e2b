"""What is done by a clock while the program serves, and what it does in numbers."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import psutil

from pdfqa_core.types import Answer, Outcome

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


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

EVERY = 300.0  # seconds
_log = logging.getLogger(__name__)


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
