"""A run as a ZIP that another workspace takes: its plan, answers and scores exactly, its data, and how it was made."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction, Run
from pdfqa_core.json_codec import parse_json, plain, restore
from pdfqa_core.whole_files import DAMAGE

FORMAT = 1
CONTENT, METHODS, DATA = "run.json", "methods.md", "data/"
LARGEST = 1_000_000_000  # bytes of a part, unpacked
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


def read_run(data: bytes, name: str) -> tuple[RunCopy, dict[str, bytes]]:
    """Return the run in a ZIP and its data by file name; `name` is the file's in error messages.

    Raises UsageError: no such ZIP, damaged, too large, of a newer version, or with a field or its data missing.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if any(entry.file_size > LARGEST for entry in archive.infolist()):
                raise UsageError(f"{name} is larger than any run: over {LARGEST / 1e9:.0f} GB unpacked.", _HINT)
            content = archive.read(CONTENT)
            files = {
                PurePosixPath(entry).name: archive.read(entry)
                for entry in archive.namelist() if entry.startswith(DATA) and not entry.endswith("/")
            }  # fmt: skip
    except DAMAGE as error:
        raise UsageError(f"{name} holds no run: it is another file, or damaged.", _HINT) from error
    found: Any = parse_json(content, f"{name}, {CONTENT}")
    if not isinstance(found, dict) or not isinstance(found.get("format"), int):
        raise UsageError(f"{name} holds no run.", _HINT)
    if found["format"] > FORMAT:
        raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
    try:
        copy: RunCopy = restore(RunCopy, found)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{name} is not complete: {error}.", _HINT) from error
    if missing := next((one for one in copy.run.plan.data if one not in files), ""):
        raise UsageError(f"{name} is not complete: its data {missing!r} is missing.", _HINT)
    return copy, files
