"""Retrievers fine-tuned on questions made of one's own passages (seed 001, "Fine-Tuning Retrievers")."""

from pdfqa_core.training.base import (
    BI_ENCODER,
    KINDS,
    LATE_INTERACTION,
    ROUNDS,
    Example,
    Pair,
    Precision,
    TrainingSettings,
)
from pdfqa_core.training.loss import in_batch_loss, inner_products, maxsim
from pdfqa_core.training.negatives import MARGIN, Split, Teacher, mine, split_by_documents

__all__ = [
    "BI_ENCODER", "KINDS", "LATE_INTERACTION", "MARGIN", "ROUNDS", "Example", "Pair", "Precision", "Split", "Teacher",
    "TrainingSettings", "in_batch_loss", "inner_products", "maxsim", "mine", "split_by_documents",
]  # fmt: skip
