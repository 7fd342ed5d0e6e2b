"""JSON lines, exactly: `json_codec.decode` gives each value back as it was."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import plain

# Characters that JSON allows within strings but that some readers take for the end of a line.
_LINE_ENDS = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def write_jsonl(values: Iterable[Any]) -> bytes:
    """Return one line of UTF-8 JSON per dataclass; accents stay readable.

    Raises UsageError if a number is not finite, which JSON cannot hold.
    """
    return b"".join(_line(value) + b"\n" for value in values)


def _line(value: Any) -> bytes:
    data = plain(value)
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)
    except ValueError as error:
        raise UsageError(f"A number cannot be written as JSON: {error}.") from error
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: JSON can hold it escaped only
        return json.dumps(data).encode("ascii")
