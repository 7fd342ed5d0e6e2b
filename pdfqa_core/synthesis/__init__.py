"""Questions made of passages, to measure and to train retrievers with: by a language model, or by rules."""

from pdfqa_core.synthesis.base import FEW_SHOT, KINDS, RULES, ZERO_SHOT, Example
from pdfqa_core.synthesis.generate import (
    Generator,
    Reason,
    by_rules,
    few_shot_prompt,
    filled_up,
    nearly_there,
    objection,
    of_rows,
    origin,
    sample_passages,
    shipped_examples,
    tidy,
    zero_shot_prompt,
)
from pdfqa_core.synthesis.weakness import Asked, weakness

__all__ = [
    "FEW_SHOT", "KINDS", "RULES", "ZERO_SHOT", "Asked", "Example", "Generator", "Reason", "by_rules", "few_shot_prompt",
    "filled_up", "nearly_there", "objection", "of_rows", "origin", "sample_passages", "shipped_examples", "tidy",
    "weakness", "zero_shot_prompt",
]  # fmt: skip
