"""Accuracy: the share of answers that a person judged to be correct."""

from __future__ import annotations

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure

_CORRECT = {"1": 1.0, "yes": 1.0, "true": 1.0, "correct": 1.0, "0": 0.0, "no": 0.0, "false": 0.0, "incorrect": 0.0}


@measure("accuracy", "Accuracy", "1 if a person judged the answer correct, else 0", group=Group.PEOPLE)
def accuracy(label: str) -> float | None:
    """Return 1.0 or 0.0 for a person's label (1/0, yes/no, true/false, correct/incorrect); None for an empty one.

    Raises UsageError for any other label.
    """
    clean = label.strip().lower()
    if clean and clean not in _CORRECT:
        raise UsageError(f"{label!r} says neither correct nor incorrect.", f"Use one of: {', '.join(_CORRECT)}.")
    return _CORRECT.get(clean)
