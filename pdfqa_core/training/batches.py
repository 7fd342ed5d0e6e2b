"""Batches that follow from seed and step alone, so that training that was stopped goes on as if it had not been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pdfqa_core.training.base import Example, TrainingSettings
from pdfqa_core.types import Passage


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
        negatives = draw.sample(example.negatives, min(settings.hard_negatives, len(example.negatives)))
        for one in (example.pair.positive, *negatives):
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
    return Batch(tuple(example.pair.question for example in chosen), tuple(ordered), tuple(positives), tuple(ignored))
