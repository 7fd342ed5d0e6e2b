"""Whether the passages answer a question at all, judged before anything is written: by the search, the model, or both.

Once an answer is written, the model is asked about that too. What an answer is shown as is decided in
`outcomes`, where a model's text that declines is recognised too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import LLM, History, Message, StopSignal
from pdfqa_core.reading.evidence import Evidence
from pdfqa_core.reading.prompts import Prompt, quoted
from pdfqa_core.types import Hit, Progress

# ----------------------------------------------------------------------------------------------------
# What a threshold of the confidence costs and brings, as measured on questions with and without an answer.
#
# The numbers are counted by `benchmarks/refusal.py --fit` and lie beside this file.

DATA = Path(__file__).with_name("refusal_curve.json")
STEPS = 100  # thresholds are 0, 0.01, …, 1


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Refusals on one data set by threshold, for one way to refuse ("retrieval", "model", "combined").

    `wrongly[n]` of the `answerable` questions and `rightly[n]` of the `unanswerable` ones have a confidence below
    n / 100. `measured` is the date, `model` the language model that was asked.
    """

    refusal: str
    dataset: str
    model: str
    measured: str
    answerable: int
    unanswerable: int
    wrongly: tuple[int, ...]
    rightly: tuple[int, ...]

    def recall(self, threshold: float) -> float:
        """Return the share of the unanswerable questions that is turned away."""
        return self.rightly[_step(threshold)] / self.unanswerable

    def lost(self, threshold: float) -> float:
        """Return the share of the answerable questions that is turned away."""
        return self.wrongly[_step(threshold)] / self.answerable

    def precision(self, threshold: float) -> float | None:
        """Return the share of unanswerable ones among the questions turned away, None where none is."""
        step = _step(threshold)
        refused = self.rightly[step] + self.wrongly[step]
        return self.rightly[step] / refused if refused else None

    def points(self) -> tuple[tuple[float, float], ...]:
        """Return (recall, precision) for every threshold at which at least one question is turned away."""
        pairs = ((self.recall(n / STEPS), self.precision(n / STEPS)) for n in range(STEPS + 1))
        return tuple((recall, precision) for recall, precision in pairs if precision is not None)


def _step(threshold: float) -> int:
    return min(STEPS, max(0, round(threshold * STEPS)))


@cache
def refusal_curves(refusal: str) -> tuple[RefusalCurve, ...]:
    """Return the measured curves of a way to refuse, one per data set; none for "none" and for unknown names."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    return tuple(
        RefusalCurve(**{**row, "wrongly": tuple(row["wrongly"]), "rightly": tuple(row["rightly"])})
        for row in rows
        if row["refusal"] == refusal
    )


# ----------------------------------------------------------------------------------------------------
# Whether the passages answer a question at all, judged before anything is written: by the search, the model, or
# both.

RETRIEVAL, MODEL, COMBINED = "retrieval", "model", "combined"
CONFIDENCE = "Confidence that these passages answer the question:"
AGREED = "answer"  # names the signal of the model's yes to the answer
CAN_ANSWER = "Does the text above contain the answer to the question? Answer Yes or No."
IS_ANSWER = Prompt(
    "Proposed answer: {answer}\n\nDoes the text above say this, and does it answer the question? Answer Yes or No.",
    "answer",
)
YES, NO = "Yes", "No"
LEAST = 1e-12  # probabilities below count as this
CALIBRATIONS = Path(__file__).with_name("refusal_weights.json")


@dataclass(frozen=True, slots=True)
class Answerability:
    """`confidence` in 0..1 that the passages answer the question, made of `signals`; `notes` are for the user.

    Without signals nothing was judged.
    """

    confidence: float
    signals: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def reason(self, threshold: float) -> str:
        """Return the numbers behind a refusal in words."""
        parts = [f"{words} {self.signals[name]:.2f}" for name, words in _SIGNALS.items() if name in self.signals]
        made_of = f", from {' and '.join(parts)}" if len(parts) > 1 else ""
        return f"{CONFIDENCE} {self.confidence:.2f}{made_of}; {threshold:.2f} was needed."


_SIGNALS = {RETRIEVAL: "the search's", MODEL: "the model's yes"}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic regression that makes one confidence of two signals, fitted by `benchmarks/refusal.py --fit`.

    The log-odds of the confidence are `constant` + `search` x the log-odds of the retrieval confidence + `model` x the
    log-odds of the model's yes. Where `model` is 0 the model cannot tell, and need not be asked.
    """

    search: float
    model: float
    constant: float

    def confidence(self, retrieval: float, log_odds: float) -> float:
        """Return the confidence in 0..1."""
        return probability(self.constant + self.search * logit(retrieval) + self.model * log_odds)


@cache
def calibrations() -> Mapping[tuple[str, str], Calibration]:
    """Return the calibrations by way to refuse ("model", "combined") and name of the model, "" for any other model."""
    rows = json.loads(CALIBRATIONS.read_text(encoding="utf-8"))
    return {(row["refusal"], row["name"]): Calibration(row["search"], row["model"], row["constant"]) for row in rows}


def calibration(refusal: str, model: str) -> Calibration:
    """Return the calibration for a model by its catalogue name, title or file name; else that for any other model.

    In "combined" the search judges alone where the model was not measured: how much its yes means differs by model.
    """
    known = calibrations()
    return known[refusal, same_model(model, [name for way, name in known if way == refusal])]


def same_model(model: str, names: Iterable[str]) -> str:
    """Return which of the `names` a model's catalogue name, title or file name begins with; "" where it is none."""
    return max((name for name in names if _letters(model).startswith(_letters(name))), key=len)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Asking(Protocol):
    """What of a generative reader is needed to ask its model about the same passages that it would read."""

    llm: LLM

    def fitting(self, question: str, hits: Sequence[Hit], history: History = ()) -> Evidence:
        """Return the evidence that goes into the prompt."""
        ...

    def messages(
        self, question: str, evidence: Evidence | None, history: History = (), instruction: str = ""
    ) -> list[Message]:
        """Return the prompt with an instruction."""
        ...


def model_log_odds(
    reader: Asking,
    question: str,
    hits: Sequence[Hit],
    history: History = (),
    asked: str = CAN_ANSWER,
    phase: str = "asking the model whether the passages answer it",
    *,
    stop: StopSignal | None = None,
) -> Generator[Progress, None, float]:
    """Return the log-odds of yes against no when the model is `asked` about the passages and the question.

    `phase` says so to the user. The model's own words mostly say yes, its probabilities say more. Passages, the
    question before and the question stand before `asked` as in the `reader`'s own prompt, so that their keys and values
    are evaluated once for all. Raises ModelError if the engine gives no probabilities, StoppedError.
    """
    yield from reader.llm.prepare(stop)
    prompt = reader.messages(question, reader.fitting(question, hits, history), history, asked)
    yield Progress(phase)
    shares = reader.llm.choose(prompt, (YES, NO), stop=stop)
    return math.log(max(shares[YES], LEAST)) - math.log(max(shares[NO], LEAST))


def probability(log_odds: float) -> float:
    """Return log-odds as a probability in 0..1."""
    return 1 / (1 + math.exp(-max(-700.0, log_odds)))


def logit(p: float) -> float:
    """Return a probability in 0..1 as log-odds."""
    p = min(1 - LEAST, max(LEAST, p))
    return math.log(p / (1 - p))


class Judge:
    """Judges by `refusal`: "retrieval", "model" or "combined".

    `retrieval` gives the retrieval confidence in 0..1. It counts alone where the `reader` has no model, where the model
    cannot tell (see `Calibration`), and where its engine gives no probabilities.
    """

    def __init__(
        self, refusal: str, retrieval: Callable[[str, Sequence[Hit]], float], reader: Asking | None = None
    ) -> None:
        self.refusal = refusal
        self.retrieval = retrieval
        self.reader = reader if refusal != RETRIEVAL else None

    def judge(
        self,
        question: str,
        hits: Sequence[Hit],
        history: History = (),
        *,
        decides: bool = True,
        stop: StopSignal | None = None,
    ) -> Generator[Progress, None, Answerability]:
        """Yield Progress, return the judgement; one that was stopped has no signals.

        Where nothing hangs on it, it `decides` nothing: the search judges alone, and the first word comes sooner.
        """
        found = self.retrieval(question, hits)
        alone = Answerability(found, {RETRIEVAL: found})
        if self.reader is None or not decides:
            return alone
        weights = calibration(self.refusal, self.reader.llm.name)
        if not weights.model:
            return alone
        try:
            said = yield from model_log_odds(self.reader, question, hits, history, stop=stop)
        except StoppedError:
            return Answerability(0.0)
        except ModelError as error:
            note = f"Judged by the search alone, because the model could not be asked: {error.what}"
            return Answerability(found, alone.signals, (note,))
        signals = {RETRIEVAL: found} if weights.search else {}
        return Answerability(weights.confidence(found, said), {**signals, MODEL: probability(said)})

    def agrees(
        self, question: str, answer: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Generator[Progress, None, float | None]:
        """Return the probability (0..1) with which the model says yes to an answer that is written.

        "P(True)" of Kadavath et al. 2022, "Language Models (Mostly) Know What They Know". None where there is no model
        that can tell, it cannot be asked, or it was stopped.
        """
        if self.reader is None or not calibration(self.refusal, self.reader.llm.name).model:
            return None
        try:
            asked, phase = IS_ANSWER.fill(answer=quoted(answer)), "asking the model whether its answer is right"
            odds = yield from model_log_odds(self.reader, question, hits, history, asked, phase, stop=stop)
            return probability(odds)
        except (ModelError, StoppedError):
            return None
