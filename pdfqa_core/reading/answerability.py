"""Whether the passages answer a question at all, decided before anything is written: search, model, or both.

The texts that a model writes when it declines are recognised in `declining`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.reading.evidence import Evidence
from pdfqa_core.types import LLM, Hit, Message, Progress, StopSignal

RETRIEVAL, MODEL = "retrieval", "model"
YES, NO = "Yes", "No"
CAN_ANSWER = "Does the text above contain the answer to the question? Answer Yes or No."
CONTENT_FREE = "N/A"
_LEAST = 1e-12  # probabilities below count as this

# Weight of the model's log-odds beside those of the search. Chosen, not fitted: the bundled model of 135 million
# parameters cannot tell (`benchmarks/refusal.py` prints what its yes is worth), so that a fit on its replies would give
# them none. Its log-odds lie within half a unit and change little; those of a model that can tell reach several units.
MODEL_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Answerability:
    """`confidence` in 0..1 that the passages answer the question, made of `signals`; `notes` are for the user."""

    confidence: float
    signals: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def reason(self, threshold: float) -> str:
        """Return in words which signal speaks against an answer."""
        search, model = self.signals.get(RETRIEVAL), self.signals.get(MODEL)
        needed = f"needed {threshold:.2f}"
        if search is not None and model is not None:
            doubting = {
                (True, True): "Both the search and the model doubt",
                (True, False): "The search doubts",
                (False, True): "The model doubts",
            }.get((search < threshold, model < threshold), "Search and model are not sure enough")
            return (
                f"{doubting} that these passages answer the question (search {search:.2f}, model {model:.2f}, together "
                f"{self.confidence:.2f}, {needed})."
            )
        who = "The model doubts" if model is not None else "The search doubts"
        return f"{who} that these passages answer the question (confidence {self.confidence:.2f}, {needed})."


class Asking(Protocol):
    """What of a generative reader is needed to ask its model about the same passages that it would read."""

    llm: LLM
    instruction: str

    def fitting(self, question: str, hits: Sequence[Hit]) -> Evidence:
        """Return the evidence that goes into the prompt."""
        ...

    def messages(self, question: str, evidence: Evidence | None) -> list[Message]:
        """Return the prompt."""
        ...


def model_log_odds(
    reader: Asking, question: str, hits: Sequence[Hit], *, stop: StopSignal | None = None
) -> Generator[Progress, None, float]:
    """Return the log-odds of yes against no when the model is asked whether the passages hold the answer.

    Passages and question stand before CAN_ANSWER as in the `reader`'s own prompt, so that their keys and values are
    evaluated once for both. The log-odds of a question without content about the same passages are
    taken off, because a small model prefers one of the words whatever is asked. Source: Zhao et al. 2021, "Calibrate
    before use". Raises ModelError if the engine gives no probabilities, StoppedError.
    """
    yield from reader.llm.prepare(stop)
    asker = copy.copy(reader)
    asker.instruction = CAN_ANSWER
    evidence = asker.fitting(question, hits)
    yield Progress("asking the model whether the passages answer it")

    def log_odds(asked: str) -> float:
        shares = reader.llm.choose(asker.messages(asked, evidence), (YES, NO), stop=stop)
        return math.log(max(shares[YES], _LEAST)) - math.log(max(shares[NO], _LEAST))

    bias = log_odds(CONTENT_FREE)
    return log_odds(question) - bias


def probability(log_odds: float) -> float:
    """Return log-odds as a probability in 0..1."""
    return 1 / (1 + math.exp(-log_odds))


def combined(retrieval: float, model: float) -> float:
    """Return one confidence in 0..1 from the two signals: their log-odds added, the model's with MODEL_WEIGHT."""
    return probability(_logit(retrieval) + MODEL_WEIGHT * _logit(model))


class Judge:
    """Judges by `refusal`: "retrieval", "model" or "combined".

    `retrieval` gives the retrieval confidence in 0..1. Without a `reader` that has a model, or where its engine gives
    no probabilities, the retrieval confidence counts alone.
    """

    def __init__(
        self, refusal: str, retrieval: Callable[[str, Sequence[Hit]], float], reader: Asking | None = None
    ) -> None:
        self.refusal = refusal
        self.retrieval = retrieval
        self.reader = reader if refusal != RETRIEVAL else None

    def judge(
        self, question: str, hits: Sequence[Hit], *, stop: StopSignal | None = None
    ) -> Generator[Progress, None, Answerability]:
        """Yield Progress, return the judgement; one that was stopped has no signals."""
        try:
            model = None
            if self.reader is not None:
                model = probability((yield from model_log_odds(self.reader, question, hits, stop=stop)))
        except StoppedError:
            return Answerability(0.0)
        except ModelError as error:
            alone = self._by_retrieval(question, hits)
            note = f"Judged by the search alone, because the model could not be asked: {error.what}"
            return Answerability(alone.confidence, alone.signals, (note,))
        if model is None:
            return self._by_retrieval(question, hits)
        if self.refusal == MODEL:
            return Answerability(model, {MODEL: model})
        found = self.retrieval(question, hits)
        return Answerability(combined(found, model), {RETRIEVAL: found, MODEL: model})

    def _by_retrieval(self, question: str, hits: Sequence[Hit]) -> Answerability:
        found = self.retrieval(question, hits)
        return Answerability(found, {RETRIEVAL: found})


def _logit(p: float) -> float:
    p = min(1 - _LEAST, max(_LEAST, p))
    return math.log(p / (1 - p))
