"""Runs under way, each in a thread of its own: one goes on whether or not a page looks on.

Each is claimed in the database: no other program on it begins with the same run, and if this one is killed, another one
goes on (see `Workers`).
"""

from __future__ import annotations

import json
import logging
import threading

from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.evaluation_types import Run
from pdfqa_core.services.runs import WORK as KIND
from pdfqa_core.services.runs import RunRequest, RunService, task_of
from pdfqa_core.services.tasks import Job, Tasks
from pdfqa_core.storage.work import Piece
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import in_words

_log = logging.getLogger(__name__)


class Running:
    """The runs under way, one at a time for all owners: they share the language model."""

    def __init__(self, runs: RunService, tasks: Tasks, *, demo: bool = False) -> None:
        self._runs = runs
        self._tasks = tasks
        self._workers = tasks.workers
        self._demo = demo
        self._workers.register(KIND, self._take, runs.stop, lambda: not demo and not self._busy())
        self._lock = threading.Lock()
        self._run: tuple[str, str] = ("", "")  # owner, run
        self._progress: Progress | None = None
        self._ended: dict[str, str] = {}  # what ended a run, by its id; "" where it was finished

    def start(self, owner: str, run_id: str, *, retry: bool = False) -> None:
        """Go on with a run. Raises PdfQAError while another one is under way, and on a demo."""
        self._check()
        with self._lock:
            if self._busy():
                raise PdfQAError("Another run is under way.", "Wait for it, or stop it.")
            self._workers.begin(Piece(run_id, KIND, owner, json.dumps({"retry": retry})))
            self._go(owner, run_id, retry)

    def _busy(self) -> bool:
        return self._tasks.count(KIND) > 0

    def _go(self, owner: str, run_id: str, retry: bool) -> None:
        self._run, self._progress = (owner, run_id), Progress("getting ready")
        self._ended.pop(run_id, None)
        self._tasks.begin(Job(KIND, owner, name=task_of(run_id)), lambda: self._work(owner, run_id, retry))

    def _take(self, piece: Piece) -> None:
        """Go on with a run that this program has claimed, since the one that worked on it died."""
        _log.warning("a run goes on that another program left")
        with self._lock:
            if self._busy():
                self._workers.release(piece.id)
            else:
                self._go(piece.owner, piece.id, retry=False)

    def begin(self, owner: str, request: RunRequest) -> Run:
        """Begin the run that was asked for, or go on with it, and return it. Raises as `start` does, and UsageError."""
        self._check()
        run = self._runs.begin(owner, request)
        self.start(owner, run.id)
        return run

    def _check(self) -> None:
        if self._demo:
            raise PdfQAError(
                "Visitors of a demo cannot run evaluations: they share its model.",
                "Run the app on your own computer.",
            )

    def _work(self, owner: str, run_id: str, retry: bool) -> None:
        ended = ""
        try:
            for event in self._runs.go(owner, run_id, retry=retry):
                if isinstance(event, Progress):
                    self._progress = event
        except StoppedError as error:
            ended = error.what
        except Exception as error:  # noqa: BLE001 - whatever happens, the page must not wait for ever
            ended = str(in_words(error))
            if not isinstance(in_words(error), PdfQAError):
                _log.exception("a run ended unexpectedly")
                ended = f"Something unexpected happened ({type(error).__name__}); the program's log says more."
        finally:
            try:
                self._workers.finish(run_id)
            except PdfQAError as error:
                _log.warning("a run that ended was not let go: %s", error)
            with self._lock:
                self._ended[run_id] = ended
                self._run, self._progress = ("", ""), None

    def of(self, owner: str) -> tuple[str, Progress | None]:
        """Return the owner's run that is under way with its progress; "" and None without one."""
        with self._lock:
            return (self._run[1], self._progress) if self._run[0] == owner and self._run[1] else ("", None)

    def said(self, run_id: str) -> str:
        """Return what ended a run before it was finished; "" where nothing did."""
        return self._ended.get(run_id, "")

    def stop(self, owner: str) -> None:
        """Stop the owner's run, in whichever program it is under way; what is done stays."""
        for elsewhere in self._runs.elsewhere(owner):
            self._workers.drop(elsewhere)
        run_id, _ = self.of(owner)
        if run_id:
            self._runs.stop(run_id)
