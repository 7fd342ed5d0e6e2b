"""Questions made of passages, to measure and to train retrievers with: by a language model, or by rules."""

from pdfqa_core.synthesis.base import CONVERSATIONS, FEW_SHOT, KINDS, RULES, ZERO_SHOT, Draft, Example
from pdfqa_core.synthesis.generate import (
    FOLLOW_UPS,
    Generator,
    Reason,
    answer_objection,
    answer_prompt,
    by_rules,
    few_shot_prompt,
    filled_up,
    follow_up_objection,
    follow_up_prompt,
    nearly_there,
    neighbours,
    objection,
    of_rows,
    origin,
    sample_passages,
    shipped_examples,
    tidy,
    tidy_answer,
    zero_shot_prompt,
)
from pdfqa_core.synthesis.weakness import Asked, weakness

__all__ = [
    "CONVERSATIONS", "FEW_SHOT", "FOLLOW_UPS", "KINDS", "RULES", "ZERO_SHOT", "Asked", "Draft", "Example", "Generator",
    "Reason", "answer_objection", "answer_prompt", "by_rules", "few_shot_prompt", "filled_up", "follow_up_objection",
    "follow_up_prompt", "nearly_there", "neighbours", "objection", "of_rows", "origin", "sample_passages",
    "shipped_examples", "tidy", "tidy_answer", "weakness", "zero_shot_prompt",
]  # fmt: skip
