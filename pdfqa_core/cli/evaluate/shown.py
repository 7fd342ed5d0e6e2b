"""How the protocols print numbers and write files."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.statistics import Summary


def interval(summary: Summary) -> str:
    """Return a mean with its interval, n and what is unscored: "0.812 [0.469, 1.000]  n = 10, 5 unscored"."""
    if summary.mean is None:
        return f"undefined  (n = 0, {summary.unscored} unscored)"
    bounds = "" if summary.low is None else f"  [{summary.low:.3f}, {summary.high:.3f}]"
    unscored = f", {summary.unscored} unscored" if summary.unscored else ""
    return f"{summary.mean:.4f}{bounds}  n = {summary.n}{unscored}"


def write_file(path: Path, data: bytes) -> None:
    """Write a file, its folder too. Raises UsageError where that is not possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from error
