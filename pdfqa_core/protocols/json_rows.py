"""Rows of JSON and JSONL files, with everything that can be wrong with them named by its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError

MAX_BYTES = 200_000_000


def read_file(path: Path) -> bytes:
    """Return a file's bytes. Raises UsageError: not there, not readable, larger than MAX_BYTES."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(f"{path.name} has {size / 1e6:.0f} MB; the limit is {MAX_BYTES // 10**6} MB.", "Split it.")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error


def load_json(path: Path) -> list[tuple[int, Any]]:
    """Return the rows of a JSON list or a JSONL file with their 1-based numbers.

    Raises UsageError that names file and line: not there, too large, not UTF-8, no JSON, NaN, empty, no list.
    """
    data = read_file(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageError(f"{path.name}, line {line}: not UTF-8.", "Save the file as UTF-8.") from error
    if not text.strip():
        raise UsageError(f"{path.name} is empty.", "Write a list of objects, or one object per line.")
    if text.lstrip().startswith("["):
        return list(enumerate(_parsed(text, path.name, 0), start=1))
    return [
        (number, _parsed(line, path.name, number))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]


def _parsed(text: str, name: str, line: int) -> Any:
    def refuse(constant: str) -> Any:
        raise UsageError(
            f"{name}{f', line {line}' if line else ''}: {constant} is no value.", "Write null or a number."
        )

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}, line {line or error.lineno}: no valid JSON ({error.msg}).", "Correct it.") from error
    except RecursionError as error:
        raise UsageError(f"{name} is nested too deeply.", "Write a plain list of objects.") from error
