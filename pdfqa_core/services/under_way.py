"""What is written whether or not a page looks on: a page that is loaded again finds it going on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.types import Event, Stored

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
