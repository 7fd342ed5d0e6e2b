"""The meaning of new passages, read in the background while no answer is written.

The documents that are asked about come first. Nothing depends on it: what is missing is made when it is needed. What it
has made lies on disk, so that it goes on where it was when the page is loaded again or the program starts again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.services.tasks import PATIENCE, Job, Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.streaming import EitherStop, TimeLeft
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    from pdfqa_core.services.indexes import IndexService

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preparing:
    """How far the meaning of a document is read: passages done and in all, seconds left where they can be told.

    `stopped`: a person stopped it; a question is then answered by words alone for the rest.
    """

    done: int
    total: int
    seconds_left: float | None = None
    stopped: bool = False


class Preparation:
    """Encodes the passages of each owner's documents, one document at a time, and opens the index when all are done."""

    def __init__(self, indexes: IndexService, tasks: Tasks) -> None:
        self._indexes = indexes
        self._tasks = tasks
        self._changed = threading.Condition()
        self._wanted: dict[str, Settings] = {}  # by owner, who came first at the front
        self._first: dict[str, tuple[str, ...]] = {}  # by owner, the documents asked about, the latest first
        self._states: dict[str, dict[str, Preparing]] = {}  # by owner and document
        self._stopped: set[tuple[str, str]] = set()
        self._answering = 0
        self._working = False
        self._interrupt = threading.Event()  # of the document in work
        self._current = ("", "")

    # ------------------------------------------------------------ what is wanted

    def want(self, owner: str, settings: Settings, first: Sequence[str] = ()) -> None:
        """Have all documents of an owner prepared for a recipe, these first. Returns at once."""
        if not owner or not self._indexes.needs_embeddings(settings):
            return
        with self._changed:
            self._wanted[owner] = settings
            self._put_first(owner, first)
            if not self._working and not self._tasks.closing.is_set():
                self._working = True
                self._tasks.begin(Job("preparation", ""), self._work)

    def _put_first(self, owner: str, documents: Sequence[str]) -> None:
        self._first[owner] = tuple(dict.fromkeys((*documents, *self._first.get(owner, ()))))
        working, document = self._current
        if documents and working == owner and document not in documents:
            self._interrupt.set()  # what is done of it is kept

    def stop(self, owner: str, document_id: str) -> None:
        """Stop reading the meaning of a document until `go_on`, or until the program starts again."""
        with self._changed:
            self._stopped.add((owner, document_id))
            if self._current == (owner, document_id):
                self._interrupt.set()

    def go_on(self, owner: str, document_id: str, settings: Settings) -> None:
        """Go on with a document that was stopped."""
        with self._changed:
            self._stopped.discard((owner, document_id))
        self.want(owner, settings, (document_id,))

    def forget(self, owner: str, document_id: str) -> bool:
        """Keep nothing of a removed document; return whether its meaning was being read, which is over then."""
        with self._changed:
            self._stopped.discard((owner, document_id))
            self._states.get(owner, {}).pop(document_id, None)
            if self._current != (owner, document_id):
                return False
            self._interrupt.set()
            self._changed.wait_for(lambda: self._current != (owner, document_id), timeout=PATIENCE)
            return True

    def forget_owner(self, owner: str) -> None:
        """Keep nothing of a removed visitor, also if the meaning of a document of theirs is being read."""
        with self._changed:
            self._wanted.pop(owner, None)
            self._first.pop(owner, None)
            self._states.pop(owner, None)
            self._stopped = {key for key in self._stopped if key[0] != owner}
            if self._current[0] == owner:
                self._interrupt.set()
                self._changed.wait_for(lambda: self._current[0] != owner, timeout=PATIENCE)

    def states(self, owner: str) -> dict[str, Preparing]:
        """Return how far each of the owner's documents is that is not ready yet."""
        with self._changed:
            return dict(self._states.get(owner, {}))

    @contextmanager
    def answering(self, owner: str, document_ids: Sequence[str] = ()) -> Iterator[None]:
        """Let the processor work for an answer alone; the documents that are asked about come first afterwards."""
        with self._changed:
            self._answering += 1
            if document_ids:
                self._put_first(owner, document_ids)
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()

    # ------------------------------------------------------------ the work

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._wanted or self._tasks.closing.is_set():
                    self._working = False
                    return
                owner, settings = next(iter(self._wanted.items()))
            try:
                self._prepare(owner, settings)
            except StoppedError:
                continue  # another document goes first, or the program ends
            except PdfQAError as error:
                self._give_up(owner, settings, error)
            except Exception as error:  # noqa: BLE001 - the thread must live; whoever needs the index meets the same error
                _log.exception("preparing the documents of %s failed", owner)
                self._give_up(owner, settings, error)

    def _give_up(self, owner: str, settings: Settings, error: Exception) -> None:
        _log.warning("the meaning of passages is not read in the background: %s", error)
        self._done(owner, settings)

    def _done(self, owner: str, settings: Settings) -> None:
        with self._changed:
            if self._wanted.get(owner) is settings:
                self._wanted.pop(owner)
            if owner in self._states:  # not removed meanwhile
                self._states[owner] = {key: one for key, one in self._states[owner].items() if one.stopped}

    def _prepare(self, owner: str, settings: Settings) -> None:
        """Prepare the next document of an owner, or open the index when there is none left."""
        waiting = self._indexes.waiting(owner, settings)
        with self._changed:
            if owner not in self._wanted:  # removed meanwhile
                return
            before = self._states.get(owner, {})
            self._states[owner] = {
                document: Preparing(total - missing, total, None, (owner, document) in self._stopped)
                for document, (missing, total) in waiting.items()
            }
            self._estimate(owner, before)
            order = [i for i in self._first.get(owner, ()) if i in waiting]
            order += [i for i in reversed(waiting) if i not in order]
            todo = [i for i in order if (owner, i) not in self._stopped]
            self._interrupt = interrupt = threading.Event()
            self._current = (owner, todo[0]) if todo else ("", "")
            began = self._states[owner][todo[0]] if todo else Preparing(0, 0)
        if not todo:
            if not waiting:
                for _ in self._indexes.opened(owner, settings, self._tasks.closing):
                    pass
            self._done(owner, settings)
            return
        left = TimeLeft([1])
        left.begin()

        def report(step: Progress) -> None:
            self._wait_for_answers(interrupt)
            left.step(0, step.done - began.done, step.total - began.done)
            with self._changed:
                if owner in self._states:  # not removed meanwhile
                    self._states[owner][todo[0]] = Preparing(
                        step.done, step.total, left.seconds() or began.seconds_left
                    )

        try:
            self._indexes.encode(owner, settings, todo[0], report, EitherStop(interrupt, self._tasks.closing))
        finally:
            with self._changed:
                self._current = ("", "")
                self._changed.notify_all()

    def _estimate(self, owner: str, before: dict[str, Preparing]) -> None:
        """Fill in the seconds left of documents that wait, by the speed that was seen."""
        for document, state in self._states[owner].items():
            seconds = (state.total - state.done) / self._indexes.rate
            kept = before.get(document)
            known = kept.seconds_left if kept is not None and kept.done == state.done else None
            self._states[owner][document] = Preparing(state.done, state.total, known or seconds, state.stopped)

    def _wait_for_answers(self, interrupt: threading.Event) -> None:
        with self._changed:
            while self._answering and not self._tasks.closing.is_set() and not interrupt.is_set():
                self._changed.wait(timeout=1.0)
