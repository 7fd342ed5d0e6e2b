"""How questions are made, and what a model is shown to make them after."""

from __future__ import annotations

from dataclasses import dataclass

ZERO_SHOT, FEW_SHOT, RULES = "zero-shot", "few-shot", "rules"
KINDS = (ZERO_SHOT, FEW_SHOT, RULES)


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the passage that answers it, shown to the model as a pattern."""

    question: str
    passage: str
