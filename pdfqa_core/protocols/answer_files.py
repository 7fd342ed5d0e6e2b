"""Answers and gold answers from JSON files, matched with each other.

A file is a JSON list (or JSONL) of objects with `answer` and, where there are any, `citations` and `id`. A gold answer
may be a list of references, empty where none is known. Items are matched by id where both files give ids, else by their
order. A row may say that its question is not `answerable`, what a person thought of the answer (`human`: true or false,
"Yes" or "No"), and why nothing came of it (`error`), so that it is not scored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.rag import PHRASE
from pdfqa_core.metrics.short_answers import normalise_answer
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, check_same_ids, load_rows

# ----------------------------------------------------------------------------------------------------
# Examples for few-shot prompts: pairs of question and passage, from a JSON or JSONL file.

HINT = 'Write one {"question": …, "passage": …} per line.'


def read_pairs(path: Path) -> tuple[tuple[str, str], ...]:
    """Return (question, passage) of every row; "quote" counts as the passage too. Raises UsageError naming the row."""
    pairs = []
    for row in load_rows(path, "examples", HINT):
        question, passage = row.values.get("question"), row.values.get("passage", row.values.get("quote"))
        for name, value in (("question", question), ("passage", passage)):
            if not isinstance(value, str) or not value.strip():
                raise UsageError(f"{row.where}: there is no {name}.", HINT)
        pairs.append((str(question), str(passage)))
    return tuple(pairs)


# ----------------------------------------------------------------------------------------------------
# Answers and gold answers from JSON files, matched with each other.

_ANSWERS = ("answer", "prediction", "answers", "references", "truth")
_LONGEST_PHRASE = 80  # characters with punctuation and white space around "insufficient context"
_SAID = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A row of a file: `answers` holds one text for a prediction, all references for a gold answer."""

    row: int
    id: str
    answers: tuple[str, ...]
    citations: tuple[str, ...] | None = None
    question: str = ""
    answerable: bool | None = None
    human: bool | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A prediction with its gold answer. Citations are None where neither file has any for any item.

    `answerable` is False where the file says so or the gold answer is "insufficient context"; `human` is what a person
    thought of the prediction, None if nobody judged it; `error` why there is no prediction, which is not scored then.
    """

    id: str
    prediction: str
    references: tuple[str, ...]
    cited: tuple[str, ...] | None = None
    gold_citations: tuple[str, ...] | None = None
    question: str = ""
    answerable: bool = True
    human: bool | None = None
    error: str = ""


def read_rows(path: Path, *, several: bool) -> tuple[AnswerRow, ...]:
    """Return the rows of a file; `several`: an answer may be a list of references. Raises UsageError with the row."""
    hint = 'Write a list of {"answer": …, "citations": […]}.'
    rows = [_row(row, several) for row in load_rows(path, "answers", hint)]
    given = [row for row in rows if row.id]
    if given and len(given) < len(rows):
        missing = next(row.row for row in rows if not row.id)
        raise UsageError(f"{path.name}, row {missing}: there is no id.", "Give every row an id, or none.")
    check_ids(((row.row, row.id) for row in given), path.name)
    return tuple(rows)


def _row(row: JsonRow, several: bool) -> AnswerRow:
    value = row.values
    key = next((key for key in _ANSWERS if key in value), "")
    if not key:
        raise UsageError(f"{row.where}: there is no answer.", 'Every row needs an "answer".')
    answer = value[key]
    texts = answer if several and isinstance(answer, list) else [answer]
    if not all(isinstance(text, str | int | float) and not isinstance(text, bool) for text in texts):
        kinds = ", ".join(sorted({type(text).__name__ for text in texts}))
        hint = "Give a text or a list of texts." if several else "Give one text."
        raise UsageError(f"{row.where}: the answer is no text but {kinds}.", hint)
    return AnswerRow(
        row.number,
        "" if value.get("id") is None else str(value["id"]),
        tuple(str(text) for text in texts),
        _citations(row),
        str(value.get("question") or ""),
        _flag(row, "answerable"),
        _flag(row, "human"),
        str(value.get("error") or ""),
    )


def _flag(row: JsonRow, key: str) -> bool | None:
    given = row.values.get(key)
    if given is None or isinstance(given, bool):
        return given
    if str(given).strip().lower() not in _SAID:
        raise UsageError(f"{row.where}: {key} is {given!r}.", "Write true or false.")
    return _SAID[str(given).strip().lower()]


def _citations(row: JsonRow) -> tuple[str, ...] | None:
    value = row.values.get("citations")
    if value is None:
        return None
    if not isinstance(value, list):
        raise UsageError(f"{row.where}: citations are no list.", "Write a list of ids; [] for no citation.")
    for one in value:
        wrong = (
            isinstance(one, bool | dict | list) or one is None or (isinstance(one, float) and not math.isfinite(one))
        )
        if wrong:
            raise UsageError(f"{row.where}: {one!r} is no citation.", "Cite by number or name.")
    return tuple(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in value)


def match(predictions: Sequence[AnswerRow], gold: Sequence[AnswerRow]) -> tuple[Pair, ...]:
    """Return predictions with their gold answers, in the order of the gold file.

    By id where both have ids, else by order. Raises UsageError that names the first id or the number that is missing.
    """
    if predictions and gold and predictions[0].id and gold[0].id:
        known = {row.id: row for row in predictions}
        check_same_ids(known, {row.id: row for row in gold}, without=("no prediction", "no gold answer"))
        paired = [(known[row.id], row) for row in gold]
    else:
        if len(predictions) != len(gold):
            raise UsageError(
                f"There are {len(predictions)} predictions and {len(gold)} gold answers.",
                "Give the items ids, or as many of the one as of the other.",
            )
        paired = list(zip(predictions, gold, strict=True))
    cited = any(row.citations is not None for pair in paired for row in pair)
    return tuple(
        Pair(
            truth.id or given.id or str(truth.row),
            given.answers[0],
            truth.answers,
            (given.citations or ()) if cited else None,
            (truth.citations or ()) if cited else None,
            truth.question or given.question,
            _answerable(truth),
            given.human if given.human is not None else truth.human,
            given.error,
        )
        for given, truth in paired
    )


def _answerable(truth: AnswerRow) -> bool:
    if truth.answerable is not None:
        return truth.answerable
    likely = (answer for answer in truth.answers if len(answer) < _LONGEST_PHRASE)
    return not any(normalise_answer(answer) == PHRASE for answer in likely)
