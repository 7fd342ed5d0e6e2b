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
    not a question's own but share text with it, and so are no negatives. `margins` are (question, passage, what the
    teacher gives the question's own passage more than this one).
    """

    questions: tuple[str, ...]
    passages: tuple[Passage, ...]
    positives: tuple[int, ...]
    ignored: tuple[tuple[int, int], ...]
    margins: tuple[tuple[int, int, float], ...] = ()


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
    told: list[tuple[int, str, float]] = []
    for row, example in enumerate(chosen):
        count = len(example.negatives)
        drawn = draw.sample(range(count), min(settings.hard_negatives, count))
        for one in (example.pair.positive, *(example.negatives[place] for place in drawn)):
            passages.setdefault(one.id, one)
        if example.margins:
            told += [(row, example.negatives[place].id, example.margins[place]) for place in drawn]
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
    margins = tuple((row, places[name], margin) for row, name, margin in told)
    questions = tuple(example.pair.question for example in chosen)
    return Batch(questions, tuple(ordered), tuple(positives), tuple(ignored), margins)
