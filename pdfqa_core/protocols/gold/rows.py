"""Rows to questions: what all tables of questions have in common.

Understood keys, in any case: id, question, answer / answers / truth / references, answerable, follow_up_of, and those
of the place readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.base import GoldFile, GoldQuestion, GoldRow, place_readers
from pdfqa_core.protocols.json_rows import check_ids, load_rows

CITED = re.compile(r"\[([^\[\]#]+\.pdf)#page=(\d+)\]", re.IGNORECASE)
_ANSWER_KEYS = ("references", "answers", "answer", "truth", "ground_truth", "gold")


def without_citations(text: str) -> str:
    """Return an answer without its `[file.pdf#page=7]` marks."""
    return " ".join(CITED.sub(" ", text).split())


def json_rows(path: Path) -> list[GoldRow]:
    """Return the objects of a JSON list or JSONL file. Raises UsageError that names file and row."""
    rows = load_rows(path, "questions", 'Write one {"question": …, "answer": …} per line.')
    return [gold_row(row.values, row.number, path.name) for row in rows]


def gold_row(values: Mapping[Any, Any], number: int, file: str) -> GoldRow:
    """Return a row with its keys in lower case."""
    return GoldRow(number, f"{file}, row {number}", {str(key).strip().lower(): one for key, one in values.items()})


def as_questions(path: Path, rows: Iterable[GoldRow]) -> GoldFile:
    """Return the questions of a file's rows. Raises UsageError that names file and row."""
    questions = tuple(_question(row) for row in rows)
    check_ids(((one.row, one.id) for one in questions), path.name)
    return GoldFile(path.stem, questions)


def _question(row: GoldRow) -> GoldQuestion:
    values = row.values
    question = values.get("question") or values.get("query") or ""
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f"{row.where}: there is no question.", 'Every row needs a "question".')
    answers = next((found for key in _ANSWER_KEYS if (found := texts(row, key))), ())
    readers = (place_readers.get(name) for name in place_readers.names())
    places = tuple(dict.fromkeys(place for reader in readers for place in reader.read(row, answers)))
    return GoldQuestion(
        str(values.get("id") or values.get("_id") or values.get("financebench_id") or row.number),
        question.strip(),
        row.number,
        tuple(without_citations(text) for text in answers),
        places,
        _truth(values.get("answerable", True)),
        str(values.get("follow_up_of") or ""),
    )


def texts(row: GoldRow, key: str) -> tuple[str, ...]:
    """Return the text or the list of texts under a key. Raises UsageError for anything else."""
    value = row.values.get(key)
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    if not all(isinstance(text, str | int | float) for text in values):
        raise UsageError(f"{row.where}: {key} holds something that is no text.", "Give a text or a list of them.")
    return tuple(map(str, values))


def page_number(value: Any, row: GoldRow, least: int = 1) -> int:
    """Return a page number as it stands in a row, counted from `least`. Raises UsageError if it is none."""
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,7}(\.0)?", text) or int(float(text)) < least:
        raise UsageError(f"{row.where}: {value!r} is no page number.", f"Pages are counted from {least}.")
    return int(float(text))


def _truth(value: Any) -> bool:
    return value.strip().lower() not in ("false", "no", "0", "") if isinstance(value, str) else bool(value)
