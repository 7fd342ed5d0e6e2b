"""The gradients of a batch that is larger than what fits into memory at once.

Source: Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (gradient caching).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.streaming import is_set
from pdfqa_core.training.base import Example, Precision, TrainingSettings
from pdfqa_core.training.trainee import Embedded, Trainee, chunks, in_batch_loss, joined, same_chance
from pdfqa_core.types import Passage

if TYPE_CHECKING:
    import torch
    from torch import Tensor


# ----------------------------------------------------------------------------------------------------
# Batches that follow from seed and step alone, so that training that was stopped goes on as if it had not been.


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions and passages of a step.

    `positives` is the place of each question's passage; `ignored` are (question, passage) places of passages that are
    not a question's own but share text with it, and so are no negatives.
    """

    questions: tuple[str, ...]
    passages: tuple[Passage, ...]
    positives: tuple[int, ...]
    ignored: tuple[tuple[int, int], ...]


def batch_of(examples: Sequence[Example], step: int, settings: TrainingSettings) -> Batch:
    """Return the batch of a step (from 0 on) over `examples`, of which there is at least one.

    Every question comes once in each pass over the examples, in an order of its own; what does not fill a batch waits
    for the next pass. Hard negatives are drawn anew each time, so that in the end all triples are seen.
    """
    size = min(settings.batch, len(examples))
    passes, place = divmod(step, len(examples) // size)
    order = list(range(len(examples)))
    Random(f"{settings.seed} pass {passes}").shuffle(order)  # noqa: S311 - not a secret
    chosen = [examples[row] for row in order[place * size : (place + 1) * size]]
    draw = Random(f"{settings.seed} step {step}")  # noqa: S311 - not a secret
    passages: dict[str, Passage] = {}
    for example in chosen:
        count = len(example.negatives)
        drawn = draw.sample(range(count), min(settings.hard_negatives, count))
        for one in (example.pair.positive, *(example.negatives[place] for place in drawn)):
            passages.setdefault(one.id, one)
    # Longest first, so that what is computed at once is of one length; the names make the order certain.
    ordered = sorted(passages.values(), key=lambda one: (-len(one.text), one.id))
    places = {one.id: place for place, one in enumerate(ordered)}
    positives = [places[example.pair.positive.id] for example in chosen]
    ignored = [
        (row, column)
        for row, example in enumerate(chosen)
        for column, one in enumerate(ordered)
        if column != positives[row] and example.pair.positive.overlaps(one)
    ]
    questions = tuple(example.pair.question for example in chosen)
    return Batch(questions, tuple(ordered), tuple(positives), tuple(ignored))


# ----------------------------------------------------------------------------------------------------
# Numbers of 16 bits (bfloat16) where the processor computes with them; elsewhere they cost time and gain nothing.

OF_CPUS = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")  # names of torch.cpu.get_capabilities, x86 and ARM


def has_bf16(device: torch.device, capabilities: Mapping[str, Any] | None = None) -> bool:
    """Whether a device computes with bfloat16 by itself. `capabilities` are a processor's, by default this one's."""
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    found = torch.cpu.get_capabilities() if capabilities is None else capabilities
    return any(found.get(name, False) for name in OF_CPUS)


def precision_on(
    device: torch.device, wanted: Precision, capabilities: Mapping[str, Any] | None = None
) -> tuple[Precision, str]:
    """Return what is computed with, fp32 or bf16, and a sentence that the user should know ("" for none).

    "auto" means bf16 where the device has it, else fp32. "bf16" is always taken; the sentence says if it will be slow.
    """
    if wanted == "fp32":
        return wanted, ""
    if has_bf16(device, capabilities):
        return "bf16", ""
    what = "processor" if device.type == "cpu" else f"device ({device.type})"
    if wanted == "auto":
        return "fp32", f"This {what} has no numbers of 16 bits (bfloat16): training computes with 32 bits (fp32)."
    return wanted, (
        f"This {what} has no numbers of 16 bits (bfloat16): bf16 is imitated, slower than fp32 and less exact. "
        "Choose fp32 or auto."
    )


# ----------------------------------------------------------------------------------------------------
# The gradients of a batch that is larger than what fits into memory at once.

TextOf = Callable[[Passage], str]


@dataclass(frozen=True, slots=True)
class _Piece:
    texts: Sequence[str]
    question: bool
    seed: int


def backward(
    trainee: Trainee,
    batch: Batch,
    text_of: TextOf,
    step: int,
    settings: TrainingSettings,
    stop: StopSignal | None = None,
) -> float:
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

    sides = [
        joined([made for piece, made in zip(pieces, found, strict=True) if piece.question is asked])
        for asked in (True, False)
    ]
    scores = trainee.scores(*sides) * (settings.scale or trainee.scale)
    ignored = torch.zeros(scores.shape, dtype=torch.bool)
    for row, column in batch.ignored:
        ignored[row, column] = True
    positives = torch.tensor(batch.positives, device=scores.device)
    return in_batch_loss(scores, positives, ignored.to(scores.device))


def _precision(trainee: Trainee, settings: TrainingSettings) -> AbstractContextManager[object]:
    """Return what the forward pass runs in: numbers of 16 bits (bfloat16) where these are to be used."""
    import torch

    precision, _ = precision_on(trainee.device, settings.precision)
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(trainee.device.type, dtype=torch.bfloat16)
