"""What the numbers of a table say when they are compared: the largest or smallest of them, or the change of one.

No passage need say it in words; the model is told, and answers are checked against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pdfqa_core.reading.changes import first_change
from pdfqa_core.reading.extremes import first_extreme
from pdfqa_core.types import Passage


class Compared(Protocol):
    """What was found of the row that begins at `start` in its passage."""

    @property
    def start(self) -> int:
        """Where the row begins."""
        ...

    @property
    def words(self) -> str:
        """The finding in a sentence, for a prompt."""
        ...

    @property
    def finding(self) -> str:
        """The finding alone, for a person."""
        ...

    def answers(self, question: str) -> bool | None:
        """Return yes or no where the comparison alone decides a question for it."""
        ...

    def said_by(self, sentence: str) -> bool:
        """Return whether a sentence says the same."""
        ...

    def has_numbers_of(self, sentence: str) -> bool:
        """Return whether all numbers of a sentence were compared or computed; False where it is not looked at."""
        ...

    def denied_by(self, sentence: str, *, short: bool = False) -> bool:
        """Return whether a sentence says another thing in its place; a `short` answer leaves words out."""
        ...


def first_compared(question: str, passages: Sequence[Passage]) -> tuple[int, Compared] | None:
    """Return the place of the passage whose table answers a question by comparison, and what it says; None if none."""
    return first_extreme(question, passages) or first_change(question, passages)
