"""What is written whether or not a page looks on: a page that is loaded again finds it going on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import psutil

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.types import Answer, Event, Outcome, Stored

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


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

    `now` gives what is under way and what waits, `documents` how many there are by state.
    """

    def __init__(self, now: Numbers, documents: Numbers) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector

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
        self._registry.register(_OnDemand(now, documents))
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

    def __init__(self, now: Numbers, documents: Numbers) -> None:
        self._now = now
        self._documents = documents

    def describe(self) -> Iterator[Metric]:
        """Return nothing: what there is is not asked for when it is registered."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        from prometheus_client.metrics_core import GaugeMetricFamily

        work = GaugeMetricFamily("pdfqa_work", "Work under way and waiting.", labels=["kind"])
        for kind, number in self._now().items():
            work.add_metric([kind], number)
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
# What is written whether or not a page looks on: a page that is loaded again finds it going on.

PATIENCE = 10.0  # seconds that the end of the program waits until what is written is stored


class Written:
    """An answer that is being written about a subject (a conversation, a document), with all that has happened so far.

    Several pages may look on at once.
    """

    def __init__(self, owner: str, subject: str, question: str) -> None:
        self.owner = owner
        self.subject = subject
        self.question = question
        self._so_far: list[Event] = []
        self._ended = False
        self._error: BaseException | None = None
        self._watching: set[str] = set()
        self._changed = threading.Condition()

    @property
    def ended(self) -> bool:
        """Whether the answer is stored, or failed."""
        with self._changed:
            return self._ended

    @property
    def so_far(self) -> tuple[Event, ...]:
        """What has happened until now."""
        with self._changed:
            return tuple(self._so_far)

    def events(self) -> Iterator[Event]:
        """Yield what has happened, then what happens, Stored at last. Raises what ended it."""
        seen = 0
        while new := self._after(seen):
            yield from new
            seen += len(new)

    def _after(self, seen: int) -> list[Event]:
        """Wait for what comes after so many events and return it, nothing at the end. Raises what ended it."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._so_far) > seen or self._ended)
            new = self._so_far[seen:]
            if not new and self._error is not None:
                raise self._error
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

    def take(self, event: Event) -> None:
        """Note what has happened."""
        with self._changed:
            self._so_far.append(event)
            self._ended = self._ended or isinstance(event, Stored)
            self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Note that nothing more will happen."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()


class UnderWay:
    """What is being written, each in a thread of its own, at most one for an owner and a subject.

    `kind` names it in the tasks, `busy` is the error of whoever begins it a second time.
    """

    def __init__(self, kind: str, busy: str, hint: str, tasks: Tasks) -> None:
        self._kind = kind
        self._busy = busy
        self._hint = hint
        self._tasks = tasks
        self._threads: dict[tuple[str, str], tuple[Written, threading.Thread]] = {}
        self._lock = threading.Lock()

    def task(self, owner: str, subject: str) -> str:
        """Return the name by which `Tasks` knows it."""
        return f"{self._kind} {owner} {subject}"

    def start(self, written: Written, write: Callable[[], None], failed: Callable[[], None] = lambda: None) -> None:
        """Begin `write`, which gives `written` what happens; `failed` is called where it raises.

        Raises PdfQAError if there is one under way already.
        """
        key = (written.owner, written.subject)

        def work() -> None:
            error: BaseException | None = None
            try:
                write()
            except BaseException as raised:  # noqa: BLE001 - raised again in the threads that look on
                error = raised
            try:
                if error is not None:
                    failed()
            finally:
                with self._lock:
                    self._threads.pop(key, None)
                written.end(error)

        thread = threading.Thread(target=work, name=self._kind, daemon=True)
        with self._lock:
            if key in self._threads:
                raise PdfQAError(self._busy, self._hint)
            self._threads[key] = (written, thread)
        thread.start()

    @property
    def count(self) -> int:
        """How much is being written."""
        with self._lock:
            return len(self._threads)

    def of(self, owner: str, subject: str) -> Written | None:
        """Return what is being written, None where there is nothing."""
        with self._lock:
            written, _ = self._threads.get((owner, subject), (None, None))
        return written if written is not None and not written.ended else None

    def check_free(self, owner: str, subject: str) -> None:
        """Raise PdfQAError if something is being written."""
        if self.of(owner, subject) is not None:
            raise PdfQAError(self._busy, self._hint)

    def stop(self, owner: str, subject: str) -> None:
        """Stop it; what is written is stored. Nothing happens where nothing is under way."""
        with self._lock:
            known = (owner, subject) in self._threads
        if known:
            self._tasks.stop(self.task(owner, subject))

    def close(self) -> None:
        """Stop all, and wait until what is written is stored."""
        with self._lock:
            under_way = dict(self._threads)
        for key in under_way:
            self.stop(*key)
        for _, thread in under_way.values():
            thread.join(PATIENCE)
