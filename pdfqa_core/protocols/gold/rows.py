"""Rows to questions: what all tables of questions have in common.

Understood keys, in any case: id, question, references / answers / truth / ground_truth / gold / answer, answerable,
follow_up_of, type, context / contexts (texts that are given with the question), and those of the place readers. Beside
a gold answer of another name, `answer` is one that somebody recorded, and `human` what a person thought of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.base import GoldFile, GoldQuestion, GoldRow, place_readers
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import check_ids, load_rows
from pdfqa_core.types import Passage

CITED = re.compile(r"\[([^\[\]#]+\.pdf)#page=(\d+)\]", re.IGNORECASE)
_GOLD_KEYS = ("references", "answers", "truth", "ground_truth", "gold_answer", "gold")
_RECORDED_KEYS = ("answer", "prediction", "response")
_CONTEXT_KEYS = ("contexts", "context", "passages")
_KIND_KEYS = ("type", "kind", "question_type", "question type")
_SAID = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}


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
    answers = next((found for key in _GOLD_KEYS if (found := texts(row, key))), ())
    recorded = next((found[0] for key in _RECORDED_KEYS if (found := texts(row, key))), None) if answers else None
    answers = answers or texts(row, "answer")
    readers = (place_readers.get(name) for name in place_readers.names())
    places = tuple(dict.fromkeys(place for reader in readers for place in reader.read(row, answers)))
    own_id = str(values.get("id") or values.get("_id") or values.get("financebench_id") or row.number)
    return GoldQuestion(
        own_id,
        question.strip(),
        row.number,
        tuple(without_citations(text) for text in answers),
        places,
        _truth(row),
        str(values.get("follow_up_of") or ""),
        contexts=_contexts(row, own_id),
        kind=str(next((values[key] for key in _KIND_KEYS if values.get(key)), "")),
        recorded=None if recorded is None else without_citations(recorded),
        human=_human(row),
        generated=bool(values.get("made_by")),
    )


def _contexts(row: GoldRow, own_id: str) -> tuple[Passage, ...]:
    """Return the texts that a row gives with its question. Raises UsageError for anything but texts."""
    given: Any = next((row.values[key] for key in _CONTEXT_KEYS if row.values.get(key)), [])
    listed = given if isinstance(given, list) else [given]
    found = [one.get("text") if isinstance(one, Mapping) else one for one in listed]
    if not all(isinstance(text, str) for text in found):
        raise UsageError(f"{row.where}: the contexts are no texts.", "Give a text or a list of them.")
    return tuple(corpus_passage(f"{own_id}.{n}", "", str(text)) for n, text in enumerate(found, start=1) if text)


def _human(row: GoldRow) -> bool | None:
    given = row.values.get("human")
    if given is None or given == "" or isinstance(given, bool):
        return given if isinstance(given, bool) else None
    if str(given).strip().lower() not in _SAID:
        raise UsageError(f"{row.where}: human is {given!r}.", "Write true or false.")
    return _SAID[str(given).strip().lower()]


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
        raise UsageError(
            f"{row.where}: {value!r} is no page number.",
            f"Pages are counted from {least}.",
        )
    return int(float(text))


def _truth(row: GoldRow) -> bool:
    value = row.values.get("answerable", True)
    if not isinstance(value, str):
        return bool(value)
    said = value.strip().lower()
    if said and said not in _SAID:
        raise UsageError(f"{row.where}: answerable is {value!r}.", "Write yes or no.")
    return _SAID.get(said, False)
