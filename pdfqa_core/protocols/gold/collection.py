"""Data sets that bring their texts along: what is searched, and looking into a file to tell its form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.base import GoldFile, GoldQuestion
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, load_rows


def with_corpus(path: Path, questions: Iterable[GoldQuestion]) -> GoldFile:
    """Return questions whose passages, all together, are what is searched. Raises UsageError for an id used twice."""
    found = tuple(questions)
    check_ids(((one.row, one.id) for one in found), path.name)
    corpus = {passage.id: passage for question in found for passage in question.contexts}
    return GoldFile(path.stem, found, tuple(corpus.values()))


def rows_of(path: Path, hint: str, *, within: tuple[str, ...] = ()) -> list[JsonRow]:
    """Return the rows of a data set's file. Raises UsageError that names file and row."""
    return load_rows(path, "questions", hint, within=within)


def text_of(row: JsonRow, values: Mapping[str, Any], key: str, hint: str) -> str:
    """Return the text under a key of a row or of a part of it. Raises UsageError that names the row and the key."""
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        found = "missing" if value is None else "empty" if value == "" else f"{type(value).__name__}, no text"
        raise UsageError(f"{row.where}: {key} is {found}.", hint)
    return value.strip()


def list_of(row: JsonRow, values: Mapping[str, Any], key: str, hint: str) -> list[Mapping[str, Any]]:
    """Return the list of objects under a key. Raises UsageError that names the row and the key."""
    value = values.get(key)
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise UsageError(f"{row.where}: {key} is no list of objects.", hint)
    return value
