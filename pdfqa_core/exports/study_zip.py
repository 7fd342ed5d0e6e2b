"""A study as a ZIP that another workspace takes: everything that was rated and said, exactly, and a table to read."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.ratings import rating_rows, write_ratings
from pdfqa_core.json_codec import parse_json, plain, restore
from pdfqa_core.storage.records import StudyCopy
from pdfqa_core.whole_files import DAMAGE

FORMAT = 2
CONTENT, TABLE = "study.json", "ratings.csv"
LARGEST = 1_000_000_000  # bytes of the content, unpacked
_HINT = "Give a file that “pdfqa study export” wrote."
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a ZIP can hold: the same study makes the same file


def write_study(copy: StudyCopy) -> bytes:
    """Return the ZIP of a study; the same study makes the same bytes."""
    content = json.dumps({"format": FORMAT, **plain(copy)}, separators=(",", ":"))
    table = write_ratings(rating_rows(copy.study, copy.turns, copy.ratings, copy.adjudications, copy.revisions))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in ((CONTENT, content.encode()), (TABLE, table)):
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return packed.getvalue()


def read_study(data: bytes, name: str) -> StudyCopy:
    """Return the study in a ZIP; `name` is the file's in error messages.

    Raises UsageError: no such ZIP, damaged, of a newer version, or with a field missing.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.getinfo(CONTENT).file_size > LARGEST:
                raise UsageError(f"{name} is larger than any study: over {LARGEST / 1e9:.0f} GB unpacked.", _HINT)
            content = archive.read(CONTENT)
    except DAMAGE as error:
        raise UsageError(f"{name} holds no study: it is another file, or damaged.", _HINT) from error
    found: Any = parse_json(content, f"{name}, {CONTENT}")
    if not isinstance(found, dict) or not isinstance(found.get("format"), int):
        raise UsageError(f"{name} holds no study.", _HINT)
    if found["format"] > FORMAT:
        raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
    try:
        restored: StudyCopy = restore(StudyCopy, found)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{name} is not complete: {error}.", _HINT) from error
    return restored
