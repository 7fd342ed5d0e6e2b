"""What every command does at the terminal: Ctrl-C, logs and progress."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar, cast

from pdfqa_core.services import Services
from pdfqa_core.text import clean, duration
from pdfqa_core.types import Progress

T = TypeVar("T")

# ----------------------------------------------------------------------------------------------------
# Ctrl-C while an answer is made.


@contextmanager
def stopping(services: Services) -> Iterator[None]:
    """Let Ctrl-C stop the answer, not the program, while the block runs; a second Ctrl-C ends the program.

    So what was written is kept whatever line of the program the signal meets, and also in a program that was started
    with the signal ignored (as shells start what runs in the background).
    """

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(
            target=services.tasks.stop_all, daemon=True
        ).start()  # this thread may hold a lock that `stop` needs

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ----------------------------------------------------------------------------------------------------
# What the program says on standard error while it works: lines for people, or of JSON with PDFQA_LOG=json.

VARIABLE, AS_JSON = "PDFQA_LOG", "json"


class JsonLines(logging.Formatter):
    """One JSON object a line: "time" (UTC, ISO 8601), "level", "logger", "message", and "error" with a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        row = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": clean(record.getMessage()),
        }
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


# ----------------------------------------------------------------------------------------------------
# Progress of a command on standard error: one line that changes on a terminal, nothing elsewhere.


def show(progress: Progress) -> None:
    """Show where the work stands."""
    if sys.stderr.isatty():
        count = f" {progress.done:,} of {progress.total:,}" if progress.total else ""
        left = f", {duration(progress.seconds_left)} left" if progress.seconds_left else ""
        print(f"\r\033[K{progress.phase}{count}{left}", end="", file=sys.stderr, flush=True)


def last(events: Iterable[Progress | T]) -> T:
    """Show the progress among the events and return the last one that is none."""
    found: T | None = None
    for event in events:
        if isinstance(event, Progress):
            show(event)
        else:
            found = event
    clear()
    return cast(T, found)


def clear() -> None:
    """Remove the progress line."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


# ----------------------------------------------------------------------------------------------------
# What a command prints in the end: lines for people, or one JSON object.


def told(arguments: argparse.Namespace, found: Mapping[str, object], *lines: str) -> int:
    """Print the object where JSON is asked for, else the lines; return the exit status of what is done."""
    if arguments.json or lines:
        print(json.dumps(found, ensure_ascii=False) if arguments.json else "\n".join(lines))
    return 0
