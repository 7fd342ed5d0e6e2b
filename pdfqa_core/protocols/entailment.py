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
from pdfqa_core.metrics.claims import claim_f1, claim_share
from pdfqa_core.metrics.entailment import NAMES, EntailmentItem, EntailmentScores, Tagger, entailment_scores
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.protocols.json_rows import check_ids, load_json
from pdfqa_core.types import LLM, ScoredItem, ScoredSystem, StopSignal

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
class Row:
    """A row of a file; `precise` and `recalled` are recorded judgements of claims of the answer and the gold answer."""

    id: str
    item: EntailmentItem
    precise: tuple[bool, ...] = ()
    recalled: tuple[bool, ...] = ()


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of a file. Raises UsageError that names file and row."""
    rows = load_json(path, within=("results", "data", "rows"))
    found = tuple(_row(row, number, f"{path.name}, row {number}") for number, row in rows)
    if not found:
        raise UsageError(f"{path.name} holds no rows.", _HINT)
    check_ids(((number, one.id) for (number, _), one in zip(rows, found, strict=True)), path.name)
    return found


def _row(row: Any, number: int, where: str) -> Row:
    if not isinstance(row, Mapping):
        raise UsageError(f"{where}: not an object.", _HINT)
    name = next((row[key] for key in _ID if row.get(key) is not None), number)
    item = EntailmentItem(
        _text(row, _QUESTION, where), _contexts(row, where), _text(row, _GOLD, where), _text(row, _ANSWER, where)
    )
    return Row(str(name), item, _recorded(row, "answer2response", where), _recorded(row, "response2answer", where))


def _text(row: Mapping[str, Any], keys: Sequence[str], where: str) -> str:
    key = next((key for key in keys if key in row), "")
    if not key:
        raise UsageError(f"{where}: there is no {keys[0]}.", _HINT)
    if not isinstance(row[key], str):
        raise UsageError(f"{where}: {key} is {type(row[key]).__name__}, no text.", _HINT)
    return str(row[key])


def _contexts(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    key = next((key for key in _CONTEXT if key in row), "")
    if not key:
        raise UsageError(f"{where}: there is no context.", _HINT + " An empty list is allowed.")
    given = [row[key]] if isinstance(row[key], str) else row[key]
    texts = [one.get("text") if isinstance(one, Mapping) else one for one in given] if isinstance(given, list) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{where}: {key} is no text and no list of texts.", _HINT)
    return tuple(map(str, texts))


def _recorded(row: Mapping[str, Any], key: str, where: str) -> tuple[bool, ...]:
    given = row.get(key)
    if given is None:
        return ()
    if not isinstance(given, list) or not all(str(one).lower() in _LABELS for one in given):
        raise UsageError(f"{where}: {key} is no list of Entailment, Neutral and Contradiction.", "Correct it.")
    return tuple(_LABELS[str(one).lower()] for one in given)


def check_same(rows: Sequence[Row], others: Sequence[Row], name: str) -> None:
    """Raise UsageError if two files do not hold the same items."""
    ids, wanted = [row.id for row in others], [row.id for row in rows]
    if ids != wanted:
        wrong = next((one for one in wanted if one not in ids), next((one for one in ids if one not in wanted), ids[0]))
        raise UsageError(f"{name}: the item {wrong!r} is not in both files, or they differ in order.", "Align them.")


def score_entailment(
    name: str,
    rows: Sequence[Row],
    tagger: Tagger,
    llm: LLM | None,
    *,
    unusable_as_zero: bool = False,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[ScoredSystem, tuple[str, ...]]:
    """Return the scores of every row, and sentences on what could not be scored and why.

    Raises ModelError if the model does not work, StoppedError.
    """
    scored = entailment_scores([row.item for row in rows], tagger, llm, stop=stop, on_done=on_done)
    items = tuple(_item(row, one, llm is not None, unusable_as_zero) for row, one in zip(rows, scored, strict=True))
    return ScoredSystem(name, items), _notes(name, scored, llm is not None, unusable_as_zero)


def _item(row: Row, scores: EntailmentScores, refusals: bool, unusable_as_zero: bool) -> ScoredItem:
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
