"""Progress of a command on standard error: one line that changes on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys

from pdfqa_core.types import Progress


def show(progress: Progress) -> None:
    """Show where the work stands."""
    if sys.stderr.isatty():
        count = f" {progress.done:,} of {progress.total:,}" if progress.total else ""
        left = f", {duration(progress.seconds_left)} left" if progress.seconds_left else ""
        print(f"\r\033[K{progress.phase}{count}{left}", end="", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Return a time in words: "40 s", "3 min", "2 h 10 min"."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def clear() -> None:
    """Remove the progress line."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
