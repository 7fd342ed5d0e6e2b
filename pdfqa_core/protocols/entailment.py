"""Entailment: what an answer claims, against what was read for it and against the gold answer; refusals of both.

Files: a list or JSONL of {"question", "context", "ground_truth", "answer"}, or RAGChecker's {"results": […]} with
`query`, `retrieved_context`, `gt_answer` and `response`; where that holds recorded judgements of claims, claim
precision and recall are reported too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.metrics.entailment import NAMES, EntailmentItem, EntailmentScores, LLMTagger, entailment_scores
from pdfqa_core.metrics.rag import claim_f1, claim_share
from pdfqa_core.protocols.base import (
    GIVEN,
    RECORDED,
    SEARCH,
    Case,
    CaseFile,
    Rows,
    RunProtocol,
    Tools,
    Values,
    Written,
    answered,
    run_protocols,
    scored_system,
)
from pdfqa_core.protocols.gold.base import corpus_passage
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, load_rows, peek
from pdfqa_core.text import plain_sentences, sentences

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
NO_REFUSALS = "Refusals are not scored: that takes a language model, which is not available."


@dataclass(frozen=True, slots=True)
class EntailmentPrediction(Prediction):
    """A row of a file: an answer with all that it is compared with, and recorded judgements of claims.

    `precise` are those of claims of the answer, `recalled` those of claims of the gold answer.
    """

    item: EntailmentItem | None = None
    precise: tuple[bool, ...] = ()
    recalled: tuple[bool, ...] = ()


def read_rows(path: Path) -> tuple[EntailmentPrediction, ...]:
    """Return the rows of a file. Raises UsageError that names file and row."""
    rows = load_rows(path, "rows", _HINT, within=("results", "data", "rows"))
    found = tuple(map(_row, rows))
    check_ids(((row.number, one.item_id) for row, one in zip(rows, found, strict=True)), path.name)
    return found


def _row(row: JsonRow) -> EntailmentPrediction:
    name = next((row.values[key] for key in _ID if row.values.get(key) is not None), row.number)
    item = EntailmentItem(_text(row, _QUESTION), _contexts(row), _text(row, _GOLD), _text(row, _ANSWER))
    judgements = _recorded(row, "answer2response"), _recorded(row, "response2answer")
    return EntailmentPrediction(str(name), item.answer, item=item, precise=judgements[0], recalled=judgements[1])


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


# ----------------------------------------------------------------------------------------------------
# The protocol.


class Entailment(RunProtocol):
    """Answers that stand in the file, or those of a system."""

    title: ClassVar[str] = "Entailment"
    words: ClassVar[str] = "statements of answers against context and gold answer; refusals of both"
    evidence: ClassVar[tuple[str, ...]] = (GIVEN, SEARCH, RECORDED)
    needs: ClassVar[frozenset[str]] = frozenset({"llm"})
    rows: ClassVar[Rows] = Rows(contexts=True)
    shown: ClassVar[tuple[str, ...]] = (*MEASURES, *REFUSALS)

    def read(self, path: Path) -> CaseFile:
        """Return the questions of a file; RAGChecker's files are read too."""
        if not isinstance(peek(path).get("results"), list):
            return super().read(path)
        return CaseFile(path.stem, tuple(map(_case, read_rows(path))))

    def published(self, gold: Path | None, data: Mapping[str, Path], options: Mapping[str, str]) -> Written:
        """Return the rows of each system's file. Raises UsageError where two files do not hold the same items."""
        files = {name: read_rows(path) for name, path in data.items()}
        first, *others = data.values()
        cases = tuple(map(_case, next(iter(files.values()))))
        for rows, path in zip(list(files.values())[1:], others, strict=True):
            ids, wanted = [row.item_id for row in rows], [case.id for case in cases]
            if ids != wanted:
                wrong = next((one for one in (*wanted, *ids) if one not in ids or one not in wanted), ids[0])
                raise UsageError(
                    f"{path.name}: the item {wrong!r} is not in both files, or they differ in order.", "Align them."
                )
        predictions = {(name, row.item_id): row for name, rows in files.items() for row in rows}
        return Written(CaseFile(first.name, cases), predictions)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the three scores with their F1 and both refusals. Raises ModelError without a language model."""
        if tools.llm is None and tools.tagger is None:
            raise ModelError("Entailment needs a language model.", "Choose one, or name an NLI model with --nli.")
        tagger = tools.tagger or LLMTagger(tools.llm)  # type: ignore[arg-type]
        there, plain = answered(cases, predictions), tools.profile.plain_sentences
        as_zero, told = tools.profile.unusable_as_zero, tools.llm is not None
        scored = entailment_scores(
            [_compared(case, one) for case, one in there],
            tagger,
            tools.llm,
            split=plain_sentences if plain else sentences,
            stop=tools.stop,
            on_done=tools.on_done,
        )
        tools.settings |= {
            "tagged by": tagger.name,
            "pronouns and refusals": "unchanged, not told" if tools.llm is None else tools.llm.name,
            "segments without a usable reply": "count as 0" if as_zero else "left out",
            "sentences": "NLTK's" if plain else "Punkt with more abbreviations, and at blank lines",
        }
        tools.notes += _notes(name, scored, told, as_zero)
        if not told and not tools.published:
            tools.notes.append(NO_REFUSALS)
        values = {
            case.id: _values(one, scores, told, as_zero) for (case, one), scores in zip(there, scored, strict=True)
        }
        return scored_system(name, cases, predictions, values)

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value; of files all of them, and those of claims where some are judged."""
        if not tools.published:
            return super().measures(systems, tools)
        judged = any(CLAIMS[0] in item.metrics for one in systems for item in one.items)
        return (*MEASURES, *(REFUSALS if tools.llm is not None else ()), *(CLAIMS if judged else ()))


def _case(row: EntailmentPrediction) -> Case:
    assert row.item is not None
    contexts = (corpus_passage(f"{row.item_id}.{n}", "", text) for n, text in enumerate(row.item.contexts, start=1))
    return Case(row.item_id, row.item.question, (row.item.gold,), contexts=tuple(contexts), recorded=row.answer)


def _compared(case: Case, prediction: Prediction) -> EntailmentItem:
    """Return an answer with what was read for it, or came with the question, and the gold answer."""
    if isinstance(prediction, EntailmentPrediction) and prediction.item is not None:
        return prediction.item
    texts = tuple(one.text for one in prediction.evidence) or tuple(one.text for one in case.contexts)
    return EntailmentItem(case.question, texts, case.references[0] if case.references else "", prediction.answer)


def _values(prediction: Prediction, scores: EntailmentScores, refusals: bool, unusable_as_zero: bool) -> Values:
    values = scores.metrics(unusable_as_zero=unusable_as_zero)
    if refusals:
        values |= dict(zip(REFUSALS, (scores.answer_refused.score, scores.gold_refused.score), strict=True))
    if isinstance(prediction, EntailmentPrediction) and (prediction.precise or prediction.recalled):
        precision, recall = claim_share(prediction.precise), claim_share(prediction.recalled)
        values |= dict(zip(CLAIMS, (precision, recall, claim_f1(precision, recall)), strict=True))
    return values


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


run_protocols.register("entailment", Entailment.words)(Entailment())
