"""A run as a ZIP that another workspace takes: its plan, answers and scores exactly, its data, and how it was made."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction, Run
from pdfqa_core.extraction.process.outside import read_file, unpacked
from pdfqa_core.json_codec import checked, parse_json, plain

FORMAT = 1
CONTENT, METHODS, DATA = "run.json", "methods.md", "data/"
_HINT = "Give a file that “pdfqa evaluate runs export” wrote."
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a ZIP can hold: the same run makes the same file


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a system predicted for an item."""

    system: str
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class RunCopy:
    """A run with all that was predicted in it; `plan.data` holds the names of its files."""

    run: Run
    predictions: tuple[Predicted, ...] = ()


def write_run(copy: RunCopy, data: Mapping[str, bytes], methods: str) -> bytes:
    """Return the ZIP of a run with its data by file name; the same run makes the same bytes."""
    content = json.dumps({"format": FORMAT, **plain(copy)}, separators=(",", ":"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        parts = {CONTENT: content.encode(), METHODS: methods.encode("utf-8", "replace")}
        for name, part in (parts | {f"{DATA}{name}": one for name, one in data.items()}).items():
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, part)
    return packed.getvalue()


@contextmanager
def opened_run(source: Path | bytes, name: str) -> Iterator[tuple[RunCopy, dict[str, Path]]]:
    """Give the run in a ZIP and its data, as files that are there as long as the context is, by file name.

    `name` is the file's in error messages. Raises UsageError: no such ZIP, damaged, larger than it may be, of a newer
    version, or with its data or a field missing, or a field of another kind.
    """
    with unpacked(source, name, of="run", hint=_HINT) as folder:
        if not (folder / CONTENT).is_file():
            raise UsageError(f"{name} holds no run: it is another file, or damaged.", _HINT)
        found: Any = parse_json(read_file(folder / CONTENT), f"{name}, {CONTENT}")
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise UsageError(f"{name} holds no run.", _HINT)
        if found["format"] > FORMAT:
            raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
        copy = checked(RunCopy, found, f"{name}, {CONTENT}", _HINT)
        files = {path.name: path for path in (folder / DATA).rglob("*") if path.is_file()}
        if missing := next((one for one in copy.run.plan.data if one not in files), ""):
            raise UsageError(f"{name} is not complete: its data {missing!r} is missing.", _HINT)
        yield copy, files
