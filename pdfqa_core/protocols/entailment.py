"""Entailment of answers: rows with question, contexts, gold answer and answer through the pipeline of `metrics`.

Files: a list or JSONL of {"question", "context", "ground_truth", "answer"}, or RAGChecker's {"results": […]} with
`query`, `retrieved_context`, `gt_answer` and `response`; where that holds recorded judgements of claims, claim
precision and recall are reported too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import ScoredItem, ScoredSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.entailment import NAMES, EntailmentItem, EntailmentScores, Tagger, entailment_scores
from pdfqa_core.metrics.rag import claim_f1, claim_share
from pdfqa_core.metrics.refusal import SplitSentences
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, load_rows
from pdfqa_core.text import sentences

MEASURES = NAMES
REFUSALS = ("answer_refusal", "gold_refusal")
CLAIMS = ("claim_precision", "claim_recall", "claim_f1")
_ID = ("id", "query_id", "_id", "task_id")
_QUESTION = ("question", "query", "input")
_CONTEXT = ("context", "contexts", "retrieved_context", "documents", "passages")
_GOLD = ("ground_truth", "gold", "gt_answer", "ground_truth_answer", "reference", "truth")
_ANSWER = ("answer", "response", "prediction")
_HINT = 'Write {"question": …, "context": […], "ground_truth": …, "answer": …}.'
_LABELS = {"entailment": True, "neutral": False, "contradiction": False}


@dataclass(frozen=True, slots=True)
class EntailmentRow:
    """A row of a file; `precise` and `recalled` are recorded judgements of claims of the answer and the gold answer."""

    id: str
    item: EntailmentItem
    precise: tuple[bool, ...] = ()
    recalled: tuple[bool, ...] = ()


def read_rows(path: Path) -> tuple[EntailmentRow, ...]:
    """Return the rows of a file. Raises UsageError that names file and row."""
    rows = load_rows(path, "rows", _HINT, within=("results", "data", "rows"))
    found = tuple(map(_row, rows))
    check_ids(((row.number, one.id) for row, one in zip(rows, found, strict=True)), path.name)
    return found


def _row(row: JsonRow) -> EntailmentRow:
    name = next((row.values[key] for key in _ID if row.values.get(key) is not None), row.number)
    item = EntailmentItem(_text(row, _QUESTION), _contexts(row), _text(row, _GOLD), _text(row, _ANSWER))
    return EntailmentRow(str(name), item, _recorded(row, "answer2response"), _recorded(row, "response2answer"))


def _given(row: JsonRow, keys: Sequence[str], hint: str = _HINT) -> tuple[str, Any]:
    """Return the first of the keys that the row has, with its value."""
    key = next((key for key in keys if key in row.values), "")
    if not key:
        raise UsageError(f"{row.where}: there is no {keys[0]}.", hint)
    return key, row.values[key]


def _text(row: JsonRow, keys: Sequence[str]) -> str:
    key, given = _given(row, keys)
    if not isinstance(given, str):
        raise UsageError(f"{row.where}: {key} is {type(given).__name__}, no text.", _HINT)
    return given


def _contexts(row: JsonRow) -> tuple[str, ...]:
    key, given = _given(row, _CONTEXT, _HINT + " An empty list is allowed.")
    given = [given] if isinstance(given, str) else given
    texts = [one.get("text") if isinstance(one, Mapping) else one for one in given] if isinstance(given, list) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{row.where}: {key} is no text and no list of texts.", _HINT)
    return tuple(map(str, texts))


def _recorded(row: JsonRow, key: str) -> tuple[bool, ...]:
    given = row.values.get(key) or []
    if not isinstance(given, list) or not all(str(one).lower() in _LABELS for one in given):
        raise UsageError(f"{row.where}: {key} is no list of Entailment, Neutral and Contradiction.", "Correct it.")
    return tuple(_LABELS[str(one).lower()] for one in given)


def check_same(rows: Sequence[EntailmentRow], others: Sequence[EntailmentRow], name: str) -> None:
    """Raise UsageError if two files do not hold the same items."""
    ids, wanted = [row.id for row in others], [row.id for row in rows]
    if ids != wanted:
        wrong = next((one for one in wanted if one not in ids), next((one for one in ids if one not in wanted), ids[0]))
        raise UsageError(f"{name}: the item {wrong!r} is not in both files, or they differ in order.", "Align them.")


def score_entailment(
    name: str,
    rows: Sequence[EntailmentRow],
    tagger: Tagger,
    llm: LLM | None,
    *,
    unusable_as_zero: bool = False,
    split: SplitSentences = sentences,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[ScoredSystem, tuple[str, ...]]:
    """Return the scores of every row, and sentences on what could not be scored and why.

    `split` finds sentences. Raises ModelError if the model does not work, StoppedError.
    """
    scored = entailment_scores([row.item for row in rows], tagger, llm, split=split, stop=stop, on_done=on_done)
    items = tuple(_item(row, one, llm is not None, unusable_as_zero) for row, one in zip(rows, scored, strict=True))
    return ScoredSystem(name, items), _notes(name, scored, llm is not None, unusable_as_zero)


def _item(row: EntailmentRow, scores: EntailmentScores, refusals: bool, unusable_as_zero: bool) -> ScoredItem:
    values = scores.metrics(unusable_as_zero=unusable_as_zero)
    if refusals:
        values |= dict(zip(REFUSALS, (scores.answer_refused.score, scores.gold_refused.score), strict=True))
    if row.precise or row.recalled:
        precision, recall = claim_share(row.precise), claim_share(row.recalled)
        values |= dict(zip(CLAIMS, (precision, recall, claim_f1(precision, recall)), strict=True))
    texts = {"question": row.item.question, "prediction": row.item.answer, "gold_answer": row.item.gold}
    return ScoredItem(row.id, values, {key: text for key, text in texts.items() if text})


def _notes(name: str, scores: Sequence[EntailmentScores], refusals: bool, unusable_as_zero: bool) -> tuple[str, ...]:
    pairs = [pair for one in scores for pair in (one.context_answer, one.gold_answer, one.answer_gold)]
    hypotheses = [hypothesis for pair in pairs for hypothesis in pair.hypotheses]
    unscored = [hypothesis for hypothesis in hypotheses if hypothesis.score is None]
    handled = "counted as 0" if unusable_as_zero else "left out of the means"
    notes = []
    if unscored:
        notes.append(
            f"{name}: {len(unscored)} of {len(hypotheses)} segments had no usable reply and are {handled}; "
            f"the first: {unscored[0].reason}."
        )
    if refusals:
        kept = [reason for one in scores for reason in (one.answer_pronouns, one.gold_pronouns) if reason]
        if kept:
            notes.append(f"{name}: pronouns stay as they were in {len(kept)} of {2 * len(scores)} texts; {kept[0]}.")
    return tuple(notes)
