"""Answers against gold answers: every measure of text and citations, item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any

from pdfqa_core.cores import over_cores
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import ScoredItem, ScoredSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.base import Measure
from pdfqa_core.metrics.bertscore import NAMES, Baseline, TokenEmbedder, bertscore
from pdfqa_core.metrics.catalogue import all_measures
from pdfqa_core.metrics.llm_judge import JudgeItem, judge_answers
from pdfqa_core.metrics.rag import refusal_precision, refusal_recall
from pdfqa_core.metrics.refusal import classify_refusals
from pdfqa_core.metrics.replies import Decision, OnDone
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.reading.outcomes import declines

Values = Mapping[str, float | None]
BERTSCORE = NAMES
REFUSALS = ("refusal_recall", "refusal_precision")
JUDGED = "llm_accuracy"


@dataclass(frozen=True, slots=True)
class Options:
    """Variants of the measures of text, by the names of their parameters."""

    beta: float = 1.0
    stemming: bool = False
    brevity_penalty: bool = False


# What a pair of answers is enough for: the measures all of whose inputs are its fields.
SCORES: Mapping[str, Measure[..., float | None]] = {
    one.name: one for one in all_measures() if one.inputs and {*one.inputs} <= {field.name for field in fields(Pair)}
}
DEFAULT = tuple(name for name in SCORES if name != "rouge_l_sum")


@cache
def _calls(
    measures: tuple[str, ...], options: Options
) -> list[tuple[str, Measure[..., float | None], tuple[str, ...], dict[str, Any]]]:
    """Return each measure with the fields of a pair that it is computed from, and the variants that are wanted."""
    known = {field.name for field in fields(options)}
    chosen = [(name, SCORES[name]) for name in measures]
    return [
        (name, one, one.inputs, {option: getattr(options, option) for option in known & one.parameters.keys()})
        for name, one in chosen
    ]


def _values(measures: tuple[str, ...], options: Options, pair: Pair) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, measure, inputs, variants in _calls(measures, options):
        given = [getattr(pair, one) for one in inputs]
        found[name] = None if any(one is None for one in given) else measure(*given, **variants)
    return found


def score_answers(
    name: str,
    pairs: Sequence[Pair],
    measures: Sequence[str] = DEFAULT,
    *,
    options: Options | None = None,
    more: Sequence[Sequence[Values]] = (),
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> ScoredSystem:
    """Return the values of all items; `more` are values by item that a model gave.

    Raises UsageError for a measure that is not in SCORES, StoppedError.
    """
    for measure in measures:
        if measure not in SCORES:
            raise UsageError(f"There is no measure called {measure!r}.", f"Choose among: {', '.join(SCORES)}.")
    work = partial(_values, tuple(measures), options or Options())
    items = []
    for place, (pair, own) in enumerate(zip(pairs, over_cores(work, pairs, stop=stop, on_done=on_done), strict=True)):
        values = dict(own)
        for given in more:
            values |= given[place]
        items.append(ScoredItem(pair.id, values, _texts(pair)))
    return ScoredSystem(name, tuple(items))


def _texts(pair: Pair) -> dict[str, str]:
    texts = {"question": pair.question, "prediction": pair.prediction, "gold_answer": " | ".join(pair.references)}
    if pair.cited or pair.gold_citations:
        texts |= {"cited": ", ".join(pair.cited or ()), "gold_citations": ", ".join(pair.gold_citations or ())}
    return {name: text for name, text in texts.items() if text}


# ------------------------------------------------------------------ measures that need a model


def score_meaning(
    pairs: Sequence[Pair],
    embedder: TokenEmbedder,
    *,
    idf: bool = False,
    baseline: Baseline | None = None,
    inner_product: bool = False,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[list[Values], str]:
    """Return BERTScore by item, and how it was set (encoder, idf, rescaling). Raises ModelError, UsageError."""
    found = bertscore(
        [pair.prediction for pair in pairs],
        [pair.references for pair in pairs],
        embedder,
        idf=idf,
        baseline=baseline,
        inner_product=inner_product,
        stop=stop,
        on_done=on_done,
    )
    return list(found.metrics()), found.setting


def score_by_judge(
    pairs: Sequence[Pair], llm: LLM, *, stop: StopSignal | None = None, on_done: OnDone | None = None
) -> list[Values]:
    """Return the judge's verdict by item. Raises UsageError for an item without a question, ModelError."""
    items = judge_items(pairs)
    return [{JUDGED: verdict.score} for verdict in judge_answers(items, llm, stop=stop, on_done=on_done)]


def judge_items(pairs: Sequence[Pair]) -> list[JudgeItem]:
    """Return what a judge is shown of each pair. Raises UsageError for one without a question."""
    if missing := next((pair.id for pair in pairs if not pair.question.strip()), ""):
        raise UsageError(
            f"Item {missing!r} has no question, which the judge must know.", 'Give every row a "question".'
        )
    return [JudgeItem(pair.question, pair.references, pair.prediction) for pair in pairs]


def score_refusals(
    pairs: Sequence[Pair], llm: LLM | None = None, *, stop: StopSignal | None = None, on_done: OnDone | None = None
) -> list[Values]:
    """Return refusal recall and precision by item; without `llm` refusals are recognised by their phrases.

    Recall is scored on unanswerable questions (refused?), precision on refusals (unanswerable?), so that the means over
    the scored items are recall and precision. An item that the model cannot decide on is scored on neither.
    """
    decisions: Sequence[Decision]
    if llm is None:
        texts = [pair.prediction for pair in pairs]
        decisions = [Decision(not text.strip() or declines(text), source="phrases") for text in texts]
    else:
        decisions = classify_refusals([pair.prediction for pair in pairs], llm, stop=stop, on_done=on_done)
    return [
        {
            "refusal_recall": refusal_recall(decision.value, pair.answerable),
            "refusal_precision": refusal_precision(decision.value, pair.answerable),
        }
        for pair, decision in zip(pairs, decisions, strict=True)
    ]
