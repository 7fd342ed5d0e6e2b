"""What training will take, found out before it begins: a trial of a few passages, and the sizes of the model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pdfqa_core.training.base import ROUNDS, Example, TrainingSettings
from pdfqa_core.training.batches import Batch, batch_of
from pdfqa_core.training.gradients import TextOf, backward
from pdfqa_core.training.trainee import Trainee

NUMBER = 4  # bytes
TRIAL = 8  # passages
TOKENS_A_WORD = 1.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """What training takes at most: seconds, bytes of memory, bytes on disk for checkpoint and model."""

    seconds: float
    memory: int
    disk: int


def disk_bytes(trainee: Trainee) -> int:
    """Return the bytes on disk: two checkpoints (weights, two moments, best weights) while one is replaced, a model."""
    return 9 * _parameters(trainee) * NUMBER


def estimate(
    trainee: Trainee, examples: Sequence[Example], scored: int, settings: TrainingSettings, text_of: TextOf,
    clock: Callable[[], float] = time.perf_counter,
) -> Estimate:  # fmt: skip
    """Return what training on `examples` takes, where `scored` passages are encoded for each scoring.

    Learns from some passages without taking the step; the model stays as it is.
    """
    batch = batch_of(examples, 0, settings)
    middle = len(batch.passages) // 2
    passages = batch.passages[max(0, middle - TRIAL // 2) :][:TRIAL]
    trial = Batch(batch.questions[:1], passages, (0,), ())
    whole = replace(settings, chunk=max(settings.chunk, TRIAL))
    for _ in range(2):  # the first warms up
        began = clock()
        backward(trainee, trial, text_of, 0, whole)
        taken = clock() - began
        trainee.model.zero_grad()
    per_passage = taken / len(passages)
    cached = max(len(batch.passages), len(batch.questions)) > settings.chunk
    of_a_step = per_passage * len(batch.passages) * (4 / 3 if cached else 1)
    scorings = 1 + ROUNDS * -(-settings.steps // settings.evaluate_every)
    seconds = ROUNDS * settings.steps * of_a_step + scorings * scored * per_passage / 3
    longest = max(len(text_of(one).split()) for one in batch.passages)
    return Estimate(seconds, memory_bytes(trainee, longest, settings), disk_bytes(trainee))


def memory_bytes(trainee: Trainee, longest: int, settings: TrainingSettings) -> int:
    """Return the bytes that training takes; `longest` is that of a passage in words.

    Weights, gradients, two moments and the best weights, and what a chunk leaves behind in each layer of a BERT for the
    way back: about 16 vectors and 3 inner ones of each token, and 3 weights for each two tokens and head.
    """
    config: Any = trainee.model.config
    layers, hidden = getattr(config, "num_hidden_layers", 12), getattr(config, "hidden_size", 768)
    heads, inner = getattr(config, "num_attention_heads", 12), getattr(config, "intermediate_size", 4 * hidden)
    tokens = min(int(longest * TOKENS_A_WORD) + 2, int(trainee.model.max_seq_length or 512))
    of_a_text = layers * (tokens * (16 * hidden + 3 * inner) + 3 * heads * tokens * tokens)
    return NUMBER * (5 * _parameters(trainee) + settings.chunk * of_a_text)


def _parameters(trainee: Trainee) -> int:
    return sum(int(one.numel()) for one in trainee.model.parameters())
