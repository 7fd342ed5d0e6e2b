"""What the program says on standard error while it works: lines for people, or of JSON with PDFQA_LOG=json."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from pdfqa_core.characters import clean

VARIABLE, AS_JSON = "PDFQA_LOG", "json"


class JsonLines(logging.Formatter):
    """One JSON object a line: "time" (UTC, ISO 8601), "level", "logger", "message", and "error" with a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        row = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname, "logger": record.name, "message": clean(record.getMessage()),
        }  # fmt: skip
        if record.exc_info:
            row["error"] = clean(self.formatException(record.exc_info))
        return json.dumps(row, ensure_ascii=False)


def begin(environ: Mapping[str, str] | None = None) -> None:
    """Have warnings and errors written to standard error."""
    environ = os.environ if environ is None else environ
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if environ.get(VARIABLE, "").lower() == AS_JSON else plain)
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
