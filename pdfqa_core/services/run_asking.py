"""Putting the open questions of a run to a system, one after the other; and what is stored of what comes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.evaluation_types import Prediction
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.replies import FAILURES_IN_A_ROW
from pdfqa_core.protocols.runs import Case, CaseFile
from pdfqa_core.services.run_systems import AskedSystem
from pdfqa_core.types import Progress


class Pace:
    """How long the open answers still take, by the mean of those of this time; before, by what is `expected`."""

    def __init__(self, open_: int, expected: float | None) -> None:
        self._open = open_
        self._expected = expected
        self._done = 0
        self._began = time.monotonic()

    def step(self) -> None:
        """Note that one more is done."""
        self._done += 1

    def left(self) -> float | None:
        """Return the seconds that are left, at the pace of an earlier run while nothing is done; None: not known."""
        if not self._done:
            return None if self._expected is None else self._expected * self._open
        return (time.monotonic() - self._began) / self._done * max(0, self._open - self._done)


class Outcomes:
    """What came of a system's questions, stored as it comes; `known` has it by item, that of earlier times too.

    A failure of the model is stored when something else comes of another question: until then it may be that the model
    does not work at all.
    """

    def __init__(self, put: Callable[[Prediction], None], known: Mapping[str, Prediction], pace: Pace) -> None:
        self._put = put
        self._pace = pace
        self.known = dict(known)
        self._unconfirmed: list[Prediction] = []

    @property
    def left(self) -> float | None:
        """The seconds that the run's open answers still take, None where that is not known."""
        return self._pace.left()

    def take(self, made: Prediction, *, by_model: bool = False) -> None:
        """Store what came of a question; `by_model`: nothing did, for the model failed.

        Raises ModelError after FAILURES_IN_A_ROW such ones: these are asked again when the run goes on.
        """
        if by_model:
            self._unconfirmed.append(made)
            if len(self._unconfirmed) >= FAILURES_IN_A_ROW:
                raise ModelError(made.error, made.hint)
            return
        for one in (*self._unconfirmed, made):
            self._put(one)
            self.known[one.item_id] = one
            self._pace.step()
        self._unconfirmed = []

    def end(self) -> None:
        """Store the last failures."""
        for one in self._unconfirmed:
            self._put(one)


def failed(case: Case, error: PdfQAError) -> Prediction:
    """Return what is stored of a question of which nothing came."""
    return Prediction(case.id, error=error.what, hint=error.hint)


def predicted(
    asked: AskedSystem, case: Case, earlier: Mapping[str, Prediction], stop: StopSignal
) -> tuple[Prediction, bool]:
    """Return what a system makes of a question, and whether the model is why nothing came of it.

    Raises StoppedError.
    """
    if stop.is_set():
        raise StoppedError
    try:
        return asked.predict(case, earlier, stop), False
    except StoppedError:
        raise
    except PdfQAError as error:
        return failed(case, error), isinstance(error, ModelError)


def ask_here(
    asked: AskedSystem, file: CaseFile, outcomes: Outcomes, stop: StopSignal, check: Callable[[], None] | None = None
) -> Generator[Progress, None, None]:
    """Put the open questions to a system in this process. Raises StoppedError, ModelError.

    `check` raises what ends all of it; it is called before an answer counts.
    """
    name, earlier = asked.system.name, frozenset(outcomes.known)
    for number, case in enumerate(file.cases, start=1):
        if case.id in earlier:
            continue
        yield Progress(f"{name}: question {number}", number - 1, len(file.cases), outcomes.left)
        made, by_model = predicted(asked, case, outcomes.known, stop)
        if check is not None:
            check()
        outcomes.take(made, by_model=by_model)
