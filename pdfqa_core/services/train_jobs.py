"""Making questions and training in the background: one at a time, whether or not a page looks on."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.models import TrainedModel
from pdfqa_core.services.synthesis import Advice, Made, SynthesisPlan, SynthesisResult, SynthesisService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.training import Prepared, TrainingPlan, TrainingService
from pdfqa_core.settings import Settings
from pdfqa_core.training import RoundRecord, Scored, Step, TrainingSettings
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import in_words

PATIENCE = 10.0  # seconds that the end of the program waits for what was learnt to be stored
TASK = "train-jobs"
UNEXPECTED = "The program's log says more."
_log = logging.getLogger(__name__)


class Work(StrEnum):
    """What goes on in the background."""

    MAKING = "making questions"
    ESTIMATING = "estimating"
    TRAINING = "training"


@dataclass(frozen=True, slots=True)
class Job:
    """What is under way, or ended last: `error` is why it ended before it was done, `hint` what to do then.

    `made` counts questions by outcome, `advice` says why rules may do better, `result` sums them up. `losses` are
    (round, step, loss), with those of before a stop; `settings` are those of the training, `model` the name of the
    model that came of it.
    """

    owner: str
    work: Work
    running: bool = True
    progress: Progress | None = None
    made: tuple[tuple[str, int], ...] = ()
    advice: str = ""
    result: SynthesisResult | None = None
    prepared: Prepared | None = None
    step: Step | None = None
    losses: tuple[tuple[int, int, float], ...] = ()
    scores: tuple[Scored, ...] = ()
    rounds: tuple[RoundRecord, ...] = ()
    settings: TrainingSettings | None = None
    model: str = ""
    stopped: bool = False
    error: str = ""
    hint: str = ""


class TrainJobs:
    """The work behind the Train tab. One at a time for all owners, since they share processor and language model."""

    def __init__(self, synthesis: SynthesisService, training: TrainingService, tasks: Tasks, *, demo: bool) -> None:
        self._synthesis = synthesis
        self._training = training
        self._tasks = tasks
        self._demo = demo
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._job: Job | None = None

    # ------------------------------------------------------------ begin

    def make(self, owner: str, plan: SynthesisPlan, settings: Settings) -> None:
        """Make questions. Raises UsageError for a plan that cannot be carried out, PdfQAError while other work runs."""
        plan.check()
        self._start(Job(owner, Work.MAKING), lambda: self._synthesis.make(owner, plan, settings, task=TASK))

    def estimate(self, owner: str, plan: TrainingPlan, settings: Settings) -> None:
        """Find out what training takes. Raises as `make` does."""
        plan.check()
        self._start(
            Job(owner, Work.ESTIMATING, settings=plan.settings),
            lambda: self._training.train(owner, plan, settings, only_prepare=True, task=TASK),
        )

    def train(self, owner: str, plan: TrainingPlan, settings: Settings) -> None:
        """Train a model. Raises as `make` does."""
        plan.check()
        job = Job(owner, Work.TRAINING, settings=plan.settings)
        self._start(job, lambda: self._training.train(owner, plan, settings, task=TASK))

    def resume(self, owner: str, name: str) -> None:
        """Go on with a training that was stopped. Raises UsageError where the owner has none of this name."""
        found = next((one for one in self._training.unfinished(owner) if one.plan.name == name), None)
        if found is None:
            raise UsageError(f"There is no stopped training called {name!r}.", "It may have been finished or deleted.")
        job = Job(owner, Work.TRAINING, settings=found.plan.settings)
        if found.state is not None:
            state = found.state
            job = replace(job, losses=state.losses, scores=state.scores, rounds=state.records)
        self._start(job, lambda: self._training.train(owner, found.plan, found.settings, task=TASK))

    def _start(self, job: Job, events: Callable[[], Iterable[object]]) -> None:
        if self._demo:
            raise PdfQAError(
                "Visitors of a demo can neither make questions nor train: they share its processor.",
                "Run the app on your own computer.",
            )
        with self._lock:
            if self._job is not None and self._job.running:
                raise PdfQAError("Something is under way already.", "Wait for it, or stop it.")
            self._job = replace(job, progress=Progress("getting ready"))
            self._thread = threading.Thread(target=self._work, args=(events,), name="train", daemon=True)
            self._thread.start()

    # ------------------------------------------------------------ while it goes on

    def _work(self, events: Callable[[], Iterable[object]]) -> None:
        ended: dict[str, object] = {}
        try:
            for event in events():
                self._note(event)
        except StoppedError as error:
            ended = {"stopped": True, "error": error.what, "hint": error.hint}
        except Exception as error:  # noqa: BLE001 - whatever happens, the page must not wait for ever
            told = in_words(error)
            if isinstance(told, PdfQAError):
                ended = {"error": told.what, "hint": told.hint}
            else:
                _log.exception("work of the Train tab ended unexpectedly")
                ended = {"error": f"Something unexpected happened ({type(error).__name__}).", "hint": UNEXPECTED}
        finally:
            self._change(running=False, progress=None, **ended)

    def _note(self, event: object) -> None:
        job = self._job
        assert job is not None
        match event:
            case Progress():
                self._change(progress=event)
            case Made():
                counts = Counter(dict(job.made)) + Counter(one.outcome.value for one in event.questions)
                self._change(made=tuple(counts.items()))
            case Advice():
                self._change(advice=event.words)
            case SynthesisResult():
                self._change(result=event)
            case Prepared():
                self._change(prepared=event)
            case Step():
                taken = (event.round, event.step, event.loss)
                self._change(progress=None, step=event, losses=(*job.losses, taken))
            case Scored():
                self._change(progress=None, scores=(*job.scores, event))
            case RoundRecord():
                self._change(rounds=(*job.rounds, event))
            case TrainedModel():
                self._change(model=event.name)

    def _change(self, **values: object) -> None:
        with self._lock:
            assert self._job is not None
            self._job = replace(self._job, **values)  # type: ignore[arg-type]  # the fields of Job, by name

    # ------------------------------------------------------------ looking on

    def of(self, owner: str) -> Job | None:
        """Return the owner's work that is under way, or else ended last in this process."""
        with self._lock:
            return self._job if self._job is not None and self._job.owner == owner else None

    def stop(self, owner: str) -> None:
        """Stop the owner's work; what is done stays."""
        job = self.of(owner)
        if job is not None and job.running:
            self._tasks.stop(TASK)

    def close(self) -> None:
        """Stop, and wait until what was learnt is stored."""
        self._tasks.stop(TASK)
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(PATIENCE)
