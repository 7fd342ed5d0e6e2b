"""Answers against gold answers: every measure of text and citations, item by item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.metrics.bertscore import Baseline, TokenEmbedder, bertscore
from pdfqa_core.metrics.bleu import bleu_1
from pdfqa_core.metrics.citations import citation_overlap
from pdfqa_core.metrics.exact_match import exact_match
from pdfqa_core.metrics.insufficient_context import insufficient_context_detection
from pdfqa_core.metrics.llm_judge import JudgeItem, agreement_with_people, judge_answers
from pdfqa_core.metrics.refusal import classify_refusals
from pdfqa_core.metrics.replies import Decision, OnDone
from pdfqa_core.metrics.rouge import rouge_l, rouge_l_sum
from pdfqa_core.metrics.scored import ScoredItem, ScoredSystem
from pdfqa_core.metrics.token_f1 import token_f1
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.reading.refusal import declines
from pdfqa_core.text import sentences
from pdfqa_core.types import LLM, StopSignal

Values = Mapping[str, float | None]
BERTSCORE = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
REFUSALS = ("refusal_recall", "refusal_precision")
JUDGED = "llm_accuracy"


@dataclass(frozen=True, slots=True)
class Options:
    """Variants of the measures of text: ROUGE-L's β and stemming, BLEU-1's brevity penalty."""

    beta: float = 1.0
    stemming: bool = False
    brevity_penalty: bool = False


Score = Callable[[Pair, Options], float | None]


def _insufficient(pair: Pair, _: Options) -> float | None:
    values = [insufficient_context_detection(pair.prediction, reference) for reference in pair.references]
    return max((value for value in values if value is not None), default=None)


def _citation(place: int) -> Score:
    def score(pair: Pair, _: Options) -> float | None:
        if pair.cited is None or pair.gold_citations is None:
            return None
        return citation_overlap(pair.cited, pair.gold_citations)[place]

    return score


def by_sentence(text: str) -> str:
    """Return the text with every sentence on a line of its own, as ROUGE-Lsum reads it."""
    return "\n".join(" ".join(text[start:end].split()) for start, end in sentences(text))


def _lsum(pair: Pair, options: Options) -> float | None:
    return rouge_l_sum(by_sentence(pair.prediction), [by_sentence(text) for text in pair.references], beta=options.beta)


SCORES: Mapping[str, Score] = {
    "answer_f1": lambda pair, _: token_f1(pair.prediction, pair.references),
    "answer_em": lambda pair, _: exact_match(pair.prediction, pair.references),
    "bleu_1": lambda pair, o: bleu_1(pair.prediction, pair.references, brevity_penalty=o.brevity_penalty),
    "rouge_l": lambda pair, o: rouge_l(pair.prediction, pair.references, beta=o.beta, stemming=o.stemming),
    "rouge_l_sum": _lsum,
    "citation_precision": _citation(0),
    "citation_recall": _citation(1),
    "citation_f1": _citation(2),
    "insufficient_context_detection": _insufficient,
}
DEFAULT = tuple(name for name in SCORES if name != "rouge_l_sum")


def score_answers(
    name: str,
    pairs: Sequence[Pair],
    measures: Sequence[str] = DEFAULT,
    *,
    options: Options | None = None,
    more: Sequence[Sequence[Values]] = (),
) -> ScoredSystem:
    """Return the values of all items; `more` are values by item that a model gave.

    Raises UsageError for a measure that is not in SCORES.
    """
    for measure in measures:
        if measure not in SCORES:
            raise UsageError(f"There is no measure called {measure!r}.", f"Choose among: {', '.join(SCORES)}.")
    chosen = options or Options()
    items = []
    for place, pair in enumerate(pairs):
        values = {measure: SCORES[measure](pair, chosen) for measure in measures}
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
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[list[Values], str]:
    """Return BERTScore by item, and how it was set (encoder, idf, rescaling). Raises ModelError, UsageError."""
    found = bertscore(
        [pair.prediction for pair in pairs], [pair.references for pair in pairs], embedder, idf=idf, baseline=baseline,
        stop=stop, on_done=on_done,
    )  # fmt: skip
    return list(found.metrics()), found.setting


def score_by_judge(
    pairs: Sequence[Pair], llm: LLM, *, stop: StopSignal | None = None, on_done: OnDone | None = None, seed: int = 0
) -> tuple[list[Values], Agreement | None]:
    """Return the judge's verdict by item, and its agreement with people where the file holds their verdicts.

    Raises UsageError for an item without a question, ModelError.
    """
    for pair in pairs:
        if not pair.question.strip():
            raise UsageError(
                f"Item {pair.id!r} has no question, which the judge must know.", 'Give every row a "question".'
            )
    items = [JudgeItem(pair.question, pair.references, pair.prediction) for pair in pairs]
    verdicts = judge_answers(items, llm, stop=stop, on_done=on_done)
    labels = [pair.human for pair in pairs]
    people = agreement_with_people(verdicts, labels, seed=seed) if any(one is not None for one in labels) else None
    return [{JUDGED: verdict.score} for verdict in verdicts], people


def score_refusals(
    pairs: Sequence[Pair], llm: LLM | None = None, *, stop: StopSignal | None = None, on_done: OnDone | None = None
) -> list[Values]:
    """Return refusal recall and precision by item; without `llm` refusals are told by their phrases.

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
            "refusal_recall": None if decision.value is None or pair.answerable else float(decision.value),
            "refusal_precision": float(not pair.answerable) if decision.value else None,
        }
        for pair, decision in zip(pairs, decisions, strict=True)
    ]
