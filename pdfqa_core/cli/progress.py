"""Progress of a command on standard error: one line that changes on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys

from pdfqa_core.types import Progress


def show(progress: Progress) -> None:
    """Show where the work stands."""
    if sys.stderr.isatty():
        count = f" {progress.done:,} of {progress.total:,}" if progress.total else ""
        print(f"\r\033[K{progress.phase}{count}", end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Remove the progress line."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
