"""Questions made of passages, to measure and to train retrievers with: by a language model, or by rules."""

from pdfqa_core.synthesis.base import FEW_SHOT, KINDS, RULES, ZERO_SHOT, Example
from pdfqa_core.synthesis.generate import Generator, tidy
from pdfqa_core.synthesis.guards import Reason, objection
from pdfqa_core.synthesis.near_duplicates import nearly_there
from pdfqa_core.synthesis.prompts import few_shot_prompt, zero_shot_prompt
from pdfqa_core.synthesis.rules import by_rules, of_rows
from pdfqa_core.synthesis.sampling import sample_passages

__all__ = [
    "FEW_SHOT", "KINDS", "RULES", "ZERO_SHOT", "Example", "Generator", "Reason", "by_rules", "few_shot_prompt",
    "nearly_there", "objection", "of_rows", "sample_passages", "tidy", "zero_shot_prompt",
]  # fmt: skip
