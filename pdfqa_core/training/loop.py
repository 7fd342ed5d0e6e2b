"""Training of one round: steps, scores on held-out documents, early stopping, checkpoints.

The same for all kinds of model; everything drawn by chance follows from seed and step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from pdfqa_core.background import in_background
from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.training.base import Example, TrainingSettings
from pdfqa_core.training.checkpoint import Checkpoint, Scored, State, Tensors
from pdfqa_core.training.gradients import TextOf, backward, batch_of
from pdfqa_core.training.negatives import RankedPairs
from pdfqa_core.training.trainee import Trainee
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    import torch

CHECKPOINT_SECONDS = 120.0
CLIP, WEIGHT_DECAY = 1.0, 0.01  # of the gradients' norm; of AdamW
STOPPED = "Training was stopped. What was learnt is kept: the same command goes on from there."


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was taken; `step` counts from 1 in its round."""

    round: int
    step: int
    steps: int
    loss: float
    seconds: float


TrainingEvent = Progress | Step | Scored


class Training:
    """A model in training: its weights, the best ones so far, the optimizer, and where it stands."""

    def __init__(
        self,
        trainee: Trainee,
        settings: TrainingSettings,
        held_out: RankedPairs,
        checkpoint: Checkpoint,
        state: State,
        text_of: TextOf,
        stop: StopSignal,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.trainee = trainee
        self.settings = settings
        self.held_out = held_out
        self.state = state
        self.best = _copy(trainee.model.state_dict())
        self._checkpoint = checkpoint
        self._text_of = text_of
        self._stop = stop
        self._clock = clock
        self._written_at = clock()
        self._optimizer: torch.optim.AdamW | None = None

    # ------------------------------------------------------------ where it stands

    def load(self) -> None:
        """Take up the weights of the checkpoint. Raises UsageError where it does not fit the model."""
        weights, optimizer, best = self._checkpoint.read_tensors()
        try:
            self.trainee.model.load_state_dict(weights or best)
        except RuntimeError as error:
            raise PdfQAError(
                f"The checkpoint in {self._checkpoint.folder} is of another model.",
                "Delete what was learnt on the Train tab, or start anew with --restart.",
            ) from error
        self.best = best
        if optimizer:
            self._optimizer = self._new_optimizer()
            whole = self._optimizer.state_dict()
            self._optimizer.load_state_dict({**whole, "state": optimizer})

    def save(self) -> None:
        """Write a checkpoint. Raises StorageError; the one before is kept then.

        Between rounds the weights are the best ones, which are written once.
        """
        weights = {} if self._optimizer is None else self.trainee.model.state_dict()
        self._checkpoint.write(self.state, weights, self._optimizer, self.best)
        self._written_at = self._clock()

    def take_best(self) -> None:
        """Go back to the weights that scored best, or the last ones where nothing is scored."""
        self.trainee.model.load_state_dict(self.best)

    # ------------------------------------------------------------ a round

    def score(self) -> Iterator[Progress | Scored]:
        """Score the held-out questions, and keep the weights if they are the best so far, or the last ones are wanted.

        Yields the score last.
        """
        k, scale = self.settings.k, self.settings.scale
        found = yield from in_background(
            lambda report: self.held_out.score(self.trainee, k, scale, on_progress=report, stop=self._stop)
        )
        scored = Scored(self.state.round, self.state.step, found.hit_rate, found.mrr, found.loss)
        self.state.scores += (scored,)
        best = self.state.best
        if best is None or scored.key > best.key or self.settings.keep == "last":
            self.state.best, self.best = scored, _copy(self.trainee.model.state_dict())
        yield scored

    def steps(self, examples: Sequence[Example]) -> Iterator[TrainingEvent]:
        """Take the steps of a round that are left. Raises StoppedError, after writing a checkpoint."""
        settings, state = self.settings, self.state
        self._optimizer = self._optimizer or self._new_optimizer()
        try:
            while True:
                if self._score_due():
                    yield from self.score()
                    if state.step:  # before the first one there is nothing to lose
                        self.save()
                if state.step >= settings.steps or self._no_gain():
                    break
                began = self._clock()
                loss = self._step(examples)
                state.step += 1
                state.losses += ((state.round, state.step, loss),)
                seconds = self._clock() - began
                state.seconds += seconds
                yield Step(state.round, state.step, settings.steps, loss, seconds)
                if self._clock() - self._written_at > CHECKPOINT_SECONDS:
                    self.save()
        except StoppedError:
            self.save()
            raise
        self._optimizer = None
        if not self.held_out.pairs:
            self.best = _copy(self.trainee.model.state_dict())

    def _score_due(self) -> bool:
        """Whether held-out questions are to be scored now: before the first step, every so often, after the last."""
        state, settings = self.state, self.settings
        if not self.held_out.pairs or any((one.round, one.step) == (state.round, state.step) for one in state.scores):
            return False
        if state.step == 0:
            return state.round == 1
        return state.step % settings.evaluate_every == 0 or state.step >= settings.steps

    def _no_gain(self) -> bool:
        settings = self.settings
        return (
            settings.keep == "best" and bool(settings.patience) and self.state.tried_since_best() >= settings.patience
        )

    def _step(self, examples: Sequence[Example]) -> float:
        """Take one step and return its loss."""
        import torch

        optimizer, model = self._optimizer, self.trainee.model
        assert optimizer is not None
        optimizer.zero_grad()
        number = (self.state.round - 1) * self.settings.steps + self.state.step
        batch = batch_of(examples, number, self.settings)
        loss = backward(self.trainee, batch, self._text_of, number, self.settings, self._stop)
        if not isfinite(loss):
            raise PdfQAError(
                f"The loss of step {self.state.step + 1} is no number.", "Use a lower learning rate, and fp32."
            )
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(self.state.step, self.settings)
        optimizer.step()
        return loss

    def _new_optimizer(self) -> torch.optim.AdamW:
        import torch

        parameters = self.trainee.model.parameters()
        return torch.optim.AdamW(parameters, lr=self.settings.learning_rate, weight_decay=WEIGHT_DECAY)


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """Return the learning rate of a step (from 0 on): rising to the highest one, then falling to 0, both linearly."""
    rising = round(settings.warm_up * settings.steps)
    if step < rising:
        return settings.learning_rate * (step + 1) / rising
    return settings.learning_rate * (settings.steps - step) / max(1, settings.steps - rising)


def _copy(weights: Mapping[str, Any]) -> Tensors:
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights.items()}
