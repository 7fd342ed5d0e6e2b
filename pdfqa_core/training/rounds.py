"""The loop of seed 001: train, filter out questions that neither model finds the passage of, and do both once more.

Source of the filter: Dai et al. 2022, "PROMPTAGATOR" (round-trip consistency by the model that was trained).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pdfqa_core.background import in_background
from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.json_codec import encode
from pdfqa_core.training.base import ROUNDS, Example, Pair, TrainingSettings
from pdfqa_core.training.checkpoint import Checkpoint, RoundRecord, State
from pdfqa_core.training.gradients import Batch, TextOf, backward, batch_of
from pdfqa_core.training.loop import STOPPED, Training, TrainingEvent
from pdfqa_core.training.negatives import RankedPairs
from pdfqa_core.training.trainee import Trainee
from pdfqa_core.types import Passage

# ----------------------------------------------------------------------------------------------------
# What training will take, found out before it begins: a trial of a few passages, and the sizes of the model.

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
    trainee: Trainee,
    examples: Sequence[Example],
    scored: int,
    settings: TrainingSettings,
    text_of: TextOf,
    clock: Callable[[], float] = time.perf_counter,
) -> Estimate:
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
    model = trainee.side(question=False)
    config: Any = model.config
    layers, hidden = getattr(config, "num_hidden_layers", 12), getattr(config, "hidden_size", 768)
    heads, inner = getattr(config, "num_attention_heads", 12), getattr(config, "intermediate_size", 4 * hidden)
    tokens = min(int(longest * TOKENS_A_WORD) + 2, int(model.max_seq_length or 512))
    of_a_text = layers * (tokens * (16 * hidden + 3 * inner) + 3 * heads * tokens * tokens)
    return NUMBER * (5 * _parameters(trainee) + settings.chunk * of_a_text)


def _parameters(trainee: Trainee) -> int:
    return sum(int(one.numel()) for one in trainee.model.parameters())


# ----------------------------------------------------------------------------------------------------
# The loop of seed 001: train, filter out questions that neither model finds the passage of, and do both once more.

FEWEST_PASSAGES, FEWEST_QUESTIONS, FEWEST_HELD_OUT = 8, 4, 2


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What is trained on, and what the model is scored on: held-out pairs among passages of held-out documents.

    `examples` are those of training documents; `passages` are all of the training documents', which the filter looks
    among; the first `k` passages count there as found. `distractors` are passages of training documents that come
    near to held-out questions without answering them: short held-out documents alone are too easy to tell apart for any
    step of the training to look better than another. With nothing held out no step is scored.
    """

    examples: tuple[Example, ...]
    passages: tuple[Passage, ...]
    held_out: tuple[Pair, ...]
    held_out_passages: tuple[Passage, ...]
    k: int
    distractors: tuple[Passage, ...] = ()

    def check(self) -> None:
        """Raise PdfQAError where it is too little to train on."""
        if len(self.passages) < FEWEST_PASSAGES:
            every = len(self.passages) + len(self.held_out_passages)
            raise PdfQAError(
                f"There are {every} passages, {len(self.passages)} of them to train on, which is too few: at least "
                f"{FEWEST_PASSAGES} are needed for a question to have wrong ones.",
                "Add more documents, or longer ones.",
            )
        if len(self.examples) < FEWEST_QUESTIONS or 0 < len(self.held_out) < FEWEST_HELD_OUT:
            raise PdfQAError(
                f"There are {len(self.examples)} questions to train on and {len(self.held_out)} to hold out; at least "
                f"{FEWEST_QUESTIONS} and {FEWEST_HELD_OUT} are needed, and some hundred are better.",
                "Make and accept more questions.",
            )

    @property
    def hash(self) -> str:
        """16 hex digits over questions, passages and negatives."""
        digest = hashlib.sha256()
        for example in self.examples:
            said = [example.pair.question, example.pair.positive.text, [one.id for one in example.negatives]]
            digest.update(encode(said).encode())
        for pair in self.held_out:
            digest.update(encode([pair.id, pair.question, pair.positive.text]).encode())
        for one in (*self.passages, *self.held_out_passages, *self.distractors):
            digest.update(encode([one.id, one.text, one.heading]).encode())
        return digest.hexdigest()[:16]


def train_in_rounds(
    trainee: Trainee,
    data: TrainingData,
    settings: TrainingSettings,
    checkpoint: Checkpoint,
    run: str,
    text_of: TextOf,
    stop: StopSignal,
) -> Iterator[TrainingEvent | RoundRecord | State]:
    """Train, filter, train, filter; yields what happens, last the state of the whole, whose best weights are taken up.

    A checkpoint of the same `run` (a name for data and settings) is gone on from. The state then has the ranks of the
    held-out questions among all passages before and after. Raises PdfQAError for too little data, StoppedError (what
    was learnt is kept), StorageError where a checkpoint cannot be written (the last one is kept), and UsageError where
    the checkpoint is of another run.
    """
    data.check()
    settings.check()
    held_out = RankedPairs(data.held_out, (*data.held_out_passages, *data.distractors), text_of)
    everywhere = RankedPairs(data.held_out, (*data.passages, *data.held_out_passages), text_of)
    examples = RankedPairs(tuple(one.pair for one in data.examples), data.passages, text_of)
    state = checkpoint.read_state()
    if state is not None and state.run != run:
        raise UsageError(
            f"Training in {checkpoint.folder} was begun with other questions, passages or settings.",
            "Use those again, start anew (--restart), or choose another name.",
        )
    training = Training(trainee, settings, held_out, checkpoint, state or State(run), text_of, stop)
    try:
        if state is None:
            state = training.state
            state.kept = tuple(one.pair.id for one in data.examples)
            with trainee.as_before():
                state.before = yield from in_background(
                    lambda tell: everywhere.ranks(trainee, on_progress=tell, stop=stop)
                )
        else:
            training.load()
        while state.round <= ROUNDS:
            kept = frozenset(state.kept)
            chosen = [one for one in data.examples if one.pair.id in kept]
            if len(chosen) < FEWEST_QUESTIONS:  # filtered away: nothing left to learn
                break
            yield from training.steps(chosen)
            training.take_best()
            found = yield from in_background(lambda tell: examples.ranks(trainee, on_progress=tell, stop=stop))
            yield _filter(state, data, chosen, found)
            training.save()
        training.take_best()
        state.after = yield from in_background(lambda tell: everywhere.ranks(trainee, on_progress=tell, stop=stop))
    except StoppedError:
        raise StoppedError(STOPPED) from None
    yield state


def _filter(state: State, data: TrainingData, chosen: Sequence[Example], ranks: Sequence[int]) -> RoundRecord:
    """Drop the questions whose passage neither model finds among the first k, and go on to the next round."""
    rank_of = {one.pair.id: rank for one, rank in zip(data.examples, ranks, strict=True)}
    new = {one.pair.id for one in chosen if 1 <= rank_of[one.pair.id] <= data.k}
    old = {one.pair.id for one in chosen if one.found}
    state.kept = tuple(one.pair.id for one in chosen if one.pair.id in new | old)
    loss = next((loss for number, _, loss in reversed(state.losses) if number == state.round), None)
    record = RoundRecord(state.round, len(chosen), len(state.kept), state.step, loss, state.best, len(new), len(old))
    state.records += (record,)
    state.round, state.step = state.round + 1, 0
    return record
