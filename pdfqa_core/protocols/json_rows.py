"""Rows of JSON and JSONL files, with everything that can be wrong with them named by its line."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.json_codec import parse_json

_BOM = b"\xef\xbb\xbf"
_SAID = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class JsonRow:
    """An object of a file with its number, from 1, and its place for error messages."""

    number: int
    where: str
    values: Mapping[str, Any]


def load_rows(path: Path, of: str, hint: str, *, within: Sequence[str] = ()) -> list[JsonRow]:
    """Return the objects of a JSON list or a JSONL file; `of` says what they are, `hint` how to write them.

    `within` names the fields of a JSON object under one of which the list may stand. Raises UsageError that names file
    and line: not there, too large, not UTF-8, no JSON, NaN, empty, no list, a row that is not an object.
    """
    rows = []
    for number, values in _load(path, within):
        row = JsonRow(number, f"{path.name}, row {number}", values)
        if not isinstance(values, Mapping):
            raise UsageError(f"{row.where}: not an object.", hint)
        rows.append(row)
    if not rows:
        raise UsageError(f"{path.name} holds no {of}.", hint)
    return rows


def _load(path: Path, within: Sequence[str]) -> Iterable[tuple[int, Any]]:
    data = _content(path, "Write a list of objects, or one object per line.")
    if data.startswith(b"["):
        return enumerate(parse_json(data, path.name), start=1)
    if within and not _is_row(data.partition(b"\n")[0], within):
        found = parse_json(data, path.name)
        held = found if isinstance(found, dict) else {}
        rows = next((held[key] for key in within if isinstance(held.get(key), list)), None)
        if rows is None:
            raise UsageError(f"{path.name} holds no list.", f"Write one, or an object with {' or '.join(within)}.")
        return enumerate(rows, start=1)
    return _lines(data, path.name)


def flag_of(row: JsonRow, key: str) -> bool | None:
    """Return what a row says under a key, in words or as true or false; None where it says nothing. UsageError."""
    given = row.values.get(key)
    if given is None or isinstance(given, bool):
        return given
    said = str(given).strip().lower()
    if said and said not in _SAID:
        raise UsageError(f"{row.where}: {key} is {given!r}.", "Write true or false.")
    return _SAID.get(said)


def load_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises UsageError as `load_rows` does, and for a name that is there twice."""
    data = _content(path, "Write a JSON object.")
    if not data.startswith(b"{"):
        raise UsageError(f"{path.name} is no JSON object.", "It begins with {.")
    return dict(parse_json(data, path.name, unique=True))


def check_ids(ids: Iterable[tuple[int, str]], name: str) -> None:
    """Raise UsageError that names both rows if an id occurs twice; `ids` are (row, id)."""
    seen: dict[Hashable, int] = {}
    for row, one in ids:
        if one in seen:
            raise UsageError(
                f"{name}, row {row}: the id {one!r} is used in row {seen[one]} already.", "Give every row its own id."
            )
        seen[one] = row


def check_same_ids(given: Collection[str], gold: Collection[str], *, without: tuple[str, str], name: str = "") -> None:
    """Raise UsageError if an id is in one of the two only; `without` says what a gold and what a given id lacks."""
    missing, extra = ([one for one in ids if one not in others] for ids, others in ((gold, given), (given, gold)))
    for ids, what in ((missing, without[0]), (extra, without[1])):
        if ids:
            more = f" and {len(ids) - 1} more" if ids[1:] else ""
            raise UsageError(
                f"{f'{name}: there' if name else 'There'} is {what} with the id {ids[0]!r}{more}.",
                "Both must hold the same items.",
            )


def _content(path: Path, hint: str) -> bytes:
    data = read_file(path).removeprefix(_BOM).lstrip()
    if not data:
        raise UsageError(f"{path.name} is empty.", hint)
    return data


def _lines(data: bytes, name: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, parse_json(line, name, number)


def _is_row(line: bytes, within: Sequence[str]) -> bool:
    """Return whether a file's first line is a row, not (the beginning of) an object that holds all rows."""
    try:
        found = parse_json(line, "")
    except UsageError:
        return False
    return not (isinstance(found, dict) and any(isinstance(found.get(key), list) for key in within))


# ------------------------------------------------------------------ telling forms apart


def peek(path: Path) -> Mapping[str, Any]:
    """Return the first row of a JSON or JSONL file, or the object that the file is; empty where it is neither."""
    if path.suffix.lower() not in (".json", ".jsonl", "") or not path.is_file():
        return {}
    stat = path.stat()
    return _peek(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _peek(path: Path, changed: int, size: int) -> Mapping[str, Any]:
    data = read_file(path).removeprefix(_BOM).lstrip()
    try:
        first = parse_json(data[1:], path.name, first=True) if data.startswith(b"[") else _first_object(data)
    except UsageError:  # told in full by the reader that takes the file
        return {}
    return first if isinstance(first, Mapping) else {}


def _first_object(data: bytes) -> Any:
    try:
        return parse_json(data.partition(b"\n")[0], "")
    except UsageError:
        return parse_json(data, "")


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
