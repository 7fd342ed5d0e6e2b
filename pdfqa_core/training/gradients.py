"""The gradients of a batch that is larger than what fits into memory at once.

Source: Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (gradient caching).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core.errors import StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.streaming import is_set
from pdfqa_core.training.base import TrainingSettings
from pdfqa_core.training.batches import Batch
from pdfqa_core.training.loss import in_batch_loss, margin_loss
from pdfqa_core.training.precision import precision_on
from pdfqa_core.training.trainee import Embedded, Trainee, chunks, joined, same_chance
from pdfqa_core.types import Passage

if TYPE_CHECKING:
    from torch import Tensor

TextOf = Callable[[Passage], str]


@dataclass(frozen=True, slots=True)
class _Piece:
    texts: Sequence[str]
    question: bool
    seed: int


def backward(
    trainee: Trainee, batch: Batch, text_of: TextOf, step: int, settings: TrainingSettings,
    stop: StopSignal | None = None,
) -> float:  # fmt: skip
    """Add the gradients of the batch's loss to the parameters, and return the loss.

    Embeds `settings.chunk` texts at a time without gradients, takes the loss and its gradients by the embeddings, then
    embeds each chunk again, with the same dropout, to lead them on into the model. A batch of a chunk at most is
    embedded once. Raises StoppedError within a chunk's time; the gradients are not whole then.
    """
    import torch

    trainee.model.train()
    pieces = _pieces(batch, text_of, step, settings)
    cached = len(pieces) > 2  # one of questions, one of passages

    def embed(piece: _Piece) -> Embedded:
        if is_set(stop):
            raise StoppedError("Training was stopped.")
        with same_chance(trainee, piece.seed), _precision(trainee, settings):
            return trainee.embed(piece.texts, question=piece.question)

    with torch.no_grad() if cached else nullcontext():
        found = [embed(piece) for piece in pieces]
    if cached:
        found = [(vectors.detach().requires_grad_(), mask) for vectors, mask in found]
    loss = _loss(trainee, batch, pieces, found, settings)
    loss.backward()  # type: ignore[no-untyped-call]
    if cached:
        for piece, (vectors, _) in zip(pieces, found, strict=True):
            again, _ = embed(piece)
            again.backward(vectors.grad)  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _pieces(batch: Batch, text_of: TextOf, step: int, settings: TrainingSettings) -> list[_Piece]:
    texts = [text_of(passage) for passage in batch.passages]
    parts = [(True, part) for part in chunks(batch.questions, settings.chunk)]
    parts += [(False, part) for part in chunks(texts, settings.chunk)]
    first = (settings.seed * 1_000_003 + step) * 4_096
    return [_Piece(part, question, (first + place) % 2**63) for place, (question, part) in enumerate(parts)]


def _loss(
    trainee: Trainee, batch: Batch, pieces: Sequence[_Piece], found: Sequence[Embedded], settings: TrainingSettings
) -> Tensor:
    import torch

    sides = [joined([made for piece, made in zip(pieces, found, strict=True) if piece.question is asked])
             for asked in (True, False)]  # fmt: skip
    scores = trainee.scores(*sides) * (settings.scale or trainee.scale)
    ignored = torch.zeros(scores.shape, dtype=torch.bool)
    for row, column in batch.ignored:
        ignored[row, column] = True
    positives = torch.tensor(batch.positives, device=scores.device)
    loss = in_batch_loss(scores, positives, ignored.to(scores.device))
    if settings.distil and batch.margins:
        loss = loss + settings.distil * margin_loss(scores, positives, batch.margins)
    return loss


def _precision(trainee: Trainee, settings: TrainingSettings) -> AbstractContextManager[object]:
    """Return what the forward pass runs in: numbers of 16 bits (bfloat16) where these are to be used."""
    import torch

    precision, _ = precision_on(trainee.device, settings.precision)
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(trainee.device.type, dtype=torch.bfloat16)
