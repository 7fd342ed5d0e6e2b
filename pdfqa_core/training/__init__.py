"""Retrievers fine-tuned on questions made of one's own passages (seed 001, "Fine-Tuning Retrievers")."""

from pdfqa_core.training.base import (
    BI_ENCODER,
    DPR,
    KINDS,
    LATE_INTERACTION,
    ROUNDS,
    Example,
    Keep,
    Pair,
    Precision,
    Similarity,
    TrainingSettings,
)
from pdfqa_core.training.checkpoint import Checkpoint, RoundRecord, Scored, State
from pdfqa_core.training.gradients import has_bf16, precision_on
from pdfqa_core.training.leakage import Generated, TrainedOn, check_leakage, joined, leaked, made_of, words_hash
from pdfqa_core.training.loop import Step, TrainingEvent
from pdfqa_core.training.negatives import (
    MARGIN,
    NOTHING_HELD_OUT,
    Compared,
    RankedPairs,
    Split,
    compared,
    distractors,
    mine,
    said,
    split_by_documents,
)
from pdfqa_core.training.record import CARD, NOT_STATED, RECORD, TrainingRecord, card, read_record
from pdfqa_core.training.rounds import Estimate, TrainingData, disk_bytes, estimate, train_in_rounds
from pdfqa_core.training.trainee import (
    BiEncoder,
    EncoderPair,
    LateInteraction,
    Trainee,
    in_batch_loss,
    inner_products,
    maxsim,
    pair_in,
)

TRAINEES: dict[str, type[Trainee]] = {one.kind: one for one in (BiEncoder, EncoderPair, LateInteraction)}

__all__ = [
    "BI_ENCODER", "CARD", "DPR", "KINDS", "LATE_INTERACTION", "MARGIN", "NOTHING_HELD_OUT", "NOT_STATED", "RECORD",
    "ROUNDS", "TRAINEES", "BiEncoder", "Checkpoint", "Compared", "EncoderPair", "Estimate", "Example", "Generated",
    "Keep", "LateInteraction", "Pair", "Precision", "RankedPairs", "RoundRecord", "Scored", "Similarity", "Split",
    "State", "Step", "TrainedOn", "Trainee", "TrainingData", "TrainingEvent", "TrainingRecord",
    "TrainingSettings", "card", "check_leakage", "compared", "disk_bytes", "distractors", "estimate", "has_bf16",
    "in_batch_loss", "inner_products", "joined", "leaked", "made_of", "maxsim", "mine", "pair_in",
    "precision_on", "read_record", "said", "split_by_documents", "train_in_rounds", "words_hash",
]  # fmt: skip
