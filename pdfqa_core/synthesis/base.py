"""How questions are made, and what a model is shown to make them after."""

from __future__ import annotations

from dataclasses import dataclass

ZERO_SHOT, FEW_SHOT, RULES, CONVERSATIONS = "zero-shot", "few-shot", "rules", "conversations"
KINDS = (ZERO_SHOT, FEW_SHOT, RULES, CONVERSATIONS)


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the passage that answers it, shown to the model as a pattern."""

    question: str
    passage: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A question as it was written, with its gold answer from the passage; "" where there is none."""

    question: str
    answer: str = ""
