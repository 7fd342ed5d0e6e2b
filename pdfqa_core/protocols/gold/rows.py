"""Rows to questions: what all tables of questions have in common.

Understood keys, in any case: id, question, references / answers / truth / ground_truth / gold / answer, answerable,
follow_up_of, type, context / contexts (texts that are given with the question), and those of the place readers. Beside
a gold answer of another name, `answer` is one that somebody recorded, and `human` what a person thought of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.csv_format import read_csv, write_csv
from pdfqa_core.errors import UsageError, in_file
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols.gold.base import GoldFile, GoldQuestion, GoldRow, corpus_passage, file_readers, place_readers
from pdfqa_core.protocols.json_rows import check_ids, flag_of, load_rows, peek
from pdfqa_core.types import Passage

CITED = re.compile(r"\[([^\[\]#]+\.pdf)#page=(\d+)\]", re.IGNORECASE)
_GOLD_KEYS = ("references", "answers", "truth", "ground_truth", "gold_answer", "gold")
_RECORDED_KEYS = ("answer", "prediction", "response")
_CONTEXT_KEYS = ("contexts", "context", "passages")
_KIND_KEYS = ("type", "kind", "question_type", "question type")


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
        human=flag_of(row, "human"),
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
    return bool(flag_of(row, "answerable")) if isinstance(value, str) else bool(value)


# ----------------------------------------------------------------------------------------------------
# Columns of one's own: which column of a table, or field of its rows, holds the question, the answer and so on.

TABLES = (".csv", ".jsonl", ".json")
TEMPLATE = "questions.csv"


@dataclass(frozen=True, slots=True)
class Field:
    """What a column can hold: its name, what it is, the names that are read without a choice, others that say the same.

    `example` stands in the template; a field without one is left out there.
    """

    name: str
    words: str
    read: tuple[str, ...]
    also: tuple[str, ...] = ()
    example: str | None = None


FIELDS = (
    Field("question", "Question", ("question", "query"), ("input", "prompt", "user_input"),
          "How often are the meters read?"),
    Field("answer", "Gold answer", ("truth", "ground_truth", "gold_answer", "gold", "references", "answers", "answer"),
          ("reference", "expected", "expected_answer", "output"), "Every 15 minutes."),
    Field("document", "File of the answer", ("document", "file", "filename", "doc_name"), ("doc", "source", "pdf"),
          "report.pdf"),
    Field("page", "Page, from 1", ("page", "pages"), ("page_number", "page_no"), "4"),
    Field("quote", "Words of that page", ("quote",), ("evidence_text", "snippet", "supporting_text"),
          "read every 15 minutes"),
    Field("type", "Type of question", ("type", "kind", "question_type"), ("category",), "extractive"),
    Field("follow_up_of", "Id of the turn before", ("follow_up_of",), ("previous", "parent", "follow_up"), ""),
    Field("prediction", "Recorded answer", ("prediction", "response"), ("predicted", "generated", "model_answer")),
    Field("id", "Id", ("id", "_id"), ("qid", "question_id"), "q1"),
    Field("answerable", "Can be answered (yes, no)", ("answerable",), ("is_answerable",), "yes"),
    Field("contexts", "Texts given with it", ("contexts", "context", "passages")),
)  # fmt: skip
_BY_NAME = {field.name: field for field in FIELDS}
_KEYS = {"answer": "truth"}  # how a field is called in a mapped file, where not by its name: beside a recorded answer


def columns_of(path: Path) -> tuple[str, ...]:
    """Return the columns of a table, or the fields of the first of its rows; none for other files and broken ones."""
    try:
        if path.suffix.lower() == ".csv":
            return read_csv(read_file(path)).header
        if path.suffix.lower() not in TABLES or not _has_rows(read_file(path)):
            return ()
    except UsageError:
        return ()
    readers = (file_readers.get(name) for name in file_readers.names() if name != "jsonl")
    return () if any(one.recognises(path) for one in readers) else tuple(map(str, peek(path)))


def _has_rows(data: bytes) -> bool:
    text = data.removeprefix(b"\xef\xbb\xbf").strip()
    return text.startswith(b"[") or (text.startswith(b"{") and (b"\n{" in text or b"\n" not in text))


def guessed(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns by field as far as their names say what they hold."""
    by_name = {_plain(column): column for column in reversed(columns)}
    found: dict[str, str] = {}
    for field in FIELDS:
        column = next((by_name[name] for name in (*field.read, *field.also) if name in by_name), "")
        if column and column not in found.values():
            found[field.name] = column
    return found


def needed(columns: Sequence[str], chosen: Mapping[str, str]) -> bool:
    """Return whether a file with these columns is read as `chosen` says only if they are renamed."""
    wanted = {field: column for field, column in chosen.items() if column}
    if "question" not in wanted:
        return False
    known = {field: column for field, column in guessed(columns).items() if field in chosen}
    return wanted != known or any(_plain(column) not in _BY_NAME[field].read for field, column in wanted.items())


def _plain(column: str) -> str:
    return column.strip().lower().replace(" ", "_")


def mapped(path: Path, columns: Mapping[str, str]) -> bytes:
    """Return the table with its columns named by field, in its own format, row by row; `columns` are those by field.

    Raises UsageError that names a field that there is not, a column that the file has not, one that is missing, or the
    row and the column whose value its field does not take.
    """
    wanted = {field: column for field, column in columns.items() if column}
    if unknown := next((field for field in wanted if field not in _BY_NAME), ""):
        raise UsageError(f"There is no field {unknown!r}.", f"Choose one of: {', '.join(_BY_NAME)}.")
    if "question" not in wanted:
        raise UsageError(f"{path.name}: no column is chosen for the question.", "Choose one under Columns.")
    keys = {field: _KEYS.get(field, field) for field in wanted}
    if path.suffix.lower() == ".csv":
        with in_file(path.name):
            table = read_csv(read_file(path))
        _check(path, table.header, wanted)
        places = [table.header.index(column) for column in wanted.values()]
        cells = [[row.cells[place] for place in places] for row in table.rows]
        for row, values in zip(table.rows, cells, strict=True):
            _check_row(path, row.number, dict(zip(wanted, values, strict=True)), wanted)
        return write_csv(tuple(keys.values()), cells)
    rows = load_rows(path, "questions", 'Write one {"question": …, "answer": …} per line.')
    _check(path, tuple(dict.fromkeys(str(key) for row in rows for key in row.values)), wanted)
    for one in rows:
        given = {field: one.values[column] for field, column in wanted.items() if column in one.values}
        _check_row(path, one.number, given, wanted)
    lines = {
        row.number: {keys[field]: row.values[column] for field, column in wanted.items() if column in row.values}
        for row in rows
    }
    if read_file(path).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        return json.dumps(list(lines.values()), ensure_ascii=False).encode("utf-8", "replace")
    texts = (json.dumps(lines[n], ensure_ascii=False) if n in lines else "" for n in range(1, max(lines) + 1))
    return ("\n".join(texts) + "\n").encode("utf-8", "replace")


def _check(path: Path, header: Sequence[str], wanted: Mapping[str, str]) -> None:
    for field, column in wanted.items():
        if column not in header:
            raise UsageError(
                f"{path.name} has no column {column!r}, which is to hold: {_BY_NAME[field].words.lower()}.",
                f"It has: {', '.join(header)}.",
            )


def _check_row(path: Path, number: int, given: Mapping[str, object], wanted: Mapping[str, str]) -> None:
    """Raise UsageError that names row, column and field of the first value that its field does not take."""
    try:
        _read_row(path, number, given)
    except UsageError as all_of_it:
        for field, column in wanted.items():
            try:
                _read_row(path, number, {"question": "?"} | {name: one for name, one in given.items() if name == field})
                if field == "question" and not str(given.get(field) or "").strip():
                    raise UsageError(f"{path.name}, row {number}: there is no question.", "Every row needs one.")
            except UsageError as error:
                raise UsageError(
                    f"{path.name}, row {number}, column {column!r} ({_BY_NAME[field].words.lower()}): "
                    f"{error.what.partition(': ')[2]}",
                    error.hint,
                ) from error
        raise all_of_it


def _read_row(path: Path, number: int, given: Mapping[str, object]) -> None:
    values = {_KEYS.get(field, field): value for field, value in given.items()}
    as_questions(path, [gold_row(values, number, path.name)])


def template() -> bytes:
    """Return a CSV file with the columns that most need and one example row, to be filled in."""
    shown = [(field.name, field.example) for field in FIELDS if field.example is not None]
    return write_csv([name for name, _ in shown], [[example for _, example in shown]])
