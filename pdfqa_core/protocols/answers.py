"""Answers against gold answers: every measure of text and citations, item by item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.bleu import bleu_1
from pdfqa_core.metrics.citations import citation_overlap
from pdfqa_core.metrics.exact_match import exact_match
from pdfqa_core.metrics.insufficient_context import insufficient_context_detection
from pdfqa_core.metrics.rouge import rouge_l
from pdfqa_core.metrics.statistics import Summary, summarise
from pdfqa_core.metrics.token_f1 import token_f1
from pdfqa_core.protocols.answer_files import Pair

Score = Callable[[Pair], float | None]


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """The values of one item by measure; None where it could not be scored."""

    id: str
    metrics: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """All items of one system."""

    name: str
    items: tuple[ScoredItem, ...]

    def values(self, measure: str) -> list[float | None]:
        """Return the value per item, in order."""
        return [item.metrics[measure] for item in self.items]

    def summary(self, measure: str, *, seed: int = 0) -> Summary:
        """Return the mean with its interval."""
        return summarise(self.values(measure), seed=seed)


def _insufficient(pair: Pair) -> float | None:
    values = [insufficient_context_detection(pair.prediction, reference) for reference in pair.references]
    return max((value for value in values if value is not None), default=None)


def _citation(place: int) -> Score:
    def score(pair: Pair) -> float | None:
        if pair.cited is None or pair.gold_citations is None:
            return None
        return citation_overlap(pair.cited, pair.gold_citations)[place]

    return score


SCORES: Mapping[str, Score] = {
    "answer_f1": lambda pair: token_f1(pair.prediction, pair.references),
    "answer_em": lambda pair: exact_match(pair.prediction, pair.references),
    "bleu_1": lambda pair: bleu_1(pair.prediction, pair.references),
    "rouge_l": lambda pair: rouge_l(pair.prediction, pair.references),
    "citation_precision": _citation(0),
    "citation_recall": _citation(1),
    "citation_f1": _citation(2),
    "insufficient_context_detection": _insufficient,
}


def score_answers(name: str, pairs: Sequence[Pair], measures: Sequence[str] = tuple(SCORES)) -> AnswerScores:
    """Return the values of all items. Raises UsageError for a measure that is not in SCORES."""
    for measure in measures:
        if measure not in SCORES:
            raise UsageError(f"There is no measure called {measure!r}.", f"Choose among: {', '.join(SCORES)}.")
    return AnswerScores(
        name, tuple(ScoredItem(pair.id, {measure: SCORES[measure](pair) for measure in measures}) for pair in pairs)
    )
