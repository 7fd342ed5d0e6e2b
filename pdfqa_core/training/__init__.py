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
from pdfqa_core.training.bi_encoder import BiEncoder
from pdfqa_core.training.checkpoint import Checkpoint, RoundRecord, Scored, State
from pdfqa_core.training.late_interaction import LateInteraction
from pdfqa_core.training.loop import Step, TrainingEvent
from pdfqa_core.training.loss import in_batch_loss, inner_products, maxsim
from pdfqa_core.training.negatives import MARGIN, Split, Teacher, mine, split_by_documents
from pdfqa_core.training.ranks import Compared, RankedPairs, compared
from pdfqa_core.training.rounds import TrainingData, train_in_rounds
from pdfqa_core.training.trainee import Trainee

TRAINEES: dict[str, type[Trainee]] = {one.kind: one for one in (BiEncoder, LateInteraction)}

__all__ = [
    "BI_ENCODER", "KINDS", "LATE_INTERACTION", "MARGIN", "ROUNDS", "TRAINEES", "BiEncoder", "Checkpoint", "Compared",
    "Example", "LateInteraction", "Pair", "Precision", "RankedPairs", "RoundRecord", "Scored", "Split", "State", "Step",
    "Teacher", "Trainee", "TrainingData", "TrainingEvent", "TrainingSettings", "compared", "in_batch_loss",
    "inner_products", "maxsim", "mine", "split_by_documents", "train_in_rounds",
]  # fmt: skip
