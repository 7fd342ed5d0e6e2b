"""Refusal: of answerable and unanswerable questions, are the latter turned away, and only they."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.metrics.rag import answered as was_answered
from pdfqa_core.metrics.rag import answered_surely, refusal_precision, refusal_recall, wrongly_sure
from pdfqa_core.metrics.short_answers import token_f1
from pdfqa_core.protocols.base import (
    GIVEN,
    SEARCH,
    Case,
    CaseFile,
    RunProtocol,
    Tools,
    Values,
    answered,
    run_protocols,
    scored_system,
    texts_of,
)
from pdfqa_core.reading.outcomes import declines
from pdfqa_core.types import Outcome

MEASURES = ("refusal_recall", "refusal_precision", "answered", "answered_surely", "wrongly_sure", "answer_f1")
_OUTCOMES = {Outcome.ANSWER: "surely answered", Outcome.PERHAPS: "perhaps", Outcome.NOTHING: "refused"}
UNANSWERABLE = "unanswerable"  # the option that names a file none of whose questions can be answered


class Refusal(RunProtocol):
    """Refused means: the system says so, or its answer begins by declining. What is perhaps an answer is answered."""

    title: ClassVar[str] = "Refusal"
    words: ClassVar[str] = (
        "answerable and unanswerable questions: are the latter refused, and only they? Perhaps counts as answered, "
        "but not surely"
    )
    evidence: ClassVar[tuple[str, ...]] = (SEARCH, GIVEN)
    shown: ClassVar[tuple[str, ...]] = MEASURES

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError where all questions are of one kind."""
        if len({case.answerable for case in file.cases}) < 2:
            kind = "answerable" if file.cases[0].answerable else "unanswerable"
            raise UsageError(
                f"{file.name}: all questions are {kind}.",
                'Say "answerable": false in the rows, or name a file of questions without an answer: --unanswerable.',
            )

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return recall and precision of refusals, the shares of questions answered and surely so, and F1."""
        values: dict[str, Values] = {}
        counts = Counter[tuple[bool, Outcome]]()
        for case, one in answered(cases, predictions):
            refused = one.refused or not one.answer.strip() or declines(one.answer)
            outcome = Outcome.NOTHING if refused else one.outcome
            counts[case.answerable, outcome] += 1
            values[case.id] = {
                "refusal_recall": refusal_recall(refused, case.answerable),
                "refusal_precision": refusal_precision(refused, case.answerable),
                "answered": was_answered(refused, case.answerable),
                "answered_surely": answered_surely(outcome, case.answerable),
                "wrongly_sure": wrongly_sure(outcome, case.answerable),
                "answer_f1": token_f1(one.answer, case.references) if case.answerable and case.references else None,
            }
        tools.notes += [f"{name}: {words}" for words in (_balanced(values), _counted(counts)) if words]
        return scored_system(name, cases, predictions, values, _texts)


def with_unanswerable(file: CaseFile, other: CaseFile) -> CaseFile:
    """Return both files' questions; those of the other one cannot be answered, whatever it says."""
    taken = {case.id for case in file.cases}
    added = tuple(
        replace(
            case,
            id=case.id if case.id not in taken else f"{other.name}.{case.id}",
            answerable=False,
            references=(),
            gold_citations=None,
        )
        for case in other.cases
    )
    return replace(file, name=f"{file.name} + {other.name}", cases=(*file.cases, *added))


def _balanced(values: Mapping[str, Values]) -> str:
    shares = []
    for measure in ("refusal_recall", "answered"):
        scored = [float(value) for one in values.values() if (value := one[measure]) is not None]
        if not scored:
            return ""
        shares.append(sum(scored) / len(scored))
    return f"balanced accuracy {sum(shares) / 2:.3f}, the mean of the shares refused and answered rightly."


def _counted(counts: Mapping[tuple[bool, Outcome], int]) -> str:
    """Return how many questions of each kind came out how."""
    kinds = {True: "answerable", False: "unanswerable"}
    parts = [
        f"of {total} {name} questions " + ", ".join(f"{counts[kind, one]} {said}" for one, said in _OUTCOMES.items())
        for kind, name in kinds.items()
        if (total := sum(counts[kind, one] for one in Outcome))
    ]
    return f"{'; '.join(parts)}." if parts else ""


def _texts(case: Case, prediction: Prediction | None) -> dict[str, str]:
    texts = texts_of(case, prediction) | {"answerable": "yes" if case.answerable else "no"}
    if prediction is not None and not prediction.failed:
        texts["outcome"] = prediction.outcome.value
    if prediction is not None and prediction.confidence is not None:
        texts["confidence"] = f"{prediction.confidence:.2f}"
    return texts


run_protocols.register("refusal", Refusal.words)(Refusal())
