"""Whether the passages answer a question at all, decided before anything is written: search, model, or both.

The texts that a model writes when it declines are recognised in `declining`.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Protocol, TypeAlias

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import LLM, History, Message, StopSignal
from pdfqa_core.reading.declining import CONFIDENCE
from pdfqa_core.reading.document_names import unnamed
from pdfqa_core.reading.evidence import Evidence
from pdfqa_core.reading.unmentioned import no_page_mentions
from pdfqa_core.reading.yes_or_no import LEAST, log_odds
from pdfqa_core.types import Hit, Progress

RETRIEVAL, MODEL, COMBINED = "retrieval", "model", "combined"
CAN_ANSWER = "Does the text above contain the answer to the question? Answer Yes or No."
CALIBRATIONS = Path(__file__).with_name("refusal_weights.json")


@dataclass(frozen=True, slots=True)
class Answerability:
    """`confidence` in 0..1 that the passages answer the question, made of `signals`; `notes` are for the user.

    Without signals the notes say why it is 0. `about` is the part of the question that was judged, where it has parts.
    """

    confidence: float
    signals: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    about: str = ""

    def reason(self, threshold: float) -> str:
        """Return the numbers behind a refusal, or what stands in their place, in words."""
        if not self.signals and self.notes:
            return " ".join(self.notes)
        parts = [f"{words} {self.signals[name]:.2f}" for name, words in _SIGNALS.items() if name in self.signals]
        made_of = f", from {' and '.join(parts)}" if len(parts) > 1 else ""
        about = f" Least is found for “{self.about}”" if self.about else ""
        return f"{CONFIDENCE} {self.confidence:.2f}{made_of}; {threshold:.2f} was needed.{about}"


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
        return probability(self.constant + self.search * _logit(retrieval) + self.model * log_odds)


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
    names = [name for way, name in known if way == refusal and _letters(model).startswith(_letters(name))]
    return known[refusal, max(names, key=len)]


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Asking(Protocol):
    """What of a generative reader is needed to ask its model about the same passages that it would read."""

    llm: LLM
    instruction: str

    def fitting(self, question: str, hits: Sequence[Hit], history: History = ()) -> Evidence:
        """Return the evidence that goes into the prompt."""
        ...

    def messages(self, question: str, evidence: Evidence | None, history: History = ()) -> list[Message]:
        """Return the prompt."""
        ...


def model_log_odds(
    reader: Asking, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
) -> Generator[Progress, None, float]:
    """Return the log-odds of yes against no when the model is asked whether the passages hold the answer.

    Passages, the turn before (`history`, where the question leans on it) and question stand before CAN_ANSWER as in the
    `reader`'s own prompt, so that their keys and values are evaluated once for both. Raises ModelError if the engine
    gives no probabilities, StoppedError.
    """
    yield from reader.llm.prepare(stop)
    asker = copy.copy(reader)
    asker.instruction = CAN_ANSWER
    prompt = asker.messages(question, asker.fitting(question, hits, history), history)
    doing = "asking the model whether the passages answer it"
    return (yield from log_odds(reader.llm, prompt, doing, stop=stop))


def probability(log_odds: float) -> float:
    """Return log-odds as a probability in 0..1."""
    return 1 / (1 + math.exp(-max(-700.0, log_odds)))


Unmentioned: TypeAlias = Callable[[str], Sequence[str]]


def all_mentioned(question: str) -> Sequence[str]:
    """Return no name, as of a question all of whose names some page mentions."""
    return ()


class Judge:
    """Judges by `refusal`: "retrieval", "model" or "combined".

    `retrieval` gives the retrieval confidence in 0..1. It counts alone where the `reader` has no model, where the model
    cannot tell (see `Calibration`), and where its engine gives no probabilities. `unmentioned` gives the names of a
    question that no page mentions: where there are some, nothing answers it.
    """

    def __init__(
        self, refusal: str, retrieval: Callable[[str, Sequence[Hit]], float], reader: Asking | None = None,
        unmentioned: Unmentioned = all_mentioned,
    ) -> None:  # fmt: skip
        self.refusal = refusal
        self.retrieval = retrieval
        self.reader = reader if refusal != RETRIEVAL else None
        self.unmentioned = unmentioned

    def judge(
        self, question: str, hits: Sequence[Hit], history: History = (), *, called: str = "",
        parts: Sequence[str] = (), stop: StopSignal | None = None,
    ) -> Generator[Progress, None, Answerability]:  # fmt: skip
        """Yield Progress, return the judgement; one that was stopped has no signals.

        Where the question names its document, which is `called` so, the search is judged with and without the words for
        it, which the document's pages need not have; the better of both counts. A question of `parts`, as a comparison
        is, is worth what the least answered of them is: no sentence is near to the whole, and half of it is not enough.
        """
        if names := self.unmentioned(question):
            return Answerability(0.0, notes=(no_page_mentions(names),))
        worst: Answerability | None = None
        for part in parts or (question,):
            found = yield from self._alone(part, hits, history, called, stop)
            if not found.signals:
                return found
            found = replace(found, about=part) if parts else found
            worst = found if worst is None or found.confidence < worst.confidence else worst
        assert worst is not None
        return worst

    def _alone(
        self, question: str, hits: Sequence[Hit], history: History, called: str, stop: StopSignal | None
    ) -> Generator[Progress, None, Answerability]:
        """Judge a question that has no parts."""
        found = max(self.retrieval(one, hits) for one in {question, unnamed(question, called) if called else question})
        alone = Answerability(found, {RETRIEVAL: found})
        if self.reader is None:
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


def _logit(p: float) -> float:
    p = min(1 - LEAST, max(LEAST, p))
    return math.log(p / (1 - p))
